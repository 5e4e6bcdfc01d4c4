"""When are two texts the same? Lower-cased, in one Unicode form, with blanks collapsed, they have one fingerprint.

The digest is keyed with the store's secret: nobody can craft a text that collides with another, nor tell from a
fingerprint what the text was.
"""

import hashlib
import unicodedata


def normalised(text: str) -> str:
    """
    >>> normalised("  Staging   runs\\nPostgres ")
    'staging runs postgres'
    """
    if not text.isascii():  # folding before composing: the other way round, folding could break a composed letter
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    return " ".join(text.casefold().split())


def fingerprint(key: bytes, text: str) -> str:
    """A keyed digest that is the same for texts that differ only in case, form and blanks."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "surrogatepass"), digest_size=8, key=key).hexdigest()
