"""Where answers go: to a person at a terminal, down a pipe, or to a program as one JSON document.

Nothing stored reaches a terminal as it is: escape sequences, bidirectional and invisible characters are made visible,
so that a memory cannot clear the screen, forge a link or hide a word. JSON is written in ASCII for the same reason.
Colour is for terminals only, and never when NO_COLOR is set or the terminal calls itself dumb.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memorist.noun import plain
from memorist.text.visible import visible

CODES = {"dim": "2", "good": "32", "bad": "31", "mark": "36"}
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

    def line(self, text: str = "") -> None:
        sys.stdout.write(text + "\n")

    def document(self, value: Any) -> None:
        """The answer as JSON: one document, whatever is in it."""
        sys.stdout.write(json.dumps(plain(value), ensure_ascii=True, indent=2 if sys.stdout.isatty() else None) + "\n")

    def answer(self, document: Any, *lines: str) -> int:
        """The answer of a command that went well: a document, or these lines."""
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
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*heads, box=None, header_style="dim", pad_edge=False)
        for row in rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        Console(file=sys.stdout, color_system="auto" if self.colour else None, no_color=not self.colour).print(table)


def aside(text: str) -> None:
    """A word to the person that is no part of the answer."""
    sys.stderr.write(f"memorist: {safe(text)}\n")


def safe(text: str) -> str:
    """Text as it may be shown, line breaks kept."""
    return visible(text)


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Text as it may be shown on one line."""
    joined = " ".join(visible(text).split())
    return joined if len(joined) <= longest else f"{joined[:longest]}… ({len(text):,} characters)"
