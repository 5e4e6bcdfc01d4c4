"""Memories in files: Markdown that people write, and exports that move memories from one store to another.

markdown.py  a Markdown file as separate memories
jsonl.py     a record as one line of JSON, and back
sources.py   the files behind some paths, and their bytes, within limits
transfer.py  export and import, on top of the facade
"""
