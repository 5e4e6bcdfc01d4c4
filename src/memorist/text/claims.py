"""What a short text claims, as far as rules can tell: which slot has which value, and who is for or against what.

    The port of billing is 8080     →  slot {billing, port}, value 8080
    Never mock the database         →  against {mock, database}

Two claims about one slot with different values, or for and against the same thing, may be a conflict; whether it is one is
decided by whoever compares (`remember/conflicts.py`, `recall/conflicts.py`). The rules are narrow on purpose: a claim that is
overseen leaves two memories side by side, one that is imagined retires a memory that was true. So questions, quotes, what
was once, what might be, and what can be several things at a time (what somebody likes, whom they know) claim nothing.

Every memory is read here on its way into the store, so each rule looks for one of its words before it looks closer.
"""

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from memorist.text import claim_words as lexicon
from memorist.text.calendar import WEEKDAYS
from memorist.text.words import terms

LONGEST = 400  # characters; longer texts tell a story, and a story claims many things at once
SHORT = 100  # a plain statement that is longer is hardly ever denied word by word
MOST_SENTENCES = 4
Tone = Literal["high", "medium", "low"]
CLEAR, DOUBTFUL, MANY = 2, 1, 0  # one value at a time; perhaps; several may hold, and the latest is the best guess


@dataclass(frozen=True, slots=True)
class Slot:
    """Something of somebody that has a value: a port of a service, a home of a person."""

    about: frozenset[str]
    value: tuple[frozenset[str], ...]  # what stands between commas
    said: str  # the value as it was written
    counted: bool  # a number or a date
    grade: int
    how: str = ""  # in, at, on, to: what stood before the value


@dataclass(frozen=True, slots=True)
class Stance:
    """For (True) or against (False) something. `head` is how many of the words stand before the first preposition."""

    favours: bool
    act: str  # use, add, allow, enable, include, or "" for any other
    words: tuple[str, ...]
    head: int
    tone: Tone
    strict: bool  # it says always, never, must: a rule, and not only a description


@dataclass(frozen=True, slots=True)
class Claims:
    slots: tuple[Slot, ...] = ()
    stances: tuple[Stance, ...] = ()
    corrects: bool = False  # it says itself that something changed
    personal: bool = False  # it speaks of me or us: who that is depends on who says it


NOTHING = Claims()


def claims(text: str) -> Claims:
    """What the text claims.

    >>> claims("The port of billing is 8080").slots[0].said
    '8080'
    >>> claims("Never mock the database").stances[0].favours
    False
    >>> claims("Should we use Redis?") == NOTHING
    True
    """
    return NOTHING if len(text) > LONGEST or "\n" in text.strip() else _claims(text)


@lru_cache(maxsize=1 << 12)
def _claims(text: str) -> Claims:
    slots: list[Slot] = []
    stances: list[Stance] = []
    for sentence in lexicon.SENTENCES.split(text.strip())[:MOST_SENTENCES]:
        said = _plain(sentence)
        if not _is_uncertain(sentence, said):
            slots += _slots(sentence, said)
            if len(text) <= SHORT or not said.isdisjoint(lexicon.SIGNS):
                stances += _stances(sentence)
    if not slots and not stances:
        return NOTHING
    said = _plain(text)
    corrects = not said.isdisjoint(lexicon.CORRECTING) and bool(lexicon.CORRECTS.search(text))
    return Claims(tuple(slots), tuple(stances), corrects, not said.isdisjoint(lexicon.PERSONAL))


def _plain(text: str) -> Set[str]:
    """Its words in lower case, roughly: for the first look."""
    return {word.strip(".,:;!?()") for word in text.lower().replace("’", "'").split()}


def _is_uncertain(sentence: str, said: Set[str]) -> bool:
    """Whether it states nothing: it asks, quotes, doubts, imagines, sets a condition, or tells of old times."""
    if sentence.endswith("?") or not said.isdisjoint(lexicon.QUOTED):
        return True
    doubted = said & lexicon.UNCERTAIN
    if doubted and any(word.upper() not in sentence for word in doubted):  # a club may be called IF
        return True
    doubts = "may" in said and " may " in sentence  # and not the month
    return doubts or bool(lexicon.QUOTES.search(sentence)) or "used to" in sentence.lower()


# ---------------------------------------------------------------- slots


def _slots(sentence: str, said: Set[str]) -> Iterator[Slot]:
    """At most one: a sentence with a slot says one thing."""
    if said.isdisjoint(lexicon.SLOT_VERBS) or not said.isdisjoint(lexicon.NOT_NOW):
        return
    counts = not said.isdisjoint(lexicon.CALENDAR) or any(map(str.isdigit, sentence))
    if (counts and lexicon.LONG_AGO.search(sentence)) or lexicon.SOME_OF.search(sentence):
        return
    bare = _bare(sentence, said)
    found = _by_verb(bare, said) or _changed(bare, said) or (_counted(bare, said) if counts else None) or _is(bare)
    if found is not None:
        yield found


