"""TOML files: small, UTF-8, and an error names the file and the line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memorist.errors import Invalid

LARGEST = 1 << 16  # bytes


def read(file: Path, size: int, what: str) -> str:
    """The text of a file of this many bytes; one that is too long for its purpose is not even read."""
    if size > LARGEST:
        raise Invalid(f"{file} has {size:,} bytes, {LARGEST:,} are allowed; it cannot be {what}")
    return file.read_text(encoding="utf-8-sig")  # Windows editors put a byte order mark first


def parse(text: str, file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        flaw = str(problem).replace("end of document", f"the end, line {text.rstrip().count(chr(10)) + 1}")
        raise Invalid(f"{file} is not valid TOML: {flaw}; correct it") from problem


def load(file: Path, what: str) -> dict[str, Any]:
    """The whole file, which must be there."""
    try:
        place = file.expanduser()
        return parse(read(place, place.stat().st_size, what), file)
    except (OSError, ValueError, RuntimeError) as problem:  # no file, no UTF-8, an impossible file name, no such home
        if isinstance(problem, Invalid):
            raise
        raise Invalid(f"{file} cannot be read: {problem}; make it a readable UTF-8 file") from problem


def written(value: object) -> str:
    """JSON's texts, numbers, booleans and lists are valid TOML too, except for the one control character that JSON does not
    escape. A mapping becomes an inline table."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{written(str(key))} = {written(each)}' for key, each in value.items())}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
