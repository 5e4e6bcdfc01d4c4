"""When are two texts the same, when do they say the same, and does one make use of the other?

*The same*: lower-cased, in one Unicode form, with blanks collapsed, two texts have one fingerprint. The digest is keyed
with the store's secret: nobody can craft a text that collides with another, nor tell from a fingerprint what the text was.

*Saying the same* in other words: a wrong yes costs more than a wrong no, because it would count one claim as a repetition
of another. So the words that carry meaning must be the same but for inflection, a few synonyms and what only one of the two
adds, and everything that turns a claim around must agree: numbers, negation, names, "before" against "after", and who does
it to whom. Spelled almost alike is not enough ("use tabs" against "use spaces" share most of their letters), nor is a
similar meaning ("tea" and "coffee").
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice

from memorist.lazy import dataclass
from memorist.text.patterns import regex
from memorist.text.words import STOP_WORDS, query_terms, terms


def normalised(text: str) -> str:
    """
    >>> normalised("  Staging   runs\\nPostgres ")
    'staging runs postgres'
    """
    if not text.isascii():  # fold before composing: the other way round, folding could break a composed letter
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
    return " ".join(text.casefold().split())


def fingerprint(key: bytes, text: str) -> str:
    """A keyed digest that is the same for texts that differ only in case, form and blanks."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "surrogatepass"), digest_size=8, key=key).hexdigest()


# ---------------------------------------------------------------- in other words

TRIGRAMS_SHARED = 0.6  # share of both texts' trigrams: the founding document's own bound for a near-duplicate
WORDS_SHARED = 0.6  # share of both texts' words with meaning
SHORTEST_ROOT = 5  # common letters at the beginning of two words with the same root
MOST_ROOTS = 8  # words with the same beginning that are examined; no plain text has more
LONGEST_COMPARED = 2000  # characters that are compared; two longer texts are the same only if they are twins
MOST_COMPARED = 64  # claims that one claim is compared with

_SAME = (
    "fail break crash",
    "delete remove",
    "folder directory",
    "database db",
    "repository repo",
    "configuration config",
    "environment env",
    "authentication auth",
    "documentation docs",
    "function method",
    "error exception",
    "build compile",
    "need require",
    "like prefer",
    "begin start",
    "end finish",
    "big large",
    "fast quick",
    "fix repair",
    "show display",
    "get fetch",
    "keep retain",
    "everyone everybody",
)
# Frames around a claim: that it was chosen, said or is so adds nothing to it.
_LIGHT = """decide decided decision agree agreed choose chose chosen pick picked select selected go goes going went use uses used
using run runs running switch switched move moved adopt adopted settle settled stick want wants wanted let lets let's us
please note remember important actually basically really just now currently today always every time remind well ok okay
think believe turned turns found learned it's that's there's we're we've we'll i'm i've i'll thing things way make makes sure
we i you our my your must should shall will would can could"""
_AGAINST = frozenset(
    """not no never none nor neither cannot can't don't doesn't didn't won't isn't aren't wasn't weren't shouldn't mustn't
    wouldn't couldn't without stop stops stopped avoid avoids forbid forbidden disallow disallowed unlike except hardly""".split()
)
# Small words that reverse a claim if only one of two has them.
_TURNING = frozenset(
    "before after above below under over off down from against only until unless more most less least than".split()
)
_MEAN_THE_SAME = {"down": "off"}
_IN_ORDER = frozenset("than over before after from instead against by".split())  # "x over y" is not "y over x"
_PLACED = frozenset("in on at for with inside within of during to into".split())  # "x runs on staging"
_RAW = regex(r"[^\W_](?:[\w.'’/:-]*\w)?")
_BREAK = regex(r"[,;:.!?()]")


@dataclass(frozen=True, slots=True)
class Claim:
    """The content of a text in a form that can be compared with another's."""

    text: str  # in the form in which twins are equal
    words: tuple[str, ...]  # words with meaning, each once, in order
    begins: frozenset[str]  # their beginnings, which are equal for words of one root
    numbers: tuple[str, ...]  # as often as they occur, sorted
    names: frozenset[str]  # words with a capital inside a sentence, and code
    turning: frozenset[str]
    negative: bool
    ordered: bool  # its reverse would say something else
    placed: frozenset[str]  # words after "in", "on" and the like, which may be anywhere


