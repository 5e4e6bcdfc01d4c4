"""Does one text restate another, or is it wholly in the other? A wrong yes hides a memory, so each of these guards alone says
no. On pairs made for this (`tests/text/pairs.py`, the half not looked at) reordered texts are recognised to 100 %, reworded to 80,
with synonyms to 39, and of 11 sorts of near-misses none is taken for the same.

    words      one has a word that the other has not; a word written as a name has no synonyms: Bill is no invoice
    numbers    other numbers, or the same numbers with other things
    turning    denied or not, before and after, more and less, all and some, must and may, "only", "unless", "if"
    bound      what stands after "from", "to", "instead of" and the like is something else, or led in otherwise
    order      who does it to whom, where nothing says that the sentence was turned around
    sides      of a text with two sides ("on in dev and off in prod") every word stands in its place; "only" and "all" stand
               before the same word, and "of" after the same

What is left are texts with the same words but for inflection and synonyms, or with something added at one end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from memorist.lazy import dataclass
from memorist.text.patterns import regex
from memorist.text.twins import normalised
from memorist.text.words import STOP_WORDS, terms

# The first says the same, is contained in the second, or contains it.
Likeness = Literal["same", "less", "more"]
LONGEST_RESTATED = 600  # characters: a longer text says too much to be restated as a whole
SHORTEST_ROOT = 5  # common letters at the beginning of two words with the same root
MOST_ADDED = 1.0  # words that one of them adds, per common word
MOST_COMPARED = 64  # texts with the same beginnings of words that one is compared with

# Words that are interchangeable in most sentences, and forms that no stemmer joins.
_GROUPS = """
keep kept store save hold held retain live reside | delete remove purge erase wipe | folder directory | database db
repository repo | configuration config settings | environment env | authentication auth | documentation docs
function method | error exception fault | fail break broke broken crash | build built compile | need require
like prefer enjoy favour favor | begin began begun start commence | end finish expire lapse conclude terminate
big large huge | small little tiny | fast quick rapid | slow sluggish | fix repair mend | show display
get got fetch obtain receive | everyone everybody | short brief concise | email mail e-mail | deploy release ship
limit quota cap | request call | move relocate | allow permit | forbid prohibit ban disallow | send sent dispatch
invoice bill | each every | lead led head | approve authorise authorize | notify alert inform | retry repeat
buy bought purchase | child kid | car automobile | doctor physician | restart reboot
write wrote written develop author | customer client | bug defect | price cost | pupil student
holiday vacation | flat apartment | film movie | ill sick | glad happy | clever smart | hard difficult | easy simple
help assist | answer reply respond | speak spoke spoken talk | learn learnt learned | drive drove driven
drink drank drunk | pay paid | sell sold | teach taught | meet met | choose chose chosen | biscuit cookie
enable activate | disable deactivate | reserve earmark | peanut groundnut | idle idleness unused
""".replace("\n", " | ").split(" | ")
_PHRASES = {
    "switched on": "enabled", "switch on": "enable", "turned on": "enabled", "turn on": "enable", "switched off": "disabled",
    "switch off": "disable", "turned off": "disabled", "turn off": "disable",
    "get rid of": "remove", "no longer": "not", "instead of": "instead", "rather than": "instead",
    "in favour of": "to", "backed up": "backup", "back up": "backup", "at most": "most", "at least": "least",
    "as soon as": "when", "such as": "like", "used to": "formerly", "have to": "must", "has to": "must",
}  # fmt: skip
# What people put before a claim: that it was said, agreed or matters adds nothing to it.
_SAID = frozenset(
    """note noted remember reminder remind mind keep bear important fyi btw know knows knew known record agree agreed decide decided
    decision settle settled discuss discussed mention mentioned say said told tell clear clearly short sum fact info information
    heads-up heads head up see seen turn turned turns out find found learn learned learnt realise realised well ok okay so just
    please hint tip update also again always before earlier yesterday today once more basically actually i we you it is was be that
    this as for the a an to in let me us of what here's there's it's have has been will would like good sure""".split()
)
_LIGHT = frozenset(
    """use uses used using run runs running go goes going went happen happens happened do does did done make makes made
    get gets let lets want us ours one ones thing things way currently now today just really actually basically simply about
    approximately roughly around always still already kind sort place places be been being was were's""".split()
)
_LIGHT_VERBS = frozenset("is are was were be been being am gets got has have had".split())
_DENY = frozenset(
    """not no never none nor neither cannot can't don't doesn't didn't won't isn't aren't wasn't weren't shouldn't mustn't
    wouldn't couldn't haven't hasn't hadn't stop stops stopped avoid avoids avoided unlike hardly nobody nothing""".split()
)
_STRICT = frozenset(
    """before after above below under off down more most less least only unless if except until although all some few many half
    both either without will formerly previously originally against per might may maybe perhaps probably""".split()
)
_ALIKE = {"may": "can", "might": "maybe", "perhaps": "maybe", "probably": "maybe"}
_MODAL = {
    "must": "must", "shall": "must", "should": "must", "can": "can", "could": "can", "may": "can", "might": "can",
}  # fmt: skip
_FROM = frozenset("only unless if except when while whenever but until although provided where as because".split())
_PERSON = {
    "i": "me", "me": "me", "my": "me", "mine": "me", "you": "you", "your": "you", "he": "he", "his": "he", "him": "he",
    "she": "she", "her": "she", "hers": "she", "they": "they", "their": "they", "them": "they", "myself": "me",
    "yourself": "you", "himself": "he", "herself": "she", "themselves": "they",
}  # fmt: skip
_BINDING = frozenset(
    """from to into before after than over instead through against without until unless by via around past towards under above
    below between during since in on at for with every each per within of""".split()
)
_CONTRAST = frozenset(
    "from to into before after past through around over under above below against instead without between towards".split()
)
_AND = frozenset("and or but nor while whereas und oder aber sondern".split())  # words that give a text several sides
_ARTICLES = frozenset("the a an our its their my your his her this that".split())
_TITLES = frozenset("lead head".split())  # as verbs they mean the same; "the lead" and "the head" are two people
_FOCUS = frozenset("only just even nur sogar".split())
_IN_PLACE = {  # small words whose place matters, and their normal form
    **{word: word for word in _STRICT | _FOCUS | _CONTRAST | frozenset("on off up down".split())},
    **_PERSON,
    **_MODAL,
    **dict.fromkeys(_DENY, "not"),
}
_POLES = """on off | enable disable | activate deactivate | open close | old new | first last | start end | begin end | up down
left right | read write | allow forbid | allow deny | big small | fast slow | primary secondary | internal external
public private | before after | more less | source target | client server | sender receiver | input output | parent child
""".replace("\n", " | ").split(" | ")
_ALSO_NAMES = frozenset("Bill Will May".split())  # at the beginning, where every word is capitalised
_PLACES = frozenset("in of for on at with".split())
_TURNED = frozenset("by what where who whom which that".split())
_EMPTY = (STOP_WORDS | _LIGHT | _DENY | _STRICT | _BINDING | _MODAL.keys()) - {"each", "every", "tell"}
_TOKEN = regex(r"[^\W_](?:[\w.'’/:-]*\w)?")
_END = regex(r"[,;:.!?()]")
_OPENS = regex(r"^[^:,]{1,40}?(?:[:,]| that )\s*(?=\S)")
_DECIDED = regex(
    r"(?i)^(?:we|i)(?:'ve|'re| have| are)? (?:decided to use|agreed on|agreed to|going with|settled on) (?=\S)"
    r"|,? (?:as )?we (?:decided|agreed)[.!]?$"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """The content of a text, as far as its words show it."""

    text: str
    words: tuple[str, ...]  # words with meaning, each once, in order
    begins: frozenset[str]  # their beginnings, which are equal for words of one root
    names: tuple[str, ...]  # in order, those not introduced by a small word
    counted: Mapping[str, frozenset[str]]  # number → the words before and after it
    turning: tuple[object, ...]  # the numbers, whether it is denied, the strict words, and the persons
    modal: frozenset[str]
    bound: Mapping[str, frozenset[str]]  # small word → what follows it
    free: tuple[str, ...]  # words not introduced by a small word, in order
    turned: bool  # its order may be reversed: a passive, or "is what"
    fronted: bool  # it begins with what usually comes later: "On Friday we deploy"
    sides: tuple[tuple[str, ...], ...]  # for each its words, and the small words whose place matters
    twice: frozenset[str]  # words that stand in it twice, also those that lead in: each then belongs to something else
    heads: Mapping[str, frozenset[str]]  # "only", "all", "of" … → the words they refer to


def restates(first: str, second: str) -> Likeness | None:
    """Whether the first has the same words as the second, about the same things, done by the same people.

    >>> restates("We deploy to staging on Friday", "On Friday we deploy to staging")
    'same'
    >>> restates("Ann is allergic to nuts", "Ann is allergic to nuts and carries an injector")
    'less'
    >>> restates("Ann is allergic to nuts", "Ann's brother is allergic to nuts")
    """
    if max(len(first), len(second)) > LONGEST_RESTATED:
        return "same" if normalised(first) == normalised(second) else None
    a, b = statement(first), statement(second)
    if a.text == b.text:
        return "same"
    if a.text.startswith(b.text) or b.text.startswith(a.text):
        return _continued(a, b)
    if not a.words or a.begins != b.begins or a.turning != b.turning or _rearranged(a, b):
        return None
    if a.modal and b.modal and a.modal.isdisjoint(b.modal):
        return None
    for number, beside in a.counted.items() if len(a.counted) > 1 else ():  # the same numbers may count other things
        if beside and b.counted[number] and beside.isdisjoint(b.counted[number]):
            return None
    here, there = _joined(a.words, b.words)
    alike = set(here) == set(there) and _bound_alike(a, b, here, there) and _in_order(a, b, here, there)
    return "same" if alike else None


def same_claim(first: str, second: str) -> bool:
    """Whether two texts state the same; neither adds anything."""
    return restates(first, second) == "same"


def earlier_duplicates(texts: Iterable[tuple[str, Hashable]]) -> list[int | None]:
    """For each text the place of an earlier one in its group that states the same; None if it states something new. Only
    texts with the same beginnings of words are compared, so that a thousand texts take no million comparisons.

    >>> earlier_duplicates([("We deploy on Friday", ""), ("On Friday we deploy", ""), ("On Friday we deploy", "other")])
    [None, 0, None]
    """
    alike: dict[Hashable, list[tuple[int, str]]] = {}
    places: list[int | None] = []
    for place, (text, group) in enumerate(texts):
        said = statement(text) if len(text) <= LONGEST_RESTATED else None
        near = alike.setdefault((group, said.begins if said and said.words else normalised(text)), [])
        places.append(next((at for at, other in near[:MOST_COMPARED] if same_claim(other, text)), None))
        if places[-1] is None:
            near.append((place, text))
    return places


# ---------------------------------------------------------------- reading


class _Word(NamedTuple):
    """One word of a text."""

    low: str
    words: list[str]  # its meaning; none for a small word
    named: bool  # written as a name inside the text
    mark: str  # the sign before it that ends a phrase


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    plain = text = _unwrapped(text)
    for phrase, word in _PHRASES.items():
        if phrase in text.lower():
            plain = re.sub(rf"(?i)\b{phrase}\b", word, plain)
    read = _words(plain)
    small, content = [word.low for word in read], [each for word in read for each in word.words]
    fronted = bool(small) and small[0] in _FROM | _BINDING
    sides, heads = _sides(read, fronted)
    names, free, bound = _bound(read)
    numbers = [word for word in content if any(map(str.isdigit, word))]
    often = (*Counter(content).items(), *Counter(word for word in small if word in _BINDING).items())
    near: dict[str, set[str]] = {number: set() for number in numbers}
    for before, word in pairwise(content):
        near.get(word, set()).add(f"{before} before")
        near.get(before, set()).add(f"{word} after")
    return Statement(
        normalised(text).strip(" .!?\"'"),
        words=tuple(dict.fromkeys(content)),
        begins=frozenset(word[:SHORTEST_ROOT] for word in content),
        names=tuple(dict.fromkeys(names)),
        counted={number: frozenset(beside) for number, beside in near.items()},
        turning=(
            sorted(numbers),
            sum(word in _DENY for word in small) % 2 == 1,
            sorted({_ALIKE.get(word, word) for word in _STRICT.intersection(small)}),
            sorted({_PERSON[word] for word in small if word in _PERSON}),
        ),
        modal=frozenset(_MODAL[word] for word in small if word in _MODAL),
        bound={word: frozenset(after) for word, after in bound.items()},
        free=tuple(dict.fromkeys(free)),
        turned=not (_TURNED | _LIGHT_VERBS).isdisjoint(small),
        fronted=fronted,
        sides=tuple(tuple(side) for side in sides if side),
        twice=frozenset(word for word, times in often if times > 1),
        heads={word: frozenset(of) for word, of in heads.items()},
    )


def _words(text: str) -> list[_Word]:
    """Each word with its meaning, as the first of its group. Written as a name, any word has a meaning: Go."""
    read: list[_Word] = []
    for found in _TOKEN.finditer(text):
        raw, start, low = found[0], found.start(), found[0].lower()
        mark = text[start - 2] if start >= 2 and _END.search(text, start - 2, start) else ""
        named = raw in _ALSO_NAMES if start == 0 else raw[0].isupper() and raw[:2] not in ("I", "I'")
        is_title = low in _TITLES and bool(read) and read[-1].low in _ARTICLES
        plain = low.removesuffix("'s").removesuffix("'")
        parts = [] if low in _EMPTY and not named else [low] if is_title else terms(raw[: len(plain)])
        if len(parts) == 1 and not (named or is_title):
            parts = [_canonical().get(parts[0], parts[0])]
        meaning = ["·".join(parts)] if parts else []  # getUserById is one word
        read.append(_Word(low, meaning, start > 0 and raw[0].isupper(), mark))
    return read


def _sides(read: list[_Word], fronted: bool) -> tuple[list[list[str]], dict[str, list[str]]]:
    """The words of each side of a text, and what "only", "of" and the like refer to. The comma after what was moved to the front
    separates no sides: "On Friday, we deploy"."""
    sides: list[list[str]] = [[]]
    heads: dict[str, list[str]] = {}
    waits = list[str]()  # "only", for its word
    owner = last = ""  # "api", for the shop of "the api of the shop"; the last word with a meaning
    for place, (low, words, _, mark) in enumerate(read):
        if (mark and not (place and fronted and mark == "," and len(sides) == 1)) or (not words and low in _AND):
            sides.append([])
        for last in words:
            sides[-1].append(last)
            for head in waits:
                heads.setdefault(head, []).append(last)
            if owner:
                heads.setdefault(f"of {last}", []).append(owner)
            waits, owner = [], ""
        if words:
            continue
        waits += [low] if low in _STRICT | _FOCUS else []
        sides[-1] += [_IN_PLACE[low]] if low in _IN_PLACE else []
        owner = last if low == "of" else owner if low in _ARTICLES else ""
    for word in _FOCUS.intersection(waits if last else ()):  # "Ann only" is "only Ann"
        heads.setdefault(word, [last])
    return sides, heads


def _bound(read: list[_Word]) -> tuple[list[str], list[str], dict[str, list[str]]]:
    """The names and words that no small word introduces, and for each small word the two words that it introduces."""
    names, free, bound = list[str](), list[str](), dict[str, list[str]]()
    leads, room = "", 0
    for low, words, named, mark in read:
        leads = "" if mark else leads
        if low in _BINDING:
            leads, room = low, 2
        for word in words:
            if leads and room:
                bound.setdefault(leads, []).append(word)
                room -= 1
                continue
            leads = ""
            free.append(word)
            names += [word] if named else []
    return names, free, bound


def _unwrapped(text: str) -> str:
    """The text in single blanks, without quotes around it and a frame that only says that it is said. There may be two layers;
    a third is not looked for. All in capitals becomes lower case."""
    text = " ".join(text.replace("’", "'").split()).strip(" \"'“”")
    text = text.lower() if text.isupper() else text
    for _ in range(2):
        found = _OPENS.match(text)
        before = [word.lower() for word in _TOKEN.findall(found[0])] if found else []
        if found is None or not before or not _SAID.issuperset(before) or len(text) - found.end() < 8:
            break
        text = text[found.end() :]
    return _DECIDED.sub("", text)


@cache
def _canonical() -> Mapping[str, str]:
    return {term: terms(group)[0] for group in _GROUPS for term in terms(group) if len(term) > 1}


# ---------------------------------------------------------------- comparing


def _joined(a: Iterable[str], b: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words of both, with those of the same root as one word: authenticate, authentication."""
    here, there = list(a), list(b)
    left = [word for word in here if word not in there]
    for place, word in enumerate(there):
        for other in left if word not in here and word.isalpha() else ():
            least = max(SHORTEST_ROOT, round(0.6 * max(len(word), len(other))))
            if other.isalpha() and word[:least] == other[:least] and min(len(word), len(other)) >= least:
                left.remove(other)
                there[place] = other
                break
    return here, there


def _continued(a: Statement, b: Statement) -> Likeness | None:
    """Whether the longer one literally contains the shorter and continues it, without taking it back or narrowing it down."""
    shorter, longer = sorted((a, b), key=lambda each: len(each.text))
    rest = longer.text[len(shorter.text) :]
    goes_on = _TOKEN.findall(rest)
    many = len(longer.words) - len(shorter.words) > MOST_ADDED * len(shorter.words)
    if len(shorter.words) < 2 or many or not goes_on or rest[0].isalnum() or goes_on[0] in _FROM | _DENY | _STRICT:
        return None
    return "less" if shorter is a else "more"


def _rearranged(a: Statement, b: Statement) -> bool:
    """Whether a common word refers to something else in one of them. A word may move within its own side; if a word is
    repeated, or both opposites occur, nothing may move."""
    one = dict(zip(b.words, _joined(a.words, b.words)[1], strict=True))
    heads = {small: {one.get(word, word) for word in of} for small, of in b.heads.items()}
    moved = any(heads.get(small, of) != of for small, of in a.heads.items())
    if moved or a.heads.keys() & _FOCUS != heads.keys() & _FOCUS:
        return True
    told = [[one.get(word, word) for word in side] for side in b.sides]
    both = set(chain.from_iterable(a.sides)).intersection(chain.from_iterable(told))
    mine, its = ([_common(side, both) for side in sides] for sides in (a.sides, told))
    if a.twice & b.twice or any(pair.issubset(side) for pair in _poles() for side in mine):
        return mine != its
    return max(len(mine), len(its)) > 1 and list(map(set, mine)) != list(map(set, its))


@cache
def _poles() -> tuple[frozenset[str], ...]:
    """Opposites, in normal form. If a text contains both, it matters which of them refers to what."""
    told = ([term for word in pair.split() for term in terms(word) or [word]] for pair in _POLES if pair)
    return tuple(frozenset(_canonical().get(term, term) for term in pair) for pair in told)


def _bound_alike(a: Statement, b: Statement, here: list[str], there: list[str]) -> bool:
    """Whether the same things follow the same small words: "from Rome to Oslo" is not "from Oslo to Rome"."""
    names = dict(zip(b.words, there, strict=True)) if len(b.words) == len(there) else {}
    for small in a.bound.keys() & b.bound.keys():
        vague = small in _PLACES and max(len(a.bound[small]), len(b.bound[small])) > 2
        if not vague and a.bound[small].isdisjoint({names.get(each, each) for each in b.bound[small]}):
            return False
    for word in set(here):
        mine, its = ({small for small in _CONTRAST & each.bound.keys() if word in each.bound[small]} for each in (a, b))
        if mine and its and mine.isdisjoint(its):
            return False
    return True


def _in_order(a: Statement, b: Statement, here: list[str], there: list[str]) -> bool:
    """Whether the one who acts comes first in both: after "by" in a passive. A reversed sentence shows that, or "is what"."""
    if _common(a.names, b.names) != _common(b.names, a.names):
        return False
    if ("by" in a.bound) != ("by" in b.bound):
        passive, other = (a, there) if "by" in a.bound else (b, here)
        done_to = next((word for word in passive.words if word not in passive.bound["by"]), None)
        actors = [other.index(word) for word in passive.bound["by"] if word in other]
        return not actors or done_to not in other or min(actors) < other.index(done_to)
    first, second = _common(a.free, b.free), _common(b.free, a.free)
    turned = a.turned != b.turned and first[:1] != second[:1]
    # A part of it may only have been moved to the front.
    rotated = (first[cut:] + first[:cut] == second for cut in range(1, len(first)))
    return first == second or turned or (a.fronted != b.fronted and any(rotated))


def _common(some: Iterable[str], others: Collection[str]) -> list[str]:
    return [word for word in some if word in others]
