"""Memories in files: Markdown that people write, exports that move memories between stores, documents, and files that
follow the store.

markdown.py   a Markdown file as separate memories
documents.py  any other text as pieces with their lines
jsonl.py      a record as one line of JSON, and back
items.py      what a project's files mark: tasks, decisions, claims, notes, entities; items.json
originals.py  the files of the founding documents' own programs
importers/    the transcripts and exports of other programs
sources.py    the files behind some paths
streams.py    their bytes, block by block, within limits
contents.py   what a file is, and its parts
transfer.py   export and import, on top of the facade

follow.py       files that follow the journal, up to a position; erasing reaches them here
projections.py  the definition of such a file
transcripts.py  the turns of sessions as lines of JSON, and their index
memory_md.py  syncs a MEMORY.md with the store, both ways
page.py       parses a page without losing a line, and finds the memories on it
pairs.py      which lines are which memory
merge.py      three-way merges of lines
conflict.py   copies with both sides of a conflict; erasing from pages
whole.py      files that people edit, read with care and replaced as a whole
"""
