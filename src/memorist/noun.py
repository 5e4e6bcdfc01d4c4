"""What all nouns share: plain data, a one-line form, and a table for notebooks.

`to_dict` is the only conversion: the command line prints it with `--json`. Lines and tables show no characters that a
screen would hide or obey, and tables escape everything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from memorist.unseen import unseen

SHOWN_ON_A_LINE = 72  # characters of a text in a repr
SHOWN_IN_A_CELL = 300
AS_TEXT: Mapping[type, Callable[[Any], str]] = {date: lambda value: value.isoformat(), bytes: bytes.hex, Path: str}
AS_THEY_ARE: frozenset[type] = frozenset((str, int, float, bool, type(None)))
Table = tuple[Sequence[str], Sequence[Sequence[Any]]]  # heads and rows


class Noun:
    """The base of every value that verbs return."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as dicts, lists, texts and numbers, for JSON: times in ISO form, bytes in hex."""
        names, values = _read_by(cast(Any, type(self)))
        return {
            name: value if type(value) in AS_THEY_ARE else plain(value)
            for name, value in zip(names, values(self), strict=True)
        }

    def __repr__(self) -> str:  # for dataclasses with repr=False
        return f"<{type(self).__name__} {self._line()}>"

    def _line(self) -> str:
        """The value on one line."""
        return ", ".join(f"{name}: {line(in_words(value))}" for name, value in self._told())

    def _table(self) -> Table:
        """The table that a notebook shows."""
        return (type(self).__name__, ""), self._told()

    def _told(self) -> list[tuple[str, Any]]:
        """The fields that have anything to show."""
        told = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return [(name, value) for name, value in told if value not in (None, "", (), [], {})]

    def _repr_html_(self) -> str:
        import html

        def row(cells: Sequence[Any], tag: str) -> str:
            shown = (html.escape(line(in_words(cell), SHOWN_IN_A_CELL)) for cell in cells)
            return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in shown) + "</tr>"

        heads, rows = self._table()
        return f"<table>{row(heads, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"


@cache
def _read_by(kind: type) -> tuple[tuple[str, ...], Callable[[Any], Sequence[Any]]]:
    """The field names of a noun class, and a function that reads all of them at once."""
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names) if len(names) > 1 else lambda noun: [getattr(noun, name) for name in names]


def plain(value: Any) -> Any:
    """A value in JSON's terms."""
    write = USUALLY.get(type(value))  # fast path: a server writes a thousand values per answer
    if write is not None:
        return write(value)
    if isinstance(value, Noun):
        return value.to_dict()
    if is_dataclass(value):
        return Noun.to_dict(value)  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return _of_pairs(value.items())
    if isinstance(value, list | tuple):
        return _of_many(value)
    return next((write(value) for kind, write in AS_TEXT.items() if isinstance(value, kind)), value)


def _of_many(values: Iterable[Any]) -> list[Any]:
    return [each if type(each) in AS_THEY_ARE else plain(each) for each in values]


def _of_pairs(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    return {str(name): each if type(each) in AS_THEY_ARE else plain(each) for name, each in pairs}


USUALLY: Mapping[type, Callable[[Any], Any]] = {
    **dict.fromkeys(AS_THEY_ARE, lambda value: value), list: _of_many, tuple: _of_many,
    dict: lambda value: _of_pairs(value.items()), datetime: datetime.isoformat,
}  # fmt: skip


def spread(value: Any) -> Any:
    """Converts one level of a value that JSON does not know, for a JSON writer that calls it again for the contents:
    like `plain`, without the copy in between. Keys of mappings must be texts."""
    if not isinstance(value, Noun) or type(value).to_dict is not Noun.to_dict:
        return plain(value)
    names, values = _read_by(cast(Any, type(value)))
    return dict(zip(names, values(value), strict=True))


def in_words(value: Any) -> str:
    """A value for people, without brackets and quotes."""
    if isinstance(value, Noun):
        return value._line()
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {in_words(each)}" for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return ", ".join(map(in_words, value))
    return f"{value:.3g}" if isinstance(value, float) else str(plain(value))


def line(text: str, longest: int = SHOWN_ON_A_LINE) -> str:
    """The beginning of a text on one line. Characters that are invisible, or that control a screen, are escaped."""
    some = " ".join(text[: 4 * longest].split())
    hidden = unseen(some)
    said = "".join(c if c.isprintable() and c not in hidden else c.encode("unicode_escape").decode() for c in some)
    return said if len(said) <= longest and len(text) <= 4 * longest else f"{said[: longest - 1]}…"
