"""Memories in files: Markdown that people write, and exports that move memories from one store to another.

markdown.py  a Markdown file as discrete memories
jsonl.py     a record as one line of JSON, and back
sources.py   which files are meant, and their bytes, within bounds
transfer.py  export and import, on nothing but the facade
"""