def claim_of(text: str) -> Claim:
    """The claim of a text; cached unless the text is long."""
    return _kept(text) if len(text) <= LONGEST_COMPARED else _claim_of(text)


def _claim_of(text: str) -> Claim:
    words: dict[str, None] = {}
    names: set[str] = set()
    placed: set[str] = set()
    small: list[str] = []
    numbers: list[str] = []
    against, inside, placing = 0, False, False
    for found in _RAW.finditer(text[:LONGEST_COMPARED]):
        raw = found[0].replace("’", "'")
        low = raw.lower()
        small.append(low)
        against += low in _AGAINST
        broken = bool(_BREAK.search(text, found.start() - 2, found.start())) if found.start() >= 2 else False
        placing = low in _PLACED or (placing and not broken and (low in ("the", "a", "an") or low not in _IDLE))
        meant = _meaning(raw, low)
        words.update(dict.fromkeys(meant))
        numbers.extend(word for word in meant if any(map(str.isdigit, word)))
        if meant and _is_name(raw, inside and not broken):
            names.update(meant)
        if placing:
            placed.update(meant)
        inside = True
    turning = {_MEAN_THE_SAME.get(word, word) for word in small if word in _TURNING}
    return Claim(
        normalised(text),
        tuple(words),
        frozenset([word[:SHORTEST_ROOT] for word in words]),
        tuple(sorted(numbers)),
        frozenset(names),
        frozenset(turning),
        against % 2 == 1,
        not _IN_ORDER.isdisjoint(small),
        frozenset(placed),
    )


_kept = lru_cache(maxsize=1024)(_claim_of)


def same_claim(a: Claim, b: Claim) -> bool:
    if a.text == b.text:
        return True
    if max(len(a.text), len(b.text)) > LONGEST_COMPARED or _differ(a, b):
        return False
    here, there = _joined(a.words, b.words)
    only_here, only_there = here.keys() - there.keys(), there.keys() - here.keys()
    if (only_here and only_there) or (only_here | only_there) & (a.names | b.names):
        return False  # a replaced word, or a name that the other one does not contain
    shared = len(here.keys() & there.keys()) / max(1, len(here.keys() | there.keys()))
    close = shared >= WORDS_SHARED or jaccard(trigrams(a.text), trigrams(b.text)) >= TRIGRAMS_SHARED
    return bool(here) and close and _same_order(a, b, list(here), list(there))


def adds_nothing(text: str, to: str) -> bool:
    """Whether a text makes the same claim as the other one, without any further word.

    >>> adds_nothing("Postgres 16 runs on staging", to="Staging runs Postgres 16"), adds_nothing("Tea, hot", to="Tea")
    (True, False)
    """
    new, old = claim_of(text), claim_of(to)
    said, known = _joined(new.words, old.words)
    return said.keys() <= known.keys() and same_claim(old, new)


def _differ(a: Claim, b: Claim) -> bool:
    """Whether they cannot say the same: far cheaper than joining their words, and true of most pairs."""
    turned = (a.numbers, a.negative, a.turning) != (b.numbers, b.negative, b.turning)
    return turned or not (a.begins <= b.begins or b.begins <= a.begins)


