"""Memories in files: Markdown that people write, exports that move memories from one store to another, and documents.

markdown.py   a Markdown file as separate memories
documents.py  any other text as pieces with their lines
jsonl.py      a record as one line of JSON, and back
originals.py  the files of the founding documents' own programs
sources.py    the files behind some paths, and their bytes, within limits
transfer.py   export and import, on top of the facade

memory_md.py  a MEMORY.md and the store brought together, both ways
memory_page.py  the same as one of the files that follow the store
page.py       a page without loss of a line, and what on it is a memory
pairs.py      which lines are which memory
merge.py      three-way merges of lines
conflict.py   copies with what both sides said; erasing from pages
whole.py      files that people edit, read with care and replaced whole
"""
