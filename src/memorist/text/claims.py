"""What a short text claims, as far as rules can tell: which slot has which value, and who is for or against what.

    The port of billing is 8080     →  slot {billing, port}, value 8080
    Never mock the database         →  against {mock, database}

Two claims about one slot with different values, or for and against the same thing, may be a conflict; whether it is one is
decided by those that compare them, when remembering and when recalling. The rules are narrow on purpose: a claim that is
overlooked leaves two memories side by side, one that is imagined retires a memory that was true. So questions, quotes, what
was once, what might be, and what can be several things at a time (what people like, whom they know) claim nothing.

Every memory is read here on its way into the store, so each rule looks for one of its words before it looks closer.
"""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from memorist.lazy import dataclass
from memorist.text.dates import MONTHS, WEEKDAYS
from memorist.text.patterns import regex
from memorist.text.words import terms

LONGEST_CLAIM = 400  # characters; longer texts tell a story, and a story claims many things at once
SHORT = 100  # a longer plain statement is hardly ever contradicted word by word
MOST_SENTENCES = 4
Tone = Literal["high", "medium", "low"]
CLEAR, DOUBTFUL, MANY = 2, 1, 0  # one value at a time; perhaps; several may hold, and the latest is the best guess


@dataclass(frozen=True, slots=True)
class Slot:
    """A property of a person or thing that has a value: a port of a service, a home of a person."""

    about: frozenset[str]
    value: tuple[frozenset[str], ...]  # the parts between commas
    said: str  # the value as written
    counted: bool  # a number or a date
    grade: int
    how: str = ""  # in, at, on, to: the word before the value


@dataclass(frozen=True, slots=True)
class Stance:
    """For (True) or against (False) something. `head` is the number of words before the first preposition."""

    favours: bool
    act: str  # use, add, allow, enable, include, or "" for any other
    words: tuple[str, ...]
    head: int
    tone: Tone
    strict: bool  # it says always, never, must: a rule, not just a description


@dataclass(frozen=True, slots=True)
class Claims:
    slots: tuple[Slot, ...] = ()
    stances: tuple[Stance, ...] = ()
    corrects: bool = False  # it says itself that something changed
    personal: bool = False  # it is about me or us, so its meaning depends on the speaker


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
    return NOTHING if _tells_a_story(text) else _claims(text)


def slots_in(text: str) -> tuple[Slot, ...]:
    """Only the slots, as in `claims`. Recall needs no more, and stances are the most expensive to read."""
    return () if _tells_a_story(text) else _slots_in(text)


def _tells_a_story(text: str) -> bool:
    return len(text) > LONGEST_CLAIM or "\n" in text.strip()


@lru_cache(maxsize=1 << 12)
def _slots_in(text: str) -> tuple[Slot, ...]:
    told = [(sentence, _plain(sentence)) for sentence in SENTENCES.split(text.strip())[:MOST_SENTENCES]]
    stated = [each for each in told if not each[1].isdisjoint(SLOT_VERBS) and not _is_uncertain(*each)]
    return tuple([slot for each in stated for slot in _slots(*each)])


@lru_cache(maxsize=1 << 12)
def _claims(text: str) -> Claims:
    slots: list[Slot] = []
    stances: list[Stance] = []
    for sentence in SENTENCES.split(text.strip())[:MOST_SENTENCES]:
        said = _plain(sentence)
        takes_sides = len(text) <= SHORT or not said.isdisjoint(SIGNS)
        if (takes_sides or not said.isdisjoint(SLOT_VERBS)) and not _is_uncertain(sentence, said):
            slots += _slots(sentence, said)
            stances += _stances(sentence) if takes_sides else ()
    if not slots and not stances:
        return NOTHING
    said = _plain(text)
    corrects = not said.isdisjoint(CORRECTING) and bool(CORRECTS.search(text))
    return Claims(tuple(slots), tuple(stances), corrects, not said.isdisjoint(PERSONAL))


def _plain(text: str) -> Set[str]:
    """Roughly its words in lower case, for a first check."""
    return {word.strip(".,:;!?()") for word in text.lower().replace("’", "'").split()}


def _is_uncertain(sentence: str, said: Set[str]) -> bool:
    """Whether it states nothing: it asks, quotes, doubts, imagines, sets a condition, or is about old times."""
    if sentence.endswith("?") or not said.isdisjoint(QUOTED):
        return True
    doubted = said & UNCERTAIN
    if doubted and any(word.upper() not in sentence for word in doubted):  # a club may be called IF
        return True
    doubts = "may" in said and " may " in sentence  # but not the month
    return doubts or bool(QUOTES.search(sentence)) or "used to" in sentence.lower()


