"""The store in a JSON file: a snapshot that people can read, a log beside it, and the store in RAM on top (docs/why/0007)."""
