"""Cut text into the WordPiece tokens of BERT's uncased vocabulary, with the standard library alone.

The static table holds one row per WordPiece token, so the cut must be the one the table was trained with; a
different cut gives silently worse vectors. It is written here because the usual library brings fifteen packages
for what fits on a page. Every character maps to what is left of it once it is cleaned, decomposed, stripped of
accents and lowered, with spaces around what stands alone; so one `translate` and one `split` give the words.

One deliberate difference: "[SEP]" or "[MASK]" written in a text is ordinary text here, never a control token.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

LONGEST_WORD = 100  # BERT gives up on longer words, which also keeps the greedy search linear in the text
CACHED_WORDS = 65_536
UNKNOWN = "[UNK]"

# Ideographs stand alone; these are the blocks BERT names, later extensions are not among them.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Alphabet(dict[int, str]):
    """What becomes of each character; filled as characters are met, so it never outgrows Unicode."""

    def __missing__(self, code: int) -> str:
        kept = self[code] = _kept(code)
        return kept


def _kept(code: int) -> str:
    char = chr(code)
    if char in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if char.isspace():
        return " "
    plain = "".join(part for part in unicodedata.normalize("NFD", char) if unicodedata.category(part) != "Mn")
    lowered = "".join(f" {part} " if _alone(part) else part.lower() for part in plain)
    return f" {lowered} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else lowered


def _alone(char: str) -> bool:
    """Punctuation, where BERT counts every printable ASCII sign as such."""
    return (char.isascii() and char.isprintable() and not char.isalnum() and char != " ") or (
        unicodedata.category(char)[0] == "P"
    )


_ALPHABET = _Alphabet()


class WordPiece:
    """Token ids of texts. Threads may share one: its cache is only ever added to or emptied."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._unknown = (self._ids[UNKNOWN],)
        self._cache: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, text: str) -> list[int]:
        """The ids of a text's tokens, without [CLS] and [SEP]."""
        found: list[int] = []
        cache = self._cache
        for word in text.translate(_ALPHABET).split():
            ids = cache.get(word)
            found += self._cut(word) if ids is None else ids
        return found

    def _cut(self, word: str) -> Sequence[int]:
        """Greedy longest match from the left; a word that cannot be covered whole is unknown whole."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        ids = self._matched(word)
        if len(self._cache) >= CACHED_WORDS:
            self._cache.clear()
        self._cache[word] = ids
        return ids

    def _matched(self, word: str) -> tuple[int, ...]:
        known, found, start, size = self._ids, [], 0, len(word)
        while start < size:
            mark = "##" if start else ""
            for end in range(size, start, -1):
                number = known.get(mark + word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(found)