class Said:
    """Claims seen so far, in order: finds the one that says the same as another without comparing it with all of them.

    If two say the same, the words of one are among those of the other. So the claims compared are those that contain the new
    one's rarest word, and those whose own rarest word is among the new one's; and no more than a few dozen.
    """

    def __init__(self) -> None:
        self._claims: list[Claim] = []
        self._texts: dict[tuple[Hashable, str], int] = {}
        self._holding: dict[Hashable, dict[str, list[int]]] = {}  # by side, then by each word
        self._known_by: dict[Hashable, dict[str, list[int]]] = {}  # by side, then by the rarest word

    def find(self, claim: Claim, group: Hashable = None) -> int | None:
        """The place of a claim in the same group that says the same; None if there is none."""
        twin = self._texts.get((group, claim.text))
        if twin is not None:
            return twin
        alike = islice(dict.fromkeys(self._alike(claim, group)), MOST_COMPARED)
        return next((place for place in alike if same_claim(self._claims[place], claim)), None)

    def add(self, claim: Claim, group: Hashable = None) -> None:
        """Adds it at the next place."""
        place, side, words = len(self._claims), self._side(claim, group), _begins(claim)
        holding = self._holding.setdefault(side, {})
        self._known_by.setdefault(side, {}).setdefault(_rarest(words, holding), []).append(place)
        for word in words:
            holding.setdefault(word, []).append(place)
        self._texts.setdefault((group, claim.text), place)
        self._claims.append(claim)

    def _alike(self, claim: Claim, group: Hashable) -> Iterator[int]:
        side, words = self._side(claim, group), _begins(claim)
        holding, known_by = self._holding.get(side, {}), self._known_by.get(side, {})
        found = [holding.get(_rarest(words, holding), ()), *(known_by[word] for word in words if word in known_by)]
        return islice(chain.from_iterable(found), 2 * MOST_COMPARED)

    @staticmethod
    def _side(claim: Claim, group: Hashable) -> Hashable:
        return group, claim.numbers, claim.negative, claim.turning


def repeated(texts: Iterable[tuple[str, Hashable]]) -> list[int | None]:
    """For each text the place of an earlier one in its group that says the same; None if it says something new.

    >>> repeated([("Staging runs Postgres 16", ""), ("We decided to use Postgres 16 for staging", ""), ("It rains", "")])
    [None, 0, None]
    """
    said, places, found = Said(), list[int](), list[int | None]()
    for place, (text, group) in enumerate(texts):
        claim = claim_of(text)
        twin = said.find(claim, group)
        found.append(None if twin is None else places[twin])
        if twin is None:
            said.add(claim, group)
            places.append(place)
    return found


def _begins(claim: Claim) -> list[str]:
    """The beginnings of its words, each once, in order; for a claim without words, a fixed one."""
    return list(dict.fromkeys(word[:SHORTEST_ROOT] for word in claim.words)) or [""]


def _rarest(words: Sequence[str], holding: Mapping[str, Sequence[int]]) -> str:
    return min(words, key=lambda word: len(holding.get(word, ())))


def _joined(a: Iterable[str], b: Iterable[str]) -> tuple[dict[str, None], dict[str, None]]:
    """The words of both, with those of the same root as one word: authenticate, authentication."""
    here, there = dict.fromkeys(a), dict.fromkeys(b)
    begins: dict[str, list[str]] = {}
    for word in here:
        if word not in there:
            begins.setdefault(word[:SHORTEST_ROOT], []).append(word)
    roots = {word: root for word in there if word not in here and (root := _root_of(word, begins))}
    return here, {roots.get(word, word): None for word in there} if roots else there


def _root_of(word: str, begins: Mapping[str, list[str]]) -> str | None:
    """The first word of the same root, which is then used up."""
    alike = begins.get(word[:SHORTEST_ROOT], [])
    root = next((other for other in alike[:MOST_ROOTS] if one_root(word, other)), None)
    if root is not None:
        alike.remove(root)
    return root


def one_root(a: str, b: str) -> bool:
    least = max(SHORTEST_ROOT, round(0.6 * max(len(a), len(b))))
    return a.isalpha() and b.isalpha() and a[:least] == b[:least] and min(len(a), len(b)) >= least


def _same_order(a: Claim, b: Claim, here: list[str], there: list[str]) -> bool:
    """Whether the common words come in the same order. Places may be anywhere, unless the order matters."""
    free = frozenset() if a.ordered or b.ordered else a.placed | b.placed
    common = (set(here) & set(there)) - free
    first, second = [word for word in here if word in common], [word for word in there if word in common]
    named = a.names | b.names
    return first == second and [w for w in here if w in named] == [w for w in there if w in named]


def _meaning(raw: str, low: str) -> list[str]:
    """The terms of a word that carry meaning."""
    if low in _IDLE or low in _AGAINST or low in _TURNING:
        return []
    return [_synonyms().get(term, term) for term in terms(raw)]


def _is_name(raw: str, inside: bool) -> bool:
    """Whether it is written like a name: capitalised inside a sentence or inside the word, or like code with a separator or a
    digit."""
    return (inside and raw[0].isupper()) or any(map(str.isupper, raw[1:])) or not raw.replace("'", "").isalpha()


