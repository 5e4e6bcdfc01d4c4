"""Memories in files: Markdown that people write, and exports that move memories from one store to another.

dates.py     dates as people write them
markdown.py  a Markdown file as discrete memories;  blocks.py  its blocks
jsonl.py     a record as one line of JSON, and back
reading.py   which files are meant, and their bytes, within bounds
transfer.py  export and import, on nothing but the facade
"""
