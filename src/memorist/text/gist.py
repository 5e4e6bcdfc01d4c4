"""What a short text is about, and whether it announces a change; read once, in English, German, French and Spanish.

    Since the burglary it's 9016#    →  announces a change, refers back; a code
    Alley code 2580#                 →  about an alley and a code; a code

`models/pairs.py` uses it to judge whether one note takes the place of another. Words are compared by their first letters,
which handles inflection in all four languages; text in other languages is judged by numbers, names and meaning. Everything is
a single pass over the words, because each memory is read here on its way into the store, and each of the best hits of a query.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from memorist.lazy import dataclass
from memorist.text.dates import MONTHS, WEEKDAYS, numbered
from memorist.text.patterns import regex

LONGEST_READ = 1200  # characters that are read; nobody corrects a note with an essay
ROOT = 6  # letters by which words are compared
MOST_DIFFERENT = 3  # words replaced by others
LONGEST_DENIAL = 12  # words
LATE = 5  # words; a cue before that counts as opening the text
OPENING = ("turn", "new", "change", "reason")
GROUPS = ("turn", "new", "change", "event", "reason", "stays", "whole", "beside", "past")
TELLING_OF_CHANGE = ("turn", "new", "change", "event", "reason")


class Gist(NamedTuple):
    words: frozenset[str]  # that carry meaning, each by its first letters
    names: frozenset[str]  # those of them written as names
    opens: str  # the first of the words
    values: Mapping[str, frozenset[str]]  # numbers, times, codes and the like, by sort
    digits: frozenset[str]
    denied: frozenset[str]  # words after a "no" or "not"
    cues: Mapping[str, int]  # how many of each group
    early: bool  # a cue opens the text
    back: bool  # it refers to something named before: "it's now", "they meet"
    placed: bool  # it begins with where or for whom it holds: "At the cabin", "Für Kinder"
    length: int  # in words
    raw: tuple[str, ...]  # every word, in lower case
    asks: bool
    rules: bool  # it begins as a rule: "Never", "Use"
    lead: tuple[str, str]  # its first word, and what that one is or does: Lukas, drinks; Anna, 's
    years: frozenset[str]  # in which something was: "in 2019"
    denies: str  # the last word, if it only says that something is no longer so

    @property
    def tells(self) -> bool:
        """Whether it says in some way that something is no longer as it was."""
        return any(self.cues[group] for group in TELLING_OF_CHANGE)


def gist(text: str) -> Gist:
    """
    >>> found = gist("Standup is at 10:00 from now on")
    >>> sorted(found.words), dict(found.values)["clock"], found.cues["turn"]
    (['now', 'standu'], frozenset({'10:00'}), 1)
    """
    return _gist(text[:LONGEST_READ])


def tells(text: str) -> bool:
    """Whether its gist announces a change; most texts are ruled out without a gist."""
    return may_tell(text) and gist(text).tells


def may_tell(text: str) -> bool:
    """Whether it may announce a change. If not, its gist does not either, and would take five times as long to show that."""
    plain = text[:LONGEST_READ].lower().replace("’", "'")
    found = WORD.findall(plain)
    words = _without_genitives(found) if "'s" in plain else found
    return not (CUES_OF_CHANGE.isdisjoint(words) and CUES_OF_CHANGE.isdisjoint(pairwise(words)))


class Glance(NamedTuple):
    """The parts of a gist that cost next to nothing, to see for which texts it is worthwhile."""

    words: frozenset[str]
    back: bool  # it may refer to something that it does not name
    tells: bool  # it may say that something is no longer as it was
    length: int  # in words, as a gist counts them
    opens: str  # the first of these
    cues: frozenset[str]  # the groups of which it may contain some
    valued: bool  # it may contain a number, a time or a code
    owners: int  # genitives, which a gist reads without the ending
    least: int  # the minimal number of words in its gist


@lru_cache(maxsize=1 << 12)
def glance(text: str) -> Glance:
    plain = text[:LONGEST_READ].lower().replace("’", "'")
    found, tokens = WORD.findall(plain), plain.split()
    words, bare = frozenset(found), _without_genitives(found) if "'s" in plain else found
    roots, owners = frozenset([word[:ROOT] for word in words - LITTLE]), len(words.difference(bare))
    values, counts = len(words.union(bare) & VALUED), DIGITS.search(plain) is not None
    values += sum(map(str.isdigit, words)) if counts else 0
    return Glance(
        roots,
        _refers_back(found, words, text),
        not words.isdisjoint(CHANGING),
        len(tokens),
        _stripped(tokens[0]) if tokens else "",
        frozenset([CUED[cue] for cue in chain(bare, pairwise(bare)) if cue in CUED]),
        values > 0 or counts,
        owners,
        len(roots) - values - owners,
    )


def _refers_back(found: list[str], words: frozenset[str], text: str) -> bool:
    """Whether it may refer to something that it does not name."""
    if not OF_BEFORE.isdisjoint(found[:1]) or not (words.isdisjoint(LEADING) or words.isdisjoint(BACK)):
        return True
    return not words.isdisjoint(TURNING) and (not words.isdisjoint(DATED) or any(map(str.isdigit, text)))


def _without_genitives(words: list[str]) -> list[str]:
    return [word[:-2] if word.endswith("'s") and word not in BACK else word for word in words]


def _stripped(token: str) -> str:
    return token.strip(".,;!?()\"'")


@dataclass(slots=True)
class _Walk:
    """What was found so far."""

    words: dict[str, None]
    names: set[str]
    values: dict[str, set[str]]
    denied: set[str]
    cues: dict[str, int]
    early: bool = False
    back: bool = False
    denying: int = 0  # words that a "no" still affects

    def meet(self, raw: str, low: str, before: str, starts: bool, place: int) -> None:
        named = not starts and raw[0].isupper()  # New York is not new
        self.denying -= 1
        known = low in SIGNS and self._sign(raw, low, before, "" if named else low, place)
        if low in BACK:
            self.back |= starts or before in LEADING
        if not known and low not in LITTLE and not low.isdigit():
            self.word(low[:ROOT], named or raw[1:] != raw[1:].lower())

    def _sign(self, raw: str, low: str, before: str, alone: str, place: int) -> bool:
        """Records what the word signals; returns whether it is a value."""
        self._cue(CUES.get(f"{before} {low}") or CUES.get(alone, ""), place)
        if low in DENYING:
            self.denying = 3
        sort, value = _calendar(raw, low)
        if sort:
            self.values.setdefault(sort, set()).add(value)
        return bool(sort)

    def _cue(self, group: str, place: int) -> None:
        if group:
            self.cues[group] += 1
            self.early = self.early or (place < LATE and group in OPENING)

    def word(self, root: str, named: bool) -> None:
        self.words[root] = None
        if named:
            self.names.add(root)
        if self.denying > 0:
            self.denied.add(root)


@lru_cache(maxsize=1 << 12)
def _gist(text: str) -> Gist:
    plain = text.replace("’", "'")
    walk, raws = _Walk({}, set(), _values(plain), set(), dict.fromkeys(GROUPS, 0)), list[str]()
    before, owned = "", "'s" in plain
    for place, found in enumerate(WORD.finditer(plain)):
        raw = found[0]
        if owned and raw.endswith("'s") and raw.lower() not in BACK:
            raw = raw[:-2]
        low = raw.lower()
        if low in MORE_THAN_WORDS or raw != low or walk.denying > 0:
            starts = not place or plain[found.start() - 2 : found.start() - 1] in STOPS
            walk.meet(raw, low, before, starts, place)
        elif low not in LITTLE and not low.isdigit():  # most words are nothing special
            walk.words[low[:ROOT]] = None
        raws.append(low)
        before = low
    words, tokens = tuple(walk.words), plain.split()
    return Gist(
        frozenset(words),
        frozenset(walk.names),
        words[0] if words else "",
        {sort: frozenset(found) for sort, found in walk.values.items()},
        frozenset(DIGITS.findall(plain)),
        frozenset(walk.denied),
        walk.cues,
        walk.early,
        walk.back,
        bool(raws) and raws[0] in PLACING,
        len(tokens),
        tuple([_stripped(token).lower() for token in tokens]),
        bool(ASKS.search(plain)),
        bool(raws) and raws[0] in RULING,
        _lead(plain, words),
        frozenset(YEARS.findall(plain)),
        "".join(words[-1:]) if walk.cues["turn"] and len(raws) <= LONGEST_DENIAL and DENIES.fullmatch(plain) else "",
    )


def _lead(plain: str, words: tuple[str, ...]) -> tuple[str, str]:
    """Its subject, if it begins with one."""
    found = LEAD.match(plain)
    if found is None:
        return "", ""
    subject, does = found["subject"].lower(), (found["owns"] or found["does"]).lower()
    stated = subject[:ROOT] in words and subject not in CUES
    return (subject[:ROOT], "is" if does in BEING else does[:ROOT_OF_VERB]) if stated else ("", "")


def _values(plain: str) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {}
    for found in VALUE.finditer(plain) if any(map(str.isdigit, plain)) else ():
        values.setdefault(found.lastgroup or "", set()).add(BLANK.sub("", found[0].lower()).rstrip(".,"))
    return values


def _calendar(raw: str, low: str) -> tuple[str, str]:
    """A weekday, a month, a rhythm or a number in words: its sort and its value; or nothing."""
    if low in DAYS:
        return "weekday", str(DAYS[low])
    if low in NAMES_OF_MONTHS and (raw[0].isupper() or low not in ("may", "march", "mars", "mar")):
        return "month", str(NAMES_OF_MONTHS[low])
    if low in RHYTHMS:
        return "rhythm", low
    return ("number", str(NUMBERS[low])) if low in NUMBERS else ("", "")


# ---------------------------------------------------------------- comparing


class Difference(NamedTuple):
    """How two texts differ, word by word."""

    in_place: bool  # only in one stretch of up to three words, after a common beginning
    at_start: bool  # the same, but at the start: another subject
    numbered: bool  # only in a number that serves as a name: option 12, option 13


def compared(a: tuple[str, ...], b: tuple[str, ...]) -> Difference:
    """
    >>> compared(("standup", "is", "at", "9:30"), ("standup", "is", "at", "10:00"))
    Difference(in_place=True, at_start=False, numbered=False)
    >>> compared(("note", "12"), ("note", "13")).numbered
    True
    """
    head = _alike(a, b)
    tail = min(_alike(a[::-1], b[::-1]), min(len(a), len(b)) - head)
    left, right = a[head : len(a) - tail], b[head : len(b) - tail]
    if _of_one_log(left, right):
        return Difference(False, False, True)
    few = max(len(left), len(right)) <= min(MOST_DIFFERENT, head + tail) and left and right
    if not few:
        return Difference(False, False, False)
    led = head and (a[head - 1] in LITTLE or a[head - 1].endswith((":", "=")))  # a number after that is a value
    named = len(left) == len(right) == 1 and (left[0].rstrip(":") + right[0].rstrip(":")).isdigit() and not led
    return Difference(head > 0 and not named, head == 0, named)


def other_thing(was: Gist, now: Gist) -> bool:
    """Whether the newer one is about another person or thing, and so says nothing about the older one, however similar they
    read.

    >>> other_thing(gist("Tom drinks coffee"), gist("Paul no longer drinks coffee, only tea"))
    True
    >>> other_thing(gist("Tom likes apples"), gist("Tom no longer likes pears"))
    True
    >>> other_thing(gist("Hive 3: two supers on"), gist("Hive 1 got another super"))
    True
    >>> other_thing(gist("Standup is at 9:30"), gist("The standup is at 10:00 now"))
    False
    """
    else_denied = now.denies and now.denies not in was.words
    other_years = was.years and now.years and was.years.isdisjoint(now.years) and not now.cues["turn"]
    return _other_subject(was, now) or _other_number(was.raw, now.raw) or bool(else_denied or other_years)


def _other_subject(was: Gist, now: Gist) -> bool:
    """Whether each says what a different subject is or does."""
    (one, does), (other, does_too) = was.lead, now.lead
    return bool(one and other) and does == does_too and one not in now.words and other not in was.words


def _other_number(was: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Whether both open with the same word and different numbers after it: Hive 3, and Hive 1."""
    both = (*was[1:2], *now[1:2])
    return was[:1] == now[:1] and was[1:2] != now[1:2] and len(both) == 2 and all(map(DIGITS.search, both))