# ---------------------------------------------------------------- slots


def _slots(sentence: str, said: Set[str]) -> Iterator[Slot]:
    """At most one, since a sentence with a slot says one thing."""
    if said.isdisjoint(SLOT_VERBS) or not said.isdisjoint(NOT_NOW):
        return
    counts = not said.isdisjoint(CALENDAR) or any(map(str.isdigit, sentence))
    if (counts and LONG_AGO.search(sentence)) or SOME_OF.search(sentence):
        return
    bare = _bare(sentence, said)
    found = _by_verb(bare, said) or _changed(bare, said) or (_counted(bare, said) if counts else None) or _is(bare)
    if found is not None:
        yield found


def _bare(sentence: str, said: Set[str]) -> str:
    """The sentence without its opening, its time and its reasons."""
    bare = OPENING.sub("", sentence).strip().rstrip(".!")
    if not said.isdisjoint(FILLING):
        bare = " ".join(FILLERS.sub(" ", bare).split())
    if not said.isdisjoint(REASONS) or any(sign in bare for sign in ";(—"):
        bare = REASON.split(bare, maxsplit=1)[0]
    if not said.isdisjoint(PHRASED):
        for phrase, word in PHRASES:
            bare = phrase.sub(word, bare)
    return bare


def _by_verb(sentence: str, said: Set[str]) -> Slot | None:
    """Anna lives in Rome; the guide is owned by Anna."""
    for words, pattern, attribute, grade in FRAMES:
        found = None if said.isdisjoint(words) else pattern.search(sentence)
        if found:
            subject, value = sentence[: found.start()], sentence[found.end() :]
            named = {name: (each or "").lower() for name, each in found.groupdict().items()}
            called = attribute.format(**named).split()
            classed = CLASSED.match(value)
            if classed:
                called, value = [*called, classed[1].lower()], value[classed.end() :]
            of_a_thing = attribute in OF_PEOPLE and A_THING.match(subject)
            return _slot(subject, called, value, MANY if of_a_thing else grade)
    return None


def _changed(sentence: str, said: Set[str]) -> Slot | None:
    """The port of billing changed from 8080 to 9090."""
    found = None if said.isdisjoint(CHANGING) else CHANGED.search(sentence)
    if not found:
        return None
    attribute = ["name"] if "renamed" in said else []
    return _slot(sentence[: found.start()], attribute, sentence[found.end() :], CLEAR)


def _counted(sentence: str, said: Set[str]) -> Slot | None:
    """The cluster has 12 nodes; billing listens on port 8080. The value is the number, and the rest is what it counts."""
    found = None if said.isdisjoint(COUNTING) else COUNTS.search(sentence)
    if not found:
        return None
    values, others, named = _numbers(sentence[found.end() :])
    if not values:
        return None
    verb = found["verb"].lower().split()[-1]
    known = COUNTED_ALIKE.intersection(others)
    about = [] if known or verb in HAVING else [_stem(verb)]
    # Somebody may use two versions of a named thing; a thing has one number of parts.
    doubtful = verb in HAPPENING or (verb in USING | RUNNING and not known and named)
    subject = " ".join((sentence[: found.start()], *others))
    return _slot(subject, about, " ".join(values), DOUBTFUL if doubtful else CLEAR)


def _numbers(text: str) -> tuple[list[str], list[str], bool]:
    """The numbers in it, the other informative words, and whether these name a thing; no numbers if it is long."""
    rest = NAMED_BY_NUMBER.sub(lambda name: re.sub(r"\s+", "-", name[0]), text)
    tokens = [token.strip(",()") for token in rest.split()]
    values = [token for token in tokens if _is_number(token)]
    if len(tokens) > 8:
        return [], [], False
    timed = [token for token in values if token.lower() not in WEEKDAYS]
    values = timed or values  # together with a time of day, a weekday says which occasion it is
    others = [token.lower() for token in tokens if token not in values and token.lower() not in LITTLE]
    return values, others, not others or any(token[:1].isupper() for token in tokens)


