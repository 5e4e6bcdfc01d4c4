"""The page: what goes where, between which marks, and how many tokens the very text costs.

What does not depend on the question comes first and is the same to the byte while nothing changed, so that a model's prompt
cache can keep it; what was recalled for this question comes after. Models read the beginning and the end of a long text best,
so the strongest memories stand there and the weakest in the middle.

A mark must be unknown to whoever wrote a memory. That of the second part is drawn for each call. That of the first cannot
be, or nothing would stay the same: it is a digest of that part's own content under the store's secret key, which changes
with every word in it and cannot be worked out without the key (docs/why/0014-marks-in-a-prompt.md).
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memorist.errors import Invalid
from memorist.prompt.items import Clash, Item
from memorist.prompt.styles import CLIENTS, STYLES, Style
from memorist.text.tokens import TokenCounter
from memorist.text.visible import quoted

LETTERS = "bcdfghjkmnpqrstvwxz"  # no vowels: a mark is no word, and no rule takes it for a secret
MARK = 9  # letters: 38 bits
Digest = Callable[[str], str]  # hexadecimal, under a key of the store's own


def style_of(style: object, client: object) -> Style:
    """The style that was asked for; else the one that the client reads best; else plain."""
    if client is not None and (not isinstance(client, str) or client not in CLIENTS):
        raise Invalid(f"there is no client {quoted(client)}; clients are {', '.join(CLIENTS)}")
    name = style if style is not None else "plain" if client is None else CLIENTS[str(client)]
    if not isinstance(name, str) or name not in STYLES:
        raise Invalid(f"there is no style {quoted(name)}; styles are {', '.join(STYLES)}")
    return STYLES[name]


@dataclass(frozen=True, slots=True)
class Page:
    """A rendered page. The first `stable` characters do not depend on the question."""

    text: str
    stable: int
    steady: tuple[Item, ...]
    recalled: tuple[Item, ...]  # in the order in which they stand

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self.steady, *self.recalled)


Written = Callable[[Item], str]  # an item in some style


def page(
    style: Style,
    steady: Sequence[Item],
    recalled: Sequence[Item],
    clashes: Sequence[Clash],
    digest: Digest,
    write: Written | None = None,
) -> Page:
    """These memories as text; no memories, no text. `write` is for who has written them already."""
    write = write or style.item
    placed = arranged(recalled)
    if not steady and not placed:
        return Page("", 0, (), ())
    always, found = [write(item) for item in steady], [write(item) for item in placed]
    first, stable = style.begin, 0
    if steady:
        first += style.section("always", _derived_mark("".join(always), "".join(found), digest), always, ())
        stable = len(first)
    text = first
    if placed or clashes:
        said = [style.clash(clash) for clash in clashes]
        text += style.section("recalled", _drawn_mark(text + "".join(found)), found, said)
    return Page(text + style.end, stable, tuple(steady), tuple(placed))


def frame_cost(style: Style, steady: bool, count: TokenCounter) -> int:
    """What a page costs without any memory in it; a mark counts like any other."""
    sections = ("always", "recalled") if steady else ("recalled",)
    return count(style.begin + "".join(style.section(name, LETTERS[:MARK], (), ()) for name in sections) + style.end)


def arranged(items: Sequence[Item]) -> list[Item]:
    """The strongest first, the second strongest last, and so on towards the middle. What is protected, such as the last turns
    of a talk, stays in its order at the very end."""
    ranked = sorted((item for item in items if not item.protected), key=lambda item: -item.weight)
    return [*ranked[0::2], *ranked[1::2][::-1], *(item for item in items if item.protected)]


def _derived_mark(content: str, others: str, digest: Digest) -> str:
    """The same while the content is, unless somebody wrote it down in a memory that stands beside it."""
    for again in range(1000):
        mark = _letters(int(digest(f"mark {again} {content}"), 16))
        if mark not in content and mark not in others:
            return mark
    raise AssertionError("a text cannot hold the digest of itself")


def _drawn_mark(content: str) -> str:
    while True:
        mark = _letters(secrets.randbits(64))
        if mark not in content:
            return mark


def _letters(number: int) -> str:
    found = ""
    for _ in range(MARK):
        number, place = divmod(number, len(LETTERS))
        found += LETTERS[place]
    return found
