"""The words by which `claims.py` knows a claim: small closed classes of English, nothing about any subject."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memorist.text.calendar import MONTHS, WEEKDAYS


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _any(words: str) -> str:
    return "|".join(words.split())


# ---------------------------------------------------------------- texts

SENTENCES = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[DMS][rst]\.)(?<!\bMrs\.)(?<!\bProf\.)\s+(?=[A-Z\"'“])"
)  # no initials
CLAUSES = re.compile(r"\b(?:because|but|although|though|whereas|so that)\b|[;—]|[,.:!](?:\s|$)", re.I)
REASONS = _set("because since but although so while whereas which who")
REASON = re.compile(rf"\s+(?:{_any(' '.join(REASONS))})\s+|\s*[;(—]", re.I)
WORDS = re.compile(r"[\w'./:+#&%@-]+")
OPENING = re.compile(r"^(?:correction|update|note|fyi|remember|actually|in fact|fact)\s*[:,]\s*", re.I)
FILLING = _set("now currently today already still officially nowadays present days longer")
FILLERS = re.compile(
    r"\b(?:now|currently|today|already|still|officially|nowadays|at present|these days|from now on|as of (?:now|today))\b,?"
    r"|\bno longer\b.*",
    re.I,
)
CORRECTING = _set(
    "correction update actually longer now more anymore today instead stop changed switched moved renamed upgraded"
)
CORRECTS = re.compile(
    r"^(?:correction|update|actually)\b|\b(?:no longer|now|any ?more|from now on|as of (?:now|today)|instead|stop using"
    r"|(?:changed|switched|moved|renamed|upgraded) (?:from .{1,60} )?to)\b",
    re.I,
)
PERSONAL = _set("i i'm i've my me mine we our ours us")
QUOTES = re.compile(
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
# Old times, firsts of several, and whatever holds beside something else.
NOT_NOW = _set("until before ago earlier originally former once lived also too another additionally besides among last")
SOME_OF = re.compile(r"\b(?:one|some|part|many|most|each|two|several) of\b", re.I)
LONG_AGO = re.compile(r"\b(?:in|since|from|during|by) (?:19|20)\d\d\b", re.I)
PAST = _set("was were had did used once wasn't weren't didn't")

# ---------------------------------------------------------------- slots

CALENDAR = frozenset({*MONTHS, *WEEKDAYS, "am", "pm", "noon", "midnight", "tomorrow"})
NUMBER = re.compile(r"[$€£v~]?\d[\d.,:/-]*(?:th|st|nd|rd|%|[kmgt]?b|k|ms|s|m|h|d|am|pm|x)?", re.I)
# Nouns whose number is a name: issue 12 is not what issue 13 was.
NAMED_BY_NUMBER = re.compile(
    rf"\b(?:{_any('issue ticket pr room chapter page line step section row commit bug task sprint phase release case')}"
    rf"|{_any('figure table season episode gate platform level lesson unit article rule item option test question round')}"
    rf"|{_any('flight train bus route floor track request story card lot building exit')})s? #?\d[\w.]*",
    re.I,
)
LITTLE = _set("the a an of for in on at to by is are be its it's and this that these those with per each every as")
ALIKE = {
    "my": "i", "me": "i", "our": "we", "us": "we", "your": "you",
    "boss": "manager", "supervisor": "manager", "husband": "spouse", "wife": "spouse", "profession": "job",
    "occupation": "job", "price": "cost", "costs": "cost", "e-mail": "email",
}  # fmt: skip
PHRASED = _set("home hometown residence birth birthplace birthday birthdate job chief")
PHRASES = tuple(
    (re.compile(pattern, re.I), word)
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
_CLASSED = r"(?= the \w+ of )"
# Words of which one must be there, what stands between subject and value, what the slot is called, and whether it has one
# value at a time (2), perhaps several (1: a nurse may also be a volunteer, a film have two directors), or any number (0).
FRAMES = tuple(
    (_set(words), re.compile(rf"\s+(?:{pattern})\s+", re.I), attribute, grade)
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
        (
            "associated affiliated aligned",
            rf"{_IS} (?P<tied>associated|affiliated|aligned) with{_CLASSED}",
            "{tied}",
            0,
        ),
        ("speak speaks", rf"speaks?{_CLASSED}", "speaks", 0),
        ("work works worked", rf"(?:works?|worked) in{_CLASSED}", "works", 0),
        ("famous known", rf"{_IS} (?:famous|known|best known) for", "known", 0),
        ("citizen resident native national", rf"{_IS} an? (?P<role>citizen|resident|native|national) of", "{role}", 0),
    )
)
# Only people live, work and report in this sense: the code lives in two folders, a fix works for two browsers.
OF_PEOPLE = _set("home job employer manager")
A_THING = re.compile(r"(?:the|this|that|these|those|our|an?|each|every|all)\b", re.I)
# "in the city of Rome": the noun says what kind of value it is, and the value is Rome.
CLASSED = re.compile(
    rf"the ({_any('city town village country state region continent county language field sport religion genre position')}"
    rf"|{_any('company university school category league party style family')}) of ",
    re.I,
)
CHANGING = _set("changed renamed upgraded")
CHANGED = re.compile(r"\s+(?:has |have |was |were )?(?:changed|renamed|upgraded) (?:from .{1,60} )?to\s+", re.I)
_COUNTING = (
    "listen listens run runs use uses cost costs has have take takes start starts end ends begin begins expire expires open"
    " opens close closes serve serves weigh weighs measure measures require requires need needs hold holds keep keeps retries"
    " polls"
)
_SET = "due scheduled planned set pinned capped limited"
COUNTING = _set(f"{_COUNTING} {_SET}")
COUNTS = re.compile(rf"\s+(?P<verb>{_any(_COUNTING)}|(?:is|are) (?:{_any(_SET)}))\s+", re.I)
COUNTED_ALIKE = _set("port version deadline timeout")  # however it is said, it is that
HAVING = _set("has have")
USING = _set("use uses require requires need needs")
RUNNING = _set("run runs")
SLOT_VERBS = frozenset({"is", "are", "=", *COUNTING, *CHANGING, *(word for frame in FRAMES for word in frame[0])})
OWNED = re.compile(
    r"(?:the|our|my|your)\s+(?:[\w-]+\s+){1,5}(?:of|for|in|where|that)\s|(?:[\w.&-]+\s+){0,5}[\w.&-]+['’]s?\s+\w", re.I
)
DEFINITE = re.compile(r"(?:the|our|my)\s", re.I)
OF = re.compile(r"\s+(?:of|for|in|where|that)\s+", re.I)
INSIDE = re.compile(r"^(?:(?:located|based|set)\s+)?(?P<how>in|at|on|to)\s+(?:the city of )?", re.I)
OWNERS = re.compile(r"([\w-]+)['’]s?\s")
ALONE = re.compile(r"(?:the|our|my|your|.*['’]s?)\s+[\w-]+", re.I)  # my manager, and not my password manager
BARE = re.compile(r"(?:the|our)\s+[\w-]+\s*", re.I)
PLURAL_OF_ONE = re.compile(r"\b(?:headquarters|hours|pronouns|initials|credentials)\b", re.I)
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
# Of these a thing has one at a time, whatever else is said of it.
SINGLE = _set(
    "name owner manager boss supervisor spouse husband wife home birthday branch currency timezone address headquarters employer"
)
FAVOURITE = re.compile(r"\b(?:(?P<one>favou?rite|preferred|default|current)|primary|main)\b", re.I)
# A subject with one of these names nobody and nothing.
VAGUE = _set(
    "it what how about usually which who them me him her yourself ourselves themselves something anything wow yeah"
)
NO_VALUE = re.compile(
    r"(?:to|that|not|because|whether|how|when|where|what|never|no|being|so|very|too|all|more|less|me|you|us|him|her|them|it|both)\b",
    re.I,
)
NOBODY = re.compile(r"(?:he|she|it|they|this|that|these|those|there|here|his|her|their|its|what|who|which)\b", re.I)

# ---------------------------------------------------------------- for and against


@dataclass(frozen=True, slots=True)
class Sign:
    """What a word says of the clause that it stands in."""

    favours: bool = True  # False turns the clause round
    act: str = ""
    tone: Literal["high", "medium", "low"] | None = None
    strict: bool = False


NO_LONGER = re.compile(r"\bno longer\b|\bstop(?=\s+\w+ing\b)", re.I)


def _each(words: str, sign: Sign) -> dict[str, Sign]:
    return dict.fromkeys(words.split(), sign)


SIGNS: Mapping[str, Sign] = {
    **_each("not doesn't doesnt isn't isnt aren't arent won't cannot can't cant hasn't haven't", Sign(False)),
    **_each("don't dont", Sign(False, strict=True)),
    **_each("shouldn't shouldnt", Sign(False, tone="medium", strict=True)),
    **_each("mustn't mustnt never", Sign(False, tone="high", strict=True)),
    **_each("always must", Sign(tone="high", strict=True)),
    **_each("should", Sign(tone="medium", strict=True)),
    **_each("forget", Sign(False)),  # don't forget to
    **_each("use uses using", Sign(act="use")),
    **_each("prefer prefers", Sign(act="use", tone="low", strict=True)),
    **_each("avoid avoids", Sign(False, "use", "low", strict=True)),
    **_each("enable enables enabled", Sign(act="enable")),
    **_each("disable disables disabled", Sign(False, "enable")),
    **_each("add adds", Sign(act="add", tone="low")),
    **_each("remove removes", Sign(False, "add", "low")),
    **_each("allow allows allowed permit permits permitted", Sign(act="allow")),
    **_each("disallow disallows disallowed forbid forbids forbidden prohibited banned", Sign(False, "allow")),
    **_each("include includes included", Sign(act="include", tone="low")),
    **_each("exclude excludes excluded", Sign(False, "include", "low")),
}
# These say when or where, and the other one would say something else.
TURNING = _set("before after during until inside outside under without")
PREPOSITIONS = _set(
    "for in on at with during when while from to by under inside outside before after per into within across until"
)
HELPERS = _set("we you please do does can will shall be been here any all now currently")
PRONOUNS = _set("it he she they this that these those there")