def _is(sentence: str) -> Slot | None:
    """The owner of the docs is Anna; Anna's manager is Bruno; the quota is 4000."""
    for verb in (" is ", " are ", " = ", ": "):
        left, found, right = sentence.rpartition(verb)
        if found and left.strip():
            break
    else:
        return None
    inside = INSIDE.match(right)
    right = right[inside.end() :] if inside else right
    named = _is_counted(right) or right[:1].isupper()
    owned = OWNED.match(left)
    measured = _is_counted(right) and MEASURED.fullmatch(left)
    if not (owned or measured or (named and DEFINITE.match(left))):
        return None
    if verb == " are " and not PLURAL_OF_ONE.search(left):
        return None
    # The noun alone does not show that it has a single value: a shoe, a model and a month have a size, each debugger has a
    # port.
    best = CLEAR if owned or DEFINITE.match(left) else DOUBTFUL
    slot = _slot(left, [], right, min(best, _grade_of_noun(left, named, _is_counted(right))))
    return replace(slot, how=inside["how"].lower()) if slot and inside else slot


def _grade_of_noun(left: str, named: bool, counted: bool) -> int:
    """How certain it is that this has only one value at a time, which is known for some things only: the food is good, the
    food is warm; my instrument is the piano, my instrument is the cello. And "the limit" may be that of anything."""
    head = OF.split(left, maxsplit=1)[0]
    what = head.split()[-1].lower()  # the child of Anna, Anna's child
    owners = (owner.lower() for owner in OWNERS.findall(left))
    if what in SEVERAL or any(owner in SEVERAL for owner in owners):
        return MANY
    chosen = FAVOURITE.search(left)
    if not (named or chosen or what in NAMING):
        return MANY
    known = counted or (chosen and chosen["one"]) or (what in SINGLE and ALONE.fullmatch(head))
    return CLEAR if known and not BARE.fullmatch(left) else DOUBTFUL


def _slot(subject: str, attribute: list[str], value: str, grade: int) -> Slot | None:
    """The slot, unless its subject names no one in particular or its value says nothing."""
    if NO_VALUE.match(value) or NOBODY.match(subject) or not VAGUE.isdisjoint(subject.split()):
        return None
    if not HABITS.isdisjoint(_words(value)) or _at_its_time(value):  # on Mondays, and perhaps on Fridays too
        grade = min(grade, DOUBTFUL)
    whose = [word for word in _words(subject) if word not in LITTLE]
    parts = tuple(filter(None, (frozenset(_words(part)) - ARTICLES for part in value.split(","))))
    told = 0 < len(whose) <= 9 and 0 < sum(map(len, parts)) <= 10 and len(parts[0]) <= 7
    about = frozenset(ALIKE.get(word, word) for word in (*whose, *attribute))
    return Slot(about, parts, value.strip(), _is_counted(value), grade) if told else None


def _at_its_time(value: str) -> bool:
    """Whether it is a number for some month or hour, which may differ in the next: 3% in January, 5 GB at noon."""
    sorts = _sorts(value)
    return "number" in sorts and ("month" in sorts or not {"noon", "midnight"}.isdisjoint(sorts.get("clock", ())))


def _is_counted(value: str) -> bool:
    return any(_is_number(token) for token in value.split())


def _is_number(token: str) -> bool:
    return bool(NUMBER.fullmatch(token)) or token.lower().strip(".,") in CALENDAR


# ---------------------------------------------------------------- for and against


def _stances(sentence: str) -> Iterator[Stance]:
    text = NO_LONGER.sub(" not ", OPENING.sub("", sentence))
    for clause in CLAUSES.split(text):
        words = _words(clause)
        if 1 < len(words) <= 16 and words[0] not in PRONOUNS and PAST.isdisjoint(words):
            stance = _stance(words)
            if stance is not None:
                yield stance


def _stance(words: list[str]) -> Stance | None:
    favours, act, head, strict = True, "", 0, False
    tone: Tone = "medium"
    kept: list[str] = []
    for word in words:
        sign = SIGNS.get(word)
        if sign is not None:
            favours = favours == sign.favours
            strict = strict or sign.strict
            tone = sign.tone or tone
            act = sign.act or act
        elif word in PREPOSITIONS:
            head = head or len(kept)
            kept += [word] if word in TURNING else []
        elif word not in LITTLE and word not in HELPERS:
            kept.append(word)
    if not kept or (len(kept) < 2 and not act):
        return None
    return Stance(favours, act, tuple(kept), head or len(kept), tone, strict)


def _words(text: str) -> list[str]:
    """Its words in lower case, without possessives."""
    found = (word.strip(".,:'") for word in WORDS.findall(text.lower().replace("’", "'")))
    return [word.removesuffix("'s") if word not in SIGNS else word for word in found if word]