def _bare(sentence: str, said: Set[str]) -> str:
    """The sentence without what it opens with, what tells when, and its reasons."""
    bare = lexicon.OPENING.sub("", sentence).strip().rstrip(".!")
    if not said.isdisjoint(lexicon.FILLING):
        bare = " ".join(lexicon.FILLERS.sub(" ", bare).split())
    if not said.isdisjoint(lexicon.REASONS) or any(sign in bare for sign in ";(—"):
        bare = lexicon.REASON.split(bare, maxsplit=1)[0]
    if not said.isdisjoint(lexicon.PHRASED):
        for phrase, word in lexicon.PHRASES:
            bare = phrase.sub(word, bare)
    return bare


def _by_verb(sentence: str, said: Set[str]) -> Slot | None:
    """Anna lives in Rome; the guide is owned by Anna."""
    for words, pattern, attribute, grade in lexicon.FRAMES:
        found = None if said.isdisjoint(words) else pattern.search(sentence)
        if found:
            subject, value = sentence[: found.start()], sentence[found.end() :]
            named = {name: (each or "").lower() for name, each in found.groupdict().items()}
            called = attribute.format(**named).split()
            classed = lexicon.CLASSED.match(value)
            if classed:
                called, value = [*called, classed[1].lower()], value[classed.end() :]
            return _slot(subject, called, value, _grade_of_verb(subject, attribute, grade))
    return None


def _grade_of_verb(subject: str, attribute: str, grade: int) -> int:
    return MANY if attribute in lexicon.OF_PEOPLE and lexicon.A_THING.match(subject) else grade


def _changed(sentence: str, said: Set[str]) -> Slot | None:
    """The port of billing changed from 8080 to 9090."""
    found = None if said.isdisjoint(lexicon.CHANGING) else lexicon.CHANGED.search(sentence)
    if not found:
        return None
    attribute = ["name"] if "renamed" in said else []
    return _slot(sentence[: found.start()], attribute, sentence[found.end() :], CLEAR)


def _counted(sentence: str, said: Set[str]) -> Slot | None:
    """The cluster has 12 nodes; billing listens on port 8080. The value is the number, and the rest is what it counts."""
    found = None if said.isdisjoint(lexicon.COUNTING) else lexicon.COUNTS.search(sentence)
    if not found:
        return None
    rest = lexicon.NAMED_BY_NUMBER.sub(lambda name: re.sub(r"\s+", "-", name[0]), sentence[found.end() :])
    tokens = [token.strip(",()") for token in rest.split()]
    values = [token for token in tokens if _is_number(token)]
    if not values or len(tokens) > 8:
        return None
    timed = [token for token in values if token.lower() not in WEEKDAYS]
    values = timed or values  # with a time of its own, a weekday says which occasion it is
    others = [token.lower() for token in tokens if token not in values and token.lower() not in lexicon.LITTLE]
    verb = found["verb"].lower().split()[-1]
    known = lexicon.COUNTED_ALIKE.intersection(others)
    about = [] if known or verb in lexicon.HAVING else [_stem(verb)]
    # Somebody may use two versions of a named thing; a thing has one number of parts.
    named = any(token[:1].isupper() for token in tokens) or not others
    doubtful = (verb in lexicon.USING and not known and named) or (verb in lexicon.RUNNING and not others)
    subject = " ".join((sentence[: found.start()], *others))
    return _slot(subject, about, " ".join(values), DOUBTFUL if doubtful else CLEAR)


def _is(sentence: str) -> Slot | None:
    """The owner of the docs is Anna; Anna's manager is Bruno; the quota is 4000."""
    left, verb, right = _around_copula(sentence)
    if not verb:
        return None
    inside = lexicon.INSIDE.match(right)
    right = right[inside.end() :] if inside else right
    named = _is_counted(right) or right[:1].isupper()
    owned = lexicon.OWNED.match(left)
    if not (owned or (named and lexicon.DEFINITE.match(left))):
        return None
    if verb == "are" and not lexicon.PLURAL_OF_ONE.search(left):
        return None
    found = _slot(left, [], right, _grade_of_noun(left, named, _is_counted(right)))
    return replace(found, how=inside["how"].lower()) if found and inside else found


def _grade_of_noun(left: str, named: bool, counted: bool) -> int:
    """Only of some things do we know that they have one value at a time: the food is good, the food is warm; my instrument is
    the piano, my instrument is the cello. And "the limit" may be that of anything."""
    head = lexicon.OF.split(left, maxsplit=1)[0]
    what = head.split()[-1].lower()  # the child of Anna, Anna's child
    owners = (owner.lower() for owner in lexicon.OWNERS.findall(left))
    if what in lexicon.SEVERAL or any(owner in lexicon.SEVERAL for owner in owners):
        return MANY
    chosen = lexicon.FAVOURITE.search(left)
    if not (named or chosen or what in lexicon.NAMING):
        return MANY
    known = counted or (chosen and chosen["one"]) or (what in lexicon.SINGLE and lexicon.ALONE.fullmatch(head))
    return CLEAR if known and not lexicon.BARE.fullmatch(left) else DOUBTFUL