def _of_one_log(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether they differ in several numbers and in nothing else."""
    if len(a) != len(b):
        return False
    differ = [both for both in zip(a, b, strict=True) if both[0] != both[1]]
    return len(differ) > 1 and all(DIGITS.search(one) and DIGITS.search(two) for one, two in differ)


def _alike(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many words are the same before the first difference."""
    same = 0
    for one, two in zip(a, b, strict=False):
        if one != two:
            break
        same += 1
    return same


# ---------------------------------------------------------------- words


def _each(**groups: str) -> Iterator[tuple[str, str]]:
    """Each word, or two words joined by _, with its group."""
    for group, words in groups.items():
        yield from ((word.replace("_", " "), group) for word in words.split())


WORD = regex(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+")
DIGITS = regex(r"\d+")
ASKS = regex(r"\?(?:\s|$)")
BLANK = regex(r"[^\w.:#/-]+")
STOPS = frozenset(".!?:;")
VALUE = regex(
    r"(?P<date>\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
    r"|(?P<clock>\d{1,2}[:h]\d\d\b|\d{1,2} ?(?:am|pm|uhr|h)\b)"
    r"|(?P<money>[$€£] ?\d[\d.,]*k?|\d[\d.,]* ?(?:€|(?:euros?|quid|pounds?|dollars?)\b))"
    r"|(?P<share>\d[\d.,]* ?%)"
    r"|(?P<version>v?\d+(?:\.\d+){1,3}\w*)"
    r"|(?P<code>(?<![a-z])[a-z]+[-_]?\d\w*|\d[\d-]*[a-z#]\w*)"
    r"|(?P<number>\d[\d.,]*)",
    re.I,
)
LITTLE = frozenset(
    """a an the and or of to in on at for by with from as is are was were be been it its it's this that these those i you he
    she we they my your his her our their me us them not no do does did has have had will would can could should may there
    here so if but than then up out off over into about all any some only just also too very more most when who what which
    where how s t m d ll re ve i'm we're we've they're he's she's that's there's don't doesn't isn't can't
    der die das den dem des ein eine einen einem einer und oder von zu im am an auf aus bei mit für vor nach ist sind war
    waren wird werden hat haben ich du er sie es wir ihr mein dein sein unser unsere nicht kein keine nur auch noch mehr als
    wie wenn da um bis über unter zum zur vom beim
    le la les un une du et ou à au aux en dans par pour sur avec est sont il elle on nous vous ils c'est se sa son ses que
    qui ne pas plus l d j n qu
    el los las una uno y o del al es se su sus no con por para lo""".split()
)
CUES: Mapping[str, str] = dict(
    _each(
        turn="""no_longer anymore any_more any_longer now_on here_on as_of instead no_more these_days for_good
        after_all further_notice make_that make_it nicht_mehr kein_mehr nimmer ab_jetzt ab_sofort ab_heute ab_dem nun_an statt
        stattdessen künftig zukünftig nur_noch auf_weiteres désormais dorénavant au_lieu à_partir ya_no en_lugar en_vez
        a_partir fini scratch_that correction mehr""",
        new="""now nowadays currently today yesterday tonight jetzt nun inzwischen mittlerweile neuerdings gestern heute seit
        since maintenant depuis hier ahora ayer desde new neu neue neuer neues neuen neuem nouveau nouvelle nouveaux nuevo
        nueva nuevos finally this_year this_month this_week this_term from_monday from_tuesday from_wednesday from_thursday
        from_friday from_saturday from_sunday from_january from_february from_march from_april from_may from_june from_july
        from_august from_september from_october from_november from_december from_next from_this from_1 ab_januar ab_februar
        ab_märz ab_april ab_mai ab_juni ab_juli ab_august ab_september ab_oktober ab_november ab_dezember ab_diesem ab_nächster
        ab_montag""",
        change="""moved moves change changed changes switched switching swapped replaced replaces raised lowered reduced
        increased cut upped bumped halved doubled gone extended shortened relaxed postponed delayed renamed upgraded migrated
        ported converted retired retires took_over takes_over take_over handed closed shut sold cancelled canceled scrapped
        dropped stopped ended expired gave_up given_up turned_out is_over down_to up_to over_to went_up went_down went_to
        went_from went_over go_up goes_up goes_down goes_to go_down put_up brought_forward stepped_down rotated reset rebuilt
        relocated merged deprecated removed switched_off we've wechseln wechselt gewechselt umgestellt geändert ändert
        umgezogen verlegt verschoben erhöht gesenkt gekürzt abgeschaltet eingestellt übernimmt übernommen ersetzt weg raus
        zugemacht dichtgemacht ruhestand abgemeldet gestiegen changé déplacé passé quitté réduit devenu remplacé cambió
        cambiado cambiaron movido pasan_a pasa_a jubilado acabó sustituye""",
        event="""left leaves leaving quit dead died sick ill leave sabbatical broke broken burnt flood flooded fire outage
        voted vote decided agreed approved signed complained asked rang letter wrote emailed says wants insists came arrived
        got lost gave given found turned made put set last_week last_night last_month beschlossen gewählt gekündigt krank
        ausfall letzte_woche décidé demandé pidió decidió""",
        reason="""because so due_to thanks_to after_the weil wegen deshalb darum nach_dem nach_der parce_que à_cause suite_à
        porque debido_a""",
        stays="""same still stay stays unchanged as_before as_usual the_rest otherwise wie_gehabt wie_bisher gleiche gleicher
        gleiches gleichen selbe selben weiterhin bleibt bleiben unverändert même mêmes toujours reste mismo misma mismos sigue
        igual""",
        whole="""all everything everybody everyone everywhere anything only nothing alles überall alle nur tout partout todo
        solo anytime whenever""",
        beside="""also too both another other besides auch ebenfalls zusätzlich beide andere anderen aussi autre también otro
        otra second extra as_well except separate separately own while whereas but aber""",
        past="""used_to lived worked old formerly previously no not never was_too were_too kein keine keinen nicht alte alten
        alter ancien vieux viejo""",
    )
)
# Who or what it is about, and what follows: "The library closes", "Ben is no longer", "Anna's".
LEAD = regex(
    r"(?:(?:the|an?|my|our|your|his|her|its|their|this|that|der|die|das|mein|meine|unser|unsere|le|la|les|mon|ma|notre|el|los"
    r"|las|mi|nuestro|nuestra)\s+)*(?P<subject>[^\W\d_]+)(?:(?P<owns>'s)\s|\s+(?:(?:no|longer|now|jetzt|nun|not|never|always|only"
    r"|still|also|usually|doesn't|does|don't|do|did|will|can|nicht|nie|immer|ya)\s+)*(?P<does>[^\W\d_]+))",
    re.I,
)
ROOT_OF_VERB = 4  # letters: drink, drinks; trinkt, trinken
BEING = frozenset("is are was were ist sind war waren est sont es son".split())
# A single clause that says that something is no longer so, without what is so instead.
DENIES = regex(
    r"[^,;:.!?()–—]*\b(?:no longer|nicht mehr|keine?[nmr]? [^,;:.!?()–—]*\bmehr|ya no)\b[^,;:.!?()–—]*[.!]?", re.I
)
YEARS = regex(r"\b(?:in|im|en) ((?:19|20)\d\d)\b", re.I)
BACK = frozenset(
    "it it's they they're he he's she she's that's this we're we've we c'est das der die er sie es you".split()
)
SELF = frozenset("i ich je yo".split())
LEADING = frozenset("so and that because also und dass weil et que y".split())
DENYING = frozenset("no not never kein keine keinen nicht isn't aren't doesn't don't won't can't wasn't ne non".split())
RULING = frozenset(
    "don't do never always avoid use prefer enable disable allow disallow must please kein keine nie niemals immer".split()
)
PLACING = frozenset(
    "at in on for during when if under to für im bei beim am wenn auf pour chez à dans en para por".split()
)
DAYS = WEEKDAYS | numbered(
    "mondays montag montags lundi lunes|tuesdays dienstag dienstags mardi martes|wednesdays mittwoch mittwochs mercredi"
    " miércoles|thursdays donnerstag donnerstags jeudi jueves|fridays freitag freitags vendredi viernes|saturdays samstag"
    " samstags samedi sábado|sundays sonntag sonntags dimanche domingo"
)
NAMES_OF_MONTHS = MONTHS | numbered(
    "januar janvier enero|februar février febrero|märz mars marzo|avril abril|mai mayo|juni juin junio|juli juillet julio|août"
    " agosto|septembre septiembre|oktober octobre octubre|novembre noviembre|dezember décembre diciembre"
)
NUMBERS = numbered(
    "one eins einmal once|two zwei deux dos twice zweimal|three drei trois tres|four vier quatre cuatro|five fünf cinq cinco"
    "|six sechs seis|seven sieben siete|eight acht huit ocho|nine neun nueve|ten zehn dix diez|eleven elf|twelve zwölf douze"
    " doce"
) | {"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100}
RHYTHMS = numbered(
    "daily täglich|weekly wöchentlich|fortnightly|monthly monatlich|quarterly vierteljährlich|yearly annually jährlich"
)
TURNING = frozenset([cue.split()[-1] for cue, group in CUES.items() if group in ("turn", "new")])
CHANGING = frozenset([cue.split()[-1] for cue, group in CUES.items() if group in TELLING_OF_CHANGE])
DATED = DAYS.keys() | NAMES_OF_MONTHS.keys() | RHYTHMS.keys()
VALUED = DATED | NUMBERS.keys()
OF_BEFORE = BACK | SELF
CUED: Mapping[object, str] = {tuple(cue.split()) if " " in cue else cue: group for cue, group in CUES.items()}
CUES_OF_CHANGE = frozenset([cue for cue, group in CUED.items() if group in TELLING_OF_CHANGE])
# Words that may have a function; all others, which is most of a text, are skipped quickly.
SIGNS = frozenset([cue.split()[-1] for cue in CUES]) | DENYING | DATED | NUMBERS.keys()
MORE_THAN_WORDS = SIGNS | BACK