def _stem(word: str) -> str:
    return (terms(word) or [word])[0]


# ---------------------------------------------------------------- comparing


def same_slot(a: Slot, b: Slot) -> bool:
    """Whether both are about the same thing, and both have a number or both have words."""
    return a.about == b.about and a.counted == b.counted


def other_value(a: Slot, b: Slot) -> bool:
    """Whether the values exclude each other: Rome and Lima do; Rome and Rome in Italy do not, nor do Berlin and Berlin-Mitte."""
    first, second = a.value[0], b.value[0]
    if not a.counted:
        first, second = (frozenset(part for word in words for part in word.split("-")) for words in (first, second))
    if first == second and len(a.value) == len(b.value) == 2:  # Portland, Oregon and Portland, Maine
        first, second = a.value[1], b.value[1]
        if max(len(first), len(second)) > 3:
            return False
    return not (first <= second or second <= first)


def same_words(a: Stance, b: Stance) -> bool:
    """Whether they are about the same things in any order. A verb may be inflected (supports, support). If the act is known
    there is no other verb, and one flag is not all flags."""
    left, right = sorted(set(a.words) - set(b.words)), sorted(set(b.words) - set(a.words))
    if len(a.words) != len(b.words) or len(left) != len(right):
        return False
    return not left or (not a.act and len(left) == 1 < len(a.words) and _stem(left[0]) == _stem(right[0]))


def within(a: Stance, b: Stance) -> bool:
    """Whether one is about a thing and the other about the same thing in a special case: tabs, and tabs in Makefiles."""
    small, large = (a, b) if len(a.words) < len(b.words) else (b, a)
    return small.head == len(small.words) and small.words == large.words[: large.head]


# ---------------------------------------------------------------- can one value stand in the place of another?
# "Monday" excludes "Friday", but "noon" does not: both may hold. It is only clear that a thing has another value now if both
# values are of the same sort. So a day, a month, a time and a plain number are distinguished, and so are a name and a
# description ("Siemens", "a startup"), and origins ("Irish") from identities. A city and its country or state are
# distinguished if the latter is known.

