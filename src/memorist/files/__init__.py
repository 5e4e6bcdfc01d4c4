"""Memories in files: Markdown that people write, exports that move memories from one store to another, and documents.

markdown.py   a Markdown file as separate memories
documents.py  any other text as pieces with their lines
jsonl.py      a record as one line of JSON, and back
originals.py  the files of the founding documents' own programs
importers/    the transcripts and exports of other programs
sources.py    the files behind some paths
streams.py    their bytes, bit by bit, within limits
contents.py   what a file is, and its parts
transfer.py   export and import, on top of the facade
"""
