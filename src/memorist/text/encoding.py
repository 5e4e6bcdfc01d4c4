"""Bytes as text. They are UTF-8, or carry a mark that says otherwise.

A Latin-1 file is refused instead of being stored as something it is not: nobody notices a wrong letter in a memory until
it is not found.
"""

import codecs

from memorist.errors import Invalid

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark begins it
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(raw: bytes, where: str) -> str:
    """The text in these bytes: UTF-8, or what a byte order mark says."""
    encoding = next((encoding for mark, encoding in MARKS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Invalid(
            f"{where} is not {encoding.upper()}: byte 0x{raw[problem.start]:02x} at offset {problem.start:,}; "
            "convert it first, for example with `iconv -f LATIN1 -t UTF-8`"
        ) from problem