def _around_copula(sentence: str) -> tuple[str, str, str]:
    for verb in (" is ", " are ", " = ", ": "):
        left, found, right = sentence.rpartition(verb)
        if found and left.strip():
            return left, found.strip(), right
    return "", "", ""


def _slot(subject: str, attribute: list[str], value: str, grade: int) -> Slot | None:
    """The slot, unless its subject is nobody in particular or its value is no value."""
    if lexicon.NO_VALUE.match(value) or lexicon.NOBODY.match(subject) or not lexicon.VAGUE.isdisjoint(subject.split()):
        return None
    whose = [word for word in _words(subject) if word not in lexicon.LITTLE]
    parts = [part for part in (frozenset(_value_words(part)) for part in value.split(",")) if part]
    if not whose or len(whose) > 9 or not parts or sum(map(len, parts)) > 10 or len(parts[0]) > 7:
        return None
    about = frozenset(lexicon.ALIKE.get(word, word) for word in (*whose, *attribute))
    return Slot(about, tuple(parts), value.strip(), _is_counted(value), grade)


def _value_words(text: str) -> list[str]:
    return [word for word in _words(text) if word not in ("the", "a", "an")]


def _is_counted(value: str) -> bool:
    return any(_is_number(token) for token in value.split())


def _is_number(token: str) -> bool:
    return bool(lexicon.NUMBER.fullmatch(token)) or token.lower().strip(".,") in lexicon.CALENDAR


# ---------------------------------------------------------------- for and against


def _stances(sentence: str) -> Iterator[Stance]:
    text = lexicon.NO_LONGER.sub(" not ", lexicon.OPENING.sub("", sentence))
    for clause in lexicon.CLAUSES.split(text):
        words = _words(clause)
        if 1 < len(words) <= 16 and words[0] not in lexicon.PRONOUNS and lexicon.PAST.isdisjoint(words):
            stance = _stance(words)
            if stance is not None:
                yield stance


def _stance(words: list[str]) -> Stance | None:
    favours, act, head, strict = True, "", 0, False
    tone: Tone = "medium"
    kept: list[str] = []
    for word in words:
        sign = lexicon.SIGNS.get(word)
        if sign is not None:
            favours = favours == sign.favours
            strict = strict or sign.strict
            tone = sign.tone or tone
            act = sign.act or act
        elif word in lexicon.PREPOSITIONS:
            head = head or len(kept)
            kept += [word] if word in lexicon.TURNING else []
        elif word not in lexicon.LITTLE and word not in lexicon.HELPERS:
            kept.append(word)
    if not kept or (len(kept) < 2 and not act):
        return None
    return Stance(favours, act, tuple(kept), head or len(kept), tone, strict)


def _words(text: str) -> list[str]:
    """Its words in lower case, without possessives."""
    found = (word.strip(".,:'") for word in lexicon.WORDS.findall(text.lower().replace("’", "'")))
    return [word.removesuffix("'s") if word not in lexicon.SIGNS else word for word in found if word]


def _stem(word: str) -> str:
    return (terms(word) or [word])[0]


# ---------------------------------------------------------------- comparing


def same_slot(a: Slot, b: Slot) -> bool:
    """Whether both speak of the same thing, and both of a number or both of words."""
    return a.about == b.about and a.counted == b.counted


def other_value(a: Slot, b: Slot) -> bool:
    """Whether the values exclude one another: Rome and Lima do, Rome and Rome in Italy do not."""
    first, second = a.value[0], b.value[0]
    if first == second and len(a.value) == len(b.value) == 2:  # Portland, Oregon and Portland, Maine
        first, second = a.value[1], b.value[1]
        return _exclude(first, second) and max(len(first), len(second)) <= 3
    return _exclude(first, second)


def _exclude(a: frozenset[str], b: frozenset[str]) -> bool:
    return not (a <= b or b <= a)


def same_words(a: Stance, b: Stance) -> bool:
    """The same things in any order. A verb may be inflected (supports, support); where the act is known there is no other
    verb, and one flag is not all flags."""
    left, right = sorted(set(a.words) - set(b.words)), sorted(set(b.words) - set(a.words))
    if len(a.words) != len(b.words) or len(left) != len(right):
        return False
    return not left or (not a.act and len(left) == 1 < len(a.words) and _stem(left[0]) == _stem(right[0]))


def within(a: Stance, b: Stance) -> bool:
    """Whether one speaks of a thing and the other of the same thing in some case: tabs, and tabs in Makefiles."""
    small, large = (a, b) if len(a.words) < len(b.words) else (b, a)
    return small.head == len(small.words) and small.words == large.words[: large.head]