def trigrams(text: str) -> frozenset[str]:
    """
    >>> sorted(trigrams("abcd"))
    ['abc', 'bcd']
    """
    return frozenset(text[start : start + 3] for start in range(max(1, len(text) - 2)))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, len(a | b))


_IDLE = frozenset(_LIGHT.split()) | (STOP_WORDS - _TURNING)


@cache
def _synonyms() -> Mapping[str, str]:
    return {term: terms(group)[0] for group in _SAME for term in terms(group)}


# ---------------------------------------------------------------- did an answer make use of a text?
# Judged by words alone, and rather too seldom. A citation such as [12] or [id:12] is use. Otherwise only the words that a text
# adds to the query count, since an answer repeats the query's words whether it used anything or not. A text was used if the
# answer contains enough of what it adds, or quotes it. Words that several of the shown texts share count correspondingly less.

# No index, link or footnote.
CITED = regex(r"(?<![A-Za-z0-9_])\[(?:id:)?[0-9]{1,18}(?:, ?(?:id:)?[0-9]{1,18}){0,9}\](?![(:])")
NUMBERS = regex("[0-9]+")
ENOUGH = 0.5  # share of what a text adds to the query, by weight
LEAST = 2  # words; if a text adds only one, that one
QUOTE = 5  # words in a row
MOST_TERMS = 400


def used_in(answer: str, shown: Mapping[int, str], query: str = "") -> dict[int, str]:
    """The texts that the answer used, by number, each with how that shows.

    >>> used_in("It is Postgres 16, see [id:3].", {3: "Lunch is at noon", 4: "Staging runs Postgres 16"}, "What runs staging?")
    {3: 'cited', 4: '2 of its 2 telling words are in the answer'}
    """
    cited = set(map(int, NUMBERS.findall(" ".join(CITED.findall(answer)))))
    said = terms(CITED.sub(" ", answer))
    asked, told = set(query_terms(query)), set(said)
    adds = {number: set(query_terms(text, MOST_TERMS)) - asked for number, text in shown.items()}
    shared = Counter(term for words in adds.values() for term in words)
    rows = _rows(said)
    found: dict[int, str] = {}
    for number, text in shown.items():
        because = "cited" if number in cited else _because(adds[number], told, shared)
        if because or _rows(terms(text)) & rows:
            found[number] = because or "the answer quotes it"
    return found


def _because(adds: set[str], told: set[str], shared: Mapping[str, int]) -> str | None:
    both = adds & told
    weight = sum(1 / shared[term] for term in adds)
    if not both or len(both) < min(LEAST, len(adds)) or sum(1 / shared[term] for term in both) < ENOUGH * weight:
        return None
    return f"{len(both)} of its {len(adds)} telling words are in the answer"


def _rows(found: list[str]) -> set[tuple[str, ...]]:
    return {tuple(found[at : at + QUOTE]) for at in range(len(found) - QUOTE + 1)}


# ---------------------------------------------------------------- letters


def distance(a: str, b: str, most: int) -> int | None:
    """The number of such differences, or None where there are more than `most`.

    >>> distance("postgers", "postgres", 1), distance("cat", "horse", 2)
    (1, None)
    """
    if abs(len(a) - len(b)) > most or _unlike(a, b, most):
        return None
    a, b = _where_they_differ(a, b)
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        next_row = [i]
        for j, other in enumerate(b, 1):
            cost = min(row[j] + 1, next_row[j - 1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and other == a[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            next_row.append(cost)
        if min(next_row) > most:
            return None
        before, row = row, next_row
    return row[-1] if row[-1] <= most else None


def _where_they_differ(a: str, b: str) -> tuple[str, str]:
    """Both without their common beginning and end: these count for nothing, and in most pairs little else is left."""
    start, shorter = 0, min(len(a), len(b))
    while start < shorter and a[start] == b[start]:
        start += 1
    end = 0
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return a[start : len(a) - end], b[start : len(b) - end]


def _unlike(a: str, b: str, most: int) -> bool:
    """Whether one has more letters that the other lacks: far cheaper than counting differences, and true of most pairs."""
    return len(set(a).difference(b)) > most or len(set(b).difference(a)) > most
