"""Where answers go: to a person at a terminal, down a pipe, or to a program as one JSON document.

No stored text reaches a terminal unfiltered: escape sequences, bidirectional and invisible characters are made visible,
so that a memory cannot clear the screen, forge a link or hide a word. JSON is written in ASCII for the same reason.
Colour is for terminals only, and never if NO_COLOR is set or the terminal calls itself dumb.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from memorist.lazy import dataclass
from memorist.noun import plain
from memorist.surfaces.cli import progress
from memorist.text.visible import visible

CODES = {"dim": "2", "good": "32", "bad": "31", "mark": "36"}
NARROW = 60  # columns: a table of five needs more
LONGEST_LINE = 500  # characters of a text in a list; `get` shows it whole


@dataclass(frozen=True, slots=True)
class Screen:
    """Standard output, and how to write to it."""

    json: bool = False
    terminal: bool = False
    colour: bool = False

    @classmethod
    def of(cls, json: bool) -> "Screen":
        terminal = not json and sys.stdout.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(json, terminal, terminal and not plain)

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line of the answer; a terminal gets it wrapped between words, with continuation lines indented."""
        progress.end()
        text = text if style is None else self.styled(text, style)
        inner = len(text) - len(text.lstrip(" ")) + 2
        sys.stdout.write(filled(text, inner) + "\n")

    def verbatim(self, text: str) -> None:
        """A text to be copied, such as a prompt or a TOML file, without wrapping: the terminal breaks long lines
        itself, and copies them whole."""
        progress.end()
        sys.stdout.write(safe(text) + "\n")

    def document(self, value: Any) -> None:
        """The answer as one JSON document, whatever it contains."""
        progress.end()
        sys.stdout.write(json.dumps(plain(value), ensure_ascii=True, indent=2 if sys.stdout.isatty() else None) + "\n")

    def answer(self, document: Any, *lines: str) -> int:
        """The answer of a successful command: a document, or these lines."""
        if self.json:
            self.document(document)
        else:
            for line in lines:
                self.line(line)
        return 0

    def table(self, document: Any, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
        """The answer of a command that lists something: a document, or rows."""
        if self.json:
            self.document(document)
        else:
            self.rows(heads, rows)
        return 0

    def styled(self, text: str, style: str) -> str:
        return f"\x1b[{CODES[style]}m{text}\x1b[0m" if self.colour else text

    def rows(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table on a terminal; lines of tab-separated fields in a pipe, for `cut`, `grep` and `sort`."""
        if not self.terminal:
            for row in rows:
                self.line("\t".join(map(one_line, row)))
            return
        progress.end()
        if not rows:  # a head alone says nothing
            return
        if columns() < NARROW:
            for row in rows:
                self.line("  ".join(_side_by_side(row)))
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*heads, box=None, header_style="dim", pad_edge=False)
        for row in rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        Console(file=sys.stdout, color_system="auto" if self.colour else None, no_color=not self.colour).print(table)


def _side_by_side(row: Sequence[str]) -> Iterator[str]:
    """The cells of a row without column heads: an empty cell between others becomes a dash, so that the columns stay
    countable."""
    filled_in = [place for place, cell in enumerate(row) if cell]
    for cell in row[min(filled_in, default=0) : max(filled_in, default=0) + 1]:
        yield one_line(cell) or "-"


def aside(text: str) -> None:
    """A word to the person that is not part of the answer."""
    with progress.apart():
        sys.stderr.write(filled(f"memorist: {safe(text)}", 2, sys.stderr) + "\n")


def columns(stream: TextIO | None = None) -> int:
    """The characters that fit on a line: on a terminal its width, elsewhere any number."""
    if not (stream or sys.stdout).isatty():
        return sys.maxsize
    from shutil import get_terminal_size  # a pipe does not need this import

    return get_terminal_size().columns


def filled(text: str, inner: int, stream: TextIO | None = None) -> str:
    """The text with lines too long for a terminal wrapped between words; continuation lines get `inner` blanks more. A
    single long word, such as a path, stays whole, so that it can be copied."""
    wide = columns(stream)
    return "\n".join(line if _width(line) <= wide else _broken(line, inner, wide) for line in text.split("\n"))


def _broken(line: str, inner: int, wide: int) -> str:
    rows = [""]
    for word in re.findall(" *[^ ]+", line):
        if rows[-1].strip() and _width(rows[-1] + word) > wide:
            rows.append(" " * min(inner, wide // 2) + word.lstrip(" "))
        else:
            rows[-1] += word
    return "\n".join(rows)


def _width(text: str) -> int:
    """The width in columns: a style takes none, a Chinese character two."""
    shown = re.sub("\x1b\\[[0-9]+m", "", text) if "\x1b" in text else text
    if shown.isascii():
        return len(shown)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in shown)


def two_columns(rows: Sequence[tuple[str, str]], least: int = 0) -> Iterator[str]:
    """A name and its description, side by side, or one below the other on a narrow terminal."""
    wide = max(least, *(len(name) for name, _ in rows)) + 4
    for name, about in rows:
        if wide <= columns() // 2:
            yield filled(f"  {name:<{wide - 2}}{about}", wide)
        else:
            yield filled(f"  {name}", 4)
            yield filled(f"      {about}", 6)


def safe(text: str) -> str:
    """Text that is safe to show, line breaks kept."""
    return visible(text)


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Text that is safe to show, on one line."""
    joined = " ".join(visible(text).split())
    return joined if len(joined) <= longest else f"{joined[:longest]}… ({len(text):,} characters)"