_CLOCK = regex(r"\d{1,2}:\d\d(?:[ap]m)?|\d{1,2}[ap]m|noon|midnight")
_DATE = regex(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_YEAR = regex(r"(?:19|20)\d\d")
_NTH = regex(r"(\d{1,2})(?:st|nd|rd|th)")
_WORDS = regex(r"[\w'./:+#&%@$€£~-]+")
_IDLE = frozenset("the a an of on at in to for and".split())
# Origins and beliefs; names with the same endings are just not replaced by themselves.
_ORIGIN = regex(
    r"\w+(?:ish|ese|ian|ean|ican|anian|alian|exan)|german|french|dutch|greek|swiss|czech|thai|welsh|basque|catalan|arab|iraqi|"
    r"israeli|pakistani|korean|afghan|american|mexican|jewish|muslim|catholic|protestant|buddhist|hindu|atheist|vegan|"
    r"vegetarian|\w+-(?:based|hosted|licensed|time|only|born|speaking)",
    re.I,
)
_LANDS = frozenset(
    """afghanistan africa alabama alaska albania algeria america angola argentina arizona arkansas armenia asia
    australia austria azerbaijan bangladesh bavaria belarus belgium bohemia bolivia bosnia brazil britain bulgaria
    california cambodia cameroon canada catalonia chile china colombia colorado congo connecticut croatia cuba cyprus
    czechia delaware denmark ecuador egypt england estonia ethiopia eu europe finland florida france georgia germany
    ghana greece guatemala haiti hawaii hungary iceland idaho illinois india indiana indonesia iowa iran iraq ireland
    israel italy jamaica japan jordan kansas kazakhstan kentucky kenya korea kuwait laos latvia lebanon libya
    lithuania louisiana luxembourg maine malaysia mali malta maryland massachusetts mexico michigan minnesota
    mississippi missouri moldova mongolia montana morocco mozambique myanmar namibia nebraska nepal netherlands nevada
    nicaragua niger nigeria norway ohio oklahoma ontario oregon pakistan panama paraguay pennsylvania peru philippines
    poland portugal provence qatar quebec romania russia rwanda saxony scotland senegal serbia singapore slovakia
    slovenia somalia spain sudan sweden switzerland syria taiwan tanzania tennessee texas thailand tunisia turkey
    tuscany uganda uk ukraine uruguay us usa utah venezuela vermont vietnam virginia wales wisconsin wyoming yemen
    zambia zimbabwe""".split()
)


def unrelated(a: str, b: str, counted: bool) -> bool:
    """Whether both may hold because they answer different questions.

    >>> unrelated("Friday", "noon", counted=True), unrelated("Friday", "Monday", counted=True)
    (True, False)
    >>> unrelated("Anna", "Irish", counted=False), unrelated("Berlin", "Germany", counted=False)
    (True, True)
    """
    if counted:
        here, there = _sorts(a), _sorts(b)
        other = [sort for sort in here.keys() & there.keys() - {"word"} if here[sort] != there[sort]]
        return not other or _is_another_occasion(other)
    origins = [bool(_ORIGIN.fullmatch(value.strip().removeprefix("the "))) for value in (a, b)]
    lands = [value.lower().removeprefix("the ").strip(" .") in _LANDS for value in (a, b)]
    return origins[0] != origins[1] or lands[0] != lands[1]


def _is_another_occasion(other: list[str]) -> bool:
    """Whether it is on another day at another time, or a number for another month: 3% in May, and 4% in June."""
    counted_then = "number" in other and not {"month", "clock"}.isdisjoint(other)
    return counted_then or ("weekday" in other and len(other) > 1)


def exchangeable(a: str, b: str, counted: bool) -> bool:
    """Whether they are written alike: in the same unit, both as names, or both as descriptions.

    >>> exchangeable("10 MB", "20 MB", counted=True), exchangeable("10 MB", "100 per day", counted=True)
    (True, False)
    >>> exchangeable("Siemens", "Acme", counted=False), exchangeable("Siemens", "a startup", counted=False)
    (True, False)
    """
    if counted:
        return _sorts(a).get("word") == _sorts(b).get("word")
    return _written(a) == _written(b)


def _sorts(value: str) -> Mapping[str, frozenset[str]]:
    """Its parts by sort; everything that is neither a number nor a date is a word."""
    tokens = [token.strip(".,:") for token in _WORDS.findall(value.lower())]
    dated = any(token in MONTHS for token in tokens)
    found: dict[str, set[str]] = {}
    for place, token in enumerate(tokens):
        if token in _IDLE or token in ("am", "pm", ""):
            continue
        before_half = tokens[place + 1 : place + 2] in (["am"], ["pm"])
        found.setdefault("clock" if before_half else _sort(token, dated), set()).add(_NTH.sub(r"\1", token))
    return {sort: frozenset(tokens) for sort, tokens in found.items()}


def _sort(token: str, dated: bool) -> str:
    """The sort of a token. Next to the name of a month, a small number is a day, and one that looks like a year is a year."""
    shapes = (
        ("weekday", token in WEEKDAYS or token in HABITS or token == "tomorrow"),
        ("month", token in MONTHS),
        ("clock", _CLOCK.fullmatch(token)),
        ("date", _DATE.fullmatch(token)),
        ("day", _NTH.fullmatch(token) or (dated and token.isdigit() and len(token) < 3)),
        ("year", dated and _YEAR.fullmatch(token)),
        ("number", any(map(str.isdigit, token))),
    )
    return next((sort for sort, fits in shapes if fits), "word")


def _written(value: str) -> tuple[str, frozenset[str]]:
    """The form in which it is written: a name, a shorthand, or with which article; and the qualification of a name: Bergen
    during summer."""
    words = value.split()
    if words[0].lower() in ARTICLES:
        return words[0].lower(), frozenset()
    if not words[0][:1].isupper():
        return "plain", frozenset()
    rest = frozenset(word for word in words[1:] if word[:1].islower() and word not in _IDLE)
    return "shorthand" if words[0].isupper() and 1 < len(words[0]) < 6 else "name", rest


# ---------------------------------------------------------------- the words by which a claim is known
# Small closed classes of English, nothing about any subject.


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _any(words: str) -> str:
    return "|".join(words.split())


# texts:

# Not after initials.
SENTENCES = regex(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bProf\.)\s+(?=[A-Z\"'“])")
CLAUSES = regex(r"\b(?:because|but|although|though|whereas|so that)\b|[;—]|[,.:!](?:\s|$)", re.I)
REASONS = _set("because since but although so while whereas which who")
REASON = regex(rf"\s+(?:{_any(' '.join(REASONS))})\s+|\s*[;(—]", re.I)
WORDS = regex(r"[\w'./:+#&%@-]+")
OPENING = regex(r"^(?:correction|update|note|fyi|remember|actually|in fact|fact)\s*[:,]\s*", re.I)
FILLING = _set("now currently today already still officially nowadays present days longer")
FILLERS = regex(
    r"\b(?:now|currently|today|already|still|officially|nowadays|at present|these days|from now on|as of (?:now|today))\b,?"
    r"|\bno longer\b.*",
    re.I,
)
CORRECTING = _set(
    "correction update actually longer now more anymore today instead stop changed switched moved renamed upgraded"
)
CORRECTS = regex(
    r"^(?:correction|update|actually)\b|\b(?:no longer|now|any ?more|from now on|as of (?:now|today)|instead|stop using"
    r"|(?:changed|switched|moved|renamed|upgraded) (?:from .{1,60} )?to)\b",
    re.I,
)
PERSONAL = _set("i i'm i've my me mine we our ours us")
QUOTES = regex(
    r"[\"“”«»]|(?<!\w)'[^']+'(?!\w)|\bin (?:the|an?|his|her|my) (?:novel|story|film|movie|book|game|play)\b", re.I
)
QUOTED = _set(
    "said says asks asked told tells wrote reads according dream imagine pretend example e.g"
    " reportedly rumour rumor claims claimed thinks think believes believe guess guesses hopes hope wonders wonder wants plans"
)
UNCERTAIN = _set(
    "if unless whether maybe perhaps might could would probably possibly seems seem apparently allegedly supposedly formerly"
    " previously either"
)
# Old times, firsts of several, and whatever holds alongside something else.
NOT_NOW = _set("until before ago earlier originally former once lived also too another additionally besides among last")
SOME_OF = regex(r"\b(?:one|some|part|many|most|each|two|several) of\b", re.I)
LONG_AGO = regex(r"\b(?:in|since|from|during|by) (?:19|20)\d\d\b", re.I)
PAST = _set("was were had did used once wasn't weren't didn't")

# slots:

HABITS = frozenset(f"{day}s" for day in WEEKDAYS if day.endswith("day"))  # the days of what comes every week
CALENDAR = frozenset({*MONTHS, *WEEKDAYS, *HABITS, "am", "pm", "noon", "midnight", "tomorrow"})
NUMBER = regex(r"[$€£v~]?\d[\d.,:/-]*(?:th|st|nd|rd|%|[kmgt]?b|k|ms|s|m|h|d|am|pm|x)?", re.I)
# Nouns whose number is a name: issue 12 did not become issue 13.
NAMED_BY_NUMBER = regex(
    rf"\b(?:{_any('issue ticket pr room chapter page line step section row commit bug task sprint phase release case')}"
    rf"|{_any('figure table season episode gate platform level lesson unit article rule item option test question round')}"
    rf"|{_any('flight train bus route floor track request story card lot building exit')})s? #?\d[\w.]*",
    re.I,
)
ARTICLES = _set("the a an")
LITTLE = _set("the a an of for in on at to by is are be its it's and this that these those with per each every as")
ALIKE = {
    "my": "i", "me": "i", "our": "we", "us": "we", "your": "you",
    "boss": "manager", "supervisor": "manager", "husband": "spouse", "wife": "spouse", "profession": "job",
    "occupation": "job", "price": "cost", "costs": "cost", "e-mail": "email",
}  # fmt: skip
PHRASED = _set("home hometown residence birth birthplace birthday birthdate job chief")
PHRASES = tuple(
    (regex(pattern, re.I), word)
    for pattern, word in (
        (r"\b(?:home (?:city|town)|hometown|(?:city|place) of residence|residence)\b", "home"),
        (r"\b(?:birth ?place|(?:city|place) of birth|birth (?:city|town))\b", "birthplace"),
        (r"\b(?:birth ?day|birth ?date|date of birth)\b", "birthday"),
        (r"\bjob title\b", "job"),
        (r"\bchief executive(?: officer)?\b", "CEO"),
    )
)
_IS = r"(?:is|are|was|were)"
_MADE = (
    "founded created written authored developed directed performed produced designed composed invented built discovered"
    " painted recorded published established"
)
_KEPT = "maintained hosted licensed coached edited moderated sponsored owned led managed headed chaired"
_TIED = "associated affiliated aligned"
_CLASSED = r"(?= the \w+ of )"
# One of these words must occur, the text between subject and value, the name of the slot, and whether it has one value at a
# time (2), perhaps several (1: a nurse may also be a volunteer, a film have two directors), or any number (0).
FRAMES = tuple(
    (_set(words), regex(rf"\s+(?:{pattern})\s+", re.I), attribute, grade)
    for words, pattern, attribute, grade in (
        ("live lives reside resides living", r"(?:lives?|resides?|(?:is|am|are) living) in", "home", 2),
        ("moved", r"(?<!\bwe )moved (?:from .{1,40} )?to(?= (?-i:[A-Z]))", "home", 2),
        ("based headquartered", r"(?:is|are) (?:based|headquartered) in", "base", 1),
        ("located situated", rf"{_IS} (?:located|situated) in", "place", 1),
        ("work works", r"works? as(?: an?| the)?", "job", 1),
        ("work works employed", r"(?:works? at|(?:is|am|are) employed (?:by|at))", "employer", 2),
        ("work works", r"works? for", "employer", 1),
        ("born", rf"{_IS} born (?:on|in(?= .*\d))", "birthday", 2),
        ("born", rf"{_IS} born in", "birthplace", 1),
        ("died", r"died in(?! .*\d)", "deathplace", 1),
        ("married", r"(?:is|am) married to", "spouse", 2),
        ("report reports", r"reports? to", "manager", 2),
        (_KEPT, rf"(?:is|are) (?P<kept>{_any(_KEPT)}) (?P<how>by|on|at|under)", "{kept}-{how}", 1),
        ("run", r"(?:is|are) (?P<kept>run) (?P<how>by|on|at|under)", "{kept}-{how}", 0),
        (_MADE, rf"{_IS} (?P<made>{_any(_MADE)}) (?P<how>by|in)", "{made}-{how}", 1),
        ("play plays", r"plays? (?:the position of|as)", "position", 1),
        (_TIED, rf"{_IS} (?P<tied>{_any(_TIED)}) with{_CLASSED}", "{tied}", 0),
        ("speak speaks", rf"speaks?{_CLASSED}", "speaks", 0),
        ("work works worked", rf"(?:works?|worked) in{_CLASSED}", "works", 0),
        ("famous known", rf"{_IS} (?:famous|known|best known) for", "known", 0),
        ("citizen resident native national", rf"{_IS} an? (?P<role>citizen|resident|native|national) of", "{role}", 0),
    )
)
# Only people live, work and report in this sense: the code lives in two folders, a fix works for two browsers.
OF_PEOPLE = _set("home job employer manager")
A_THING = regex(r"(?:the|this|that|these|those|our|an?|each|every|all)\b", re.I)
# "in the city of Rome": the noun says what kind of value it is, and the value is Rome.
CLASSED = regex(
    rf"the ({_any('city town village country state region continent county language field sport religion genre position')}"
    rf"|{_any('company university school category league party style family')}) of ",
    re.I,
)
CHANGING = _set("changed renamed upgraded")
CHANGED = regex(r"\s+(?:has |have |was |were )?(?:changed|renamed|upgraded) (?:from .{1,60} )?to\s+", re.I)
_COUNTING = (
    "listen listens run runs use uses cost costs has have take takes start starts end ends begin begins expire expires open"
    " opens close closes serve serves weigh weighs measure measures require requires need needs hold holds keep keeps retries"
    " polls happen happens"
)
_SET = "due scheduled planned set pinned capped limited"
COUNTING = _set(f"{_COUNTING} {_SET}")
COUNTS = regex(rf"\s+(?P<verb>{_any(_COUNTING)}|(?:is|are) (?:{_any(_SET)}))\s+", re.I)
COUNTED_ALIKE = _set("port version deadline timeout")  # the same however it is phrased
HAVING = _set("has have")
USING = _set("use uses require requires need needs")
RUNNING = _set("run runs")
HAPPENING = _set("happen happens")  # what happens may happen at other times too
SLOT_VERBS = frozenset({"is", "are", "=", *COUNTING, *CHANGING, *(word for frame in FRAMES for word in frame[0])})
OWNED = regex(
    r"(?:the|our|my|your)\s+(?:[\w-]+\s+){1,5}(?:of|for|in|where|that)\s|(?:[\w.&-]+\s+){0,5}[\w.&-]+['’]s?\s+\w", re.I
)
# Log retention is 30 days: a measured thing needs no article to be unique.
MEASURED = regex(
    r"(?:(?!(?:it|he|she|they|we|you|i|this|that|these|those|there|what|who|any|some|every|each|another|a|an)\b)[\w./-]+\s+){0,4}"
    rf"(?:{_any('retention timeout limit quota threshold deadline capacity budget ttl interval duration length port version')}"
    rf"|{_any('headcount latency timezone rate size period count')})",
    re.I,
)
DEFINITE = regex(r"(?:the|our|my)\s", re.I)
OF = regex(r"\s+(?:of|for|in|where|that)\s+", re.I)
INSIDE = regex(r"^(?:(?:located|based|set)\s+)?(?P<how>in|at|on|to)\s+(?:the city of )?", re.I)
OWNERS = regex(r"([\w-]+)['’]s?\s")
ALONE = regex(r"(?:the|our|my|your|.*['’]s?)\s+[\w-]+", re.I)  # my manager, and not my password manager
BARE = regex(r"(?:(?:the|our)\s+)?[\w-]+\s*", re.I)
PLURAL_OF_ONE = regex(r"\b(?:headquarters|hours|pronouns|initials|credentials)\b", re.I)
SEVERAL = _set(
    "friend brother sister sibling child son daughter kid hobby interest skill colleague pet cat dog cousin uncle aunt student"
    " client feature example part member ally neighbour neighbor book song film reason benefit problem advantage risk side"
    " thing user customer fan goal idea tip trick rule bug issue answer result error fix solution step symptom allergy"
    " medication score lesson topic cause blocker complaint ingredient dependency"
)
NAMING = _set(
    "name nickname job role title position status type kind genre sport religion language currency colour color mode format"
    " branch engine backend database editor shell theme locale region plan tier unit strategy encoding protocol license"
    " licence timezone zone home city town country state owner manager spouse diet major subject field discipline weather"
    " profession occupation breed species material"
)
# A thing has one of these at a time, whatever else is said about it.
SINGLE = _set(
    "name owner manager boss supervisor spouse husband wife home birthday branch currency timezone address headquarters employer"
)
FAVOURITE = regex(r"\b(?:(?P<one>favou?rite|preferred|default|current)|primary|main)\b", re.I)
# A subject with one of these identifies nobody and nothing.
VAGUE = _set(
    "it what how about usually which who them me him her yourself ourselves themselves something anything wow yeah"
)
NO_VALUE = regex(
    r"(?:to|that|not|because|whether|how|when|where|what|never|no|being|so|very|too|all|more|less|me|you|us|him|her|them|it|both)\b",
    re.I,
)
NOBODY = regex(r"(?:he|she|it|they|this|that|these|those|there|here|his|her|their|its|what|who|which)\b", re.I)

# for and against:


@dataclass(frozen=True, slots=True)
class Sign:
    """What a word says about its clause."""

    favours: bool = True  # False reverses the clause
    act: str = ""
    tone: Literal["high", "medium", "low"] | None = None
    strict: bool = False


NO_LONGER = regex(r"\bno longer\b|\bstop(?=\s+\w+ing\b)", re.I)
_SIGNS = (
    ("not doesn't doesnt isn't isnt aren't arent won't cannot can't cant hasn't haven't", Sign(False)),
    ("don't dont", Sign(False, strict=True)),
    ("shouldn't shouldnt", Sign(False, tone="medium", strict=True)),
    ("mustn't mustnt never", Sign(False, tone="high", strict=True)),
    ("always must", Sign(tone="high", strict=True)),
    ("should", Sign(tone="medium", strict=True)),
    ("forget", Sign(False)),  # don't forget to
    ("use uses using", Sign(act="use")),
    ("prefer prefers", Sign(act="use", tone="low", strict=True)),
    ("avoid avoids", Sign(False, "use", "low", strict=True)),
    ("enable enables enabled", Sign(act="enable")),
    ("disable disables disabled", Sign(False, "enable")),
    ("add adds", Sign(act="add", tone="low")),
    ("remove removes", Sign(False, "add", "low")),
    ("allow allows allowed permit permits permitted", Sign(act="allow")),
    ("disallow disallows disallowed forbid forbids forbidden prohibited banned", Sign(False, "allow")),
    ("include includes included", Sign(act="include", tone="low")),
    ("exclude excludes excluded", Sign(False, "include", "low")),
)
SIGNS: Mapping[str, Sign] = {word: sign for words, sign in _SIGNS for word in words.split()}
# These say when or where, and the other one would say something else.
TURNING = _set("before after during until inside outside under without")
PREPOSITIONS = _set(
    "for in on at with during when while from to by under inside outside before after per into within across until"
)
HELPERS = _set("we you please do does can will shall be been here any all now currently")
PRONOUNS = _set("it he she they this that these those there")
