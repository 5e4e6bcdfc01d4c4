"""Times in languages other than English, with `dateparser` (the extra `dates`), for queries in which ours found none.

Its own search takes seconds the first time and takes "die", "mit" and "8080" for dates. So it is used as little as possible:
the language is recognised by our own words, only phrases with evidence in them are passed to it, each must be understood
completely, and its answer is measured from one fixed moment and counted again from the real one. That also keeps its caches
from growing with every query.

dateparser knows the months, units and sums. It does not know which words have another meaning: to it, German "die" and "mit"
are Tuesday and Wednesday, "ein Monat" is a month ago, and every number is a year. So the words that must stand beside a date
are ours. Left out on purpose, because no context tells which is meant: morgen and mañana (tomorrow, morning), среда
(Wednesday, environment), segunda to sexta (weekdays, ordinals).
"""

from __future__ import annotations

import functools
import re
import time
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from memorist.text import calendar
from memorist.text.calendar import DAY, MONTHS, WEEKDAYS, Stretch, numbered
from memorist.text.dates import EARLIEST, LATEST, Span

LOOKED_AT = 1000  # characters that are examined: more than any query in which a date matters
WORDS = 6  # of one phrase: "il y a trois jours" has five
LONGEST_WORD = 24
MOST = 150  # phrases that are passed to dateparser
SECONDS = 0.25  # for all of them, after loading
# The end of a leap year; the odd time shows what was counted and what was named.
BASE = datetime(2004, 12, 30, 12, 34, 56)
_PIECE = re.compile(r"[^\s,;!?¿¡()\[\]{}<>\"“”„«»*|…–—]+|[,;!?¿¡()\[\]{}<>\"“”„«»*|…–—]")
_WORD = re.compile(r"([A-Za-z]{1,2}['’])?([^\W\d_]+(?:[-'’][^\W\d_]+)*)([.:]*)")
_NUMBER = re.compile(r"(\d{1,4})(?:\.|er|º|ª|°)?")


def look(text: str, now: datetime) -> tuple[list[Span], bool]:
    """The times in the text, in order, and whether all of it was examined."""
    looking = _Looking(text[:LOOKED_AT], now)
    found: list[Span] = []
    try:
        for span in looking.spans():
            found.append(span)
    except _TooLong:
        return found, False
    return found, len(text) <= LOOKED_AT or not looking.asked


class _Token(NamedTuple):
    word: str  # in lower case; "" where a phrase ends
    begin: int
    finish: int

    @property
    def figure(self) -> bool:
        return self.word.isdecimal()


class _Read(NamedTuple):
    """What dateparser made of a phrase."""

    moment: datetime
    unit: str  # day, week, month or year
    counted: bool  # relative to now, like "three days ago", and not named


class _TooLong(Exception):
    pass


@functools.cache
def _parser(code: str) -> Any:
    """Loaded for the first phrase of a language. The settings are always the same, since it keeps tables for each combination."""
    from dateparser.date import DateDataParser

    settings = {
        "RELATIVE_BASE": BASE,
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "TIMEZONE": "UTC",
        "PARSERS": ["relative-time", "absolute-time"],
    }
    parser = DateDataParser(languages=[code], settings=settings)
    parser.get_date_data("1 2004")  # builds its tables, so that the time limit applies to reading only
    return parser


class _Looking:
    """One text, seen from one moment."""

    def __init__(self, text: str, now: datetime) -> None:
        self.text, self.now = text, now
        self.asked, self.until = 0, 0.0

    def spans(self) -> Iterator[Span]:
        for script in SCRIPTS:
            if script.letters.search(self.text):
                yield from self.in_script(script)
                return
        tokens = list(_tokens(self.text))
        for tongue in _tongues(self.text, {token.word for token in tokens}):
            found = False
            for span in _Phrases(self, tongue, tokens).spans():
                found = True
                yield span
            if found:
                return

    def in_script(self, script: Script) -> Iterator[Span]:
        for match in script.dates.finditer(self.text):
            phrase = unicodedata.normalize("NFKC", match[0]).translate(ONE_FORM[script.code])
            if phrase.endswith("前"):
                phrase = phrase.translate(COUNTED)
            yearless = "月" in phrase and "年" not in phrase and not phrase.endswith("前") and phrase[0].isdecimal()
            read = self.read(script.code, f"{BASE.year}年{phrase}" if yearless else phrase)
            if read:
                yield from self.span(self.placed(read, phrase, not yearless), *match.span())

    def read(self, code: str, phrase: str) -> _Read | None:
        parser = _parser(code)
        self.until = self.until or time.perf_counter() + SECONDS
        self.asked += 1
        if self.asked > MOST or time.perf_counter() > self.until:
            raise _TooLong
        found = parser.get_date_data(phrase)
        moment = found.date_obj
        if moment is None or found.period not in ("day", "week", "month", "year"):
            return None
        return _Read(moment, found.period, moment.time() == BASE.time())

    def placed(self, read: _Read, phrase: str, with_year: bool) -> Stretch | None:
        """The intended stretch, unless the calendar has none."""
        try:
            return self.counted(read, phrase) if read.counted else self.dated(read, with_year)
        except (ValueError, OverflowError):
            return None

    def counted(self, read: _Read, phrase: str) -> Stretch:
        """As far from now as it was from BASE; "last week" is a week from Monday on, "two weeks ago" is about that long."""
        if read.unit in ("month", "year"):
            size = calendar.MONTHS_OF[read.unit]
            apart = (12 * (read.moment.year - BASE.year) + read.moment.month - BASE.month) // size
        else:
            apart = (read.moment - BASE).days // (7 if read.unit == "week" else 1)
        then = calendar.step(self.now, read.unit, apart)
        if read.unit == "week" and not any(char.isdecimal() for char in phrase):
            return calendar.monday(then), calendar.monday(then) + 7 * DAY
        return calendar.cell(then, read.unit)

    def dated(self, read: _Read, with_year: bool) -> Stretch | None:
        """A named year, month or day; without a year, the latest that has begun."""
        if read.unit == "year":
            return calendar.months(read.moment.year, 1, 12)
        for year in (read.moment.year,) if with_year else range(self.now.year, self.now.year - 9, -1):
            first, end = calendar.months(year, read.moment.month)
            start = first + (read.moment.day - 1) * DAY
            if start < end and (with_year or start <= self.now):
                return (first, end) if read.unit == "month" else (start, start + DAY)
        return None

    def span(self, stretch: Stretch | None, begin: int, finish: int) -> Iterator[Span]:
        if stretch and EARLIEST <= stretch[0] < stretch[1] <= LATEST:
            yield Span(*stretch, self.text[begin:finish], begin, finish)


class _Phrases:
    """The phrases of a text in one language with blanks between words; the longest one that is a date counts."""

    def __init__(self, looking: _Looking, tongue: Tongue, tokens: list[_Token]) -> None:
        edge = _Token("", 0, 0)
        self.looking, self.tongue, self.tokens = looking, tongue, [edge, *tokens, edge]

    def spans(self) -> Iterator[Span]:
        at = 1
        while at < len(self.tokens) - 1:
            size, found = self.longest(at)
            yield from found
            at += size

    def longest(self, at: int) -> tuple[int, list[Span]]:
        for size in range(min(WORDS, len(self.tokens) - 1 - at), 0, -1):
            phrase = self.tokens[at : at + size]
            if all(token.word for token in phrase):
                found = list(self.named(at) if size == 1 and not phrase[0].figure else self.dated(phrase))
                if found:
                    return size, found
        return 1, []

    def read(self, phrase: list[_Token]) -> _Read | None:
        """The phrase in the form for dateparser: with its blanks, and numbers as figures."""
        said, place = "", phrase[0].begin
        for token in phrase:
            said += self.looking.text[place : token.begin] + self.tongue.spelled.get(token.word, token.word)
            place = token.finish
        return self.looking.read(self.tongue.code, said)

    def dated(self, phrase: list[_Token]) -> Iterator[Span]:
        """With a number (5 May, May 2022, 3 days ago), or with last, this, next."""
        words = [self.tongue.spelled.get(token.word, token.word) for token in phrase]
        counted, month = self.counts(phrase, words), _ends_as_a_month(phrase)
        read = self.read(phrase) if counted or month else None
        if read and (counted if read.counted else month and self.is_a_month(phrase)):
            told = any(token.figure and 1900 <= int(token.word) <= 2100 for token in phrase)
            stretch = self.looking.placed(read, " ".join(words), told)
            yield from self.looking.span(stretch, phrase[0].begin, phrase[-1].finish)

    def counts(self, phrase: list[_Token], words: list[str]) -> bool:
        """Whether it is relative to now: a number with a word for ago, or last, this, next."""
        number = any(word.isdecimal() for word in words)
        distant = any(token.word in self.tongue.ago for token in phrase)
        if number and distant:
            return True
        return number >= distant and any(token.word in self.tongue.which for token in phrase)

    def is_a_month(self, phrase: list[_Token]) -> bool:
        """Whether the words without the numbers are a month: in "Friday 5" the 5 counts something else."""
        alone = self.read([token for token in phrase if not token.figure])
        return alone is not None and alone.unit == "month" and not alone.counted

    def named(self, at: int) -> Iterator[Span]:
        """A single word: yesterday; or a word that its context makes a month or a weekday."""
        before, token, after = self.tokens[at - 1 : at + 2]
        which = self.tongue.which.get(before.word) or self.tongue.which.get(after.word)
        sure, led = token.word in self.tongue.days, before.word in self.tongue.leads
        if not sure and not ((which or led) and _has_a_name([token])):
            return
        read = self.read([token])
        if not read or read.counted != sure:
            return
        begin, finish = token.begin, token.finish
        if sure:
            stretch = self.looking.placed(read, token.word, False)
        else:
            names = MONTHS if read.unit == "month" else WEEKDAYS
            number = read.moment.month if read.unit == "month" else read.moment.isoweekday()
            name = next(name for name, n in names.items() if n == number)
            stretch = calendar.pick(which or "", name, self.looking.now)
            begin = before.begin if led or before.word in self.tongue.which else begin
            finish = after.finish if after.word in self.tongue.which else finish
        yield from self.looking.span(stretch, begin, finish)


def _ends_as_a_month(phrase: list[_Token]) -> bool:
    """Whether it may be a month with a number: it does not end with the "y" or "de" of what follows."""
    ended = phrase[-1].figure or len(phrase[-1].word) > 2
    return ended and any(token.figure for token in phrase) and _has_a_name(phrase)


def _has_a_name(phrase: list[_Token]) -> bool:
    """Whether a word is long enough for a month or a weekday: anything shorter is an abbreviation, and seldom one of these."""
    names = [token.word for token in phrase if not token.figure and token.word not in UNSURE]
    return any(len(name) >= 4 or name in MAY for name in names)


def _tokens(text: str) -> Iterator[_Token]:
    """Words and plain numbers; whatever is glued together (3.11, a@b.c, may_5) is a break, and so is punctuation."""
    for piece in _PIECE.finditer(text):
        begin = piece.start()
        if number := _NUMBER.fullmatch(piece[0]):
            yield _Token(unicodedata.normalize("NFKC", number[1]), begin, begin + len(number[1]))
        elif (word := _WORD.fullmatch(piece[0])) and len(word[2]) <= LONGEST_WORD:
            if word[1]:  # l'année
                yield _Token(word[1].lower(), begin, begin + len(word[1]))
            yield _Token(word[2].lower(), begin + word.start(2), begin + word.end(2))
            if word[3]:
                yield _Token("", begin, begin)
        else:
            yield _Token("", begin, begin)


def _tongues(text: str, words: set[str]) -> list[Tongue]:
    """The languages that the text may be in, at most two; none if it is as likely English."""
    if CYRILLIC.search(text):
        return [UKRAINIAN if ONLY_UKRAINIAN.search(text) else RUSSIAN]
    counts = {tongue.code: len(words & tongue.known_by) for tongue in TONGUES}
    most = max(counts.values())
    likely = [tongue for tongue in TONGUES if counts[tongue.code] == most][:2]
    return likely if most > len(words & ENGLISH) else []


# ---------------------------------------------------------------- the languages besides English, and what makes a date of a word


@dataclass(frozen=True)
class Tongue:
    """One language with blanks between words."""

    code: str
    telling: frozenset[str]  # words that occur in few other languages
    days: frozenset[str]  # each is a date by itself: yesterday
    ago: frozenset[str]  # beside a number and a unit
    which: Mapping[str, str]  # last, this, next
    leads: frozenset[str]  # before a month or a weekday
    spelled: Mapping[str, str] = field(default_factory=dict)  # words as dateparser knows them; numbers as figures

    @property
    def known_by(self) -> frozenset[str]:
        return self.telling | self.days | self.ago | self.which.keys()


@dataclass(frozen=True)
class Script:
    """A language that is recognised by its letters, and whose dates have a form of their own."""

    code: str
    letters: re.Pattern[str]
    dates: re.Pattern[str]


def _tongue(
    code: str, telling: str, days: str, ago: str, which: str, leads: str, numbers: str, other: str = ""
) -> Tongue:
    """`which` has the words for last, this and next, `numbers` those from one on, with bars between them; `other` has pairs."""
    asked = {word: ("last", "this", "next")[n - 1] for word, n in numbered(which).items()}
    spelled = {word: str(n) for word, n in numbered(numbers).items()}
    pairs = other.split()
    spelled |= zip(pairs[::2], pairs[1::2], strict=True)
    said, alone, after, before = (frozenset(part.split()) for part in (telling, days, ago, leads))
    return Tongue(code, said, alone, after, asked, before, spelled)


TONGUES = (
    _tongue(
        "de",
        """der das den dem ein eine einen wir ich ist war waren haben habe hat wer wo wann warum welche welcher welches und
        nicht mit für über uns unser im am zum beim seit januar februar märz juni juli oktober dezember""",
        "gestern vorgestern heute übermorgen",
        "vor",
        """letzte letzten letzter letztes letztem vergangene vergangenen vergangenes vorige vorigen voriges
        |diese diesen dieses dieser diesem|nächste nächsten nächster nächstes kommende kommenden""",
        "im am seit vom",
        "einem einer|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn",
        """vorige letzte vorigen letzten voriges letztes vergangene letzte vergangenen letzten vergangenes letztes
        kommende nächste kommenden nächsten""",
    ),
    _tongue(
        "fr",
        """le les des une il nous je avons avez avons-nous qu' jours semaine mois
        est était qui quoi où quand pourquoi quel quelle dans pour avec sur et pas en
        janvier février mars avril juin juillet août septembre octobre novembre décembre passé que""",
        "hier avant-hier aujourd'hui aujourd’hui demain après-demain",
        "y",
        "dernier dernière|ce cet cette|prochain prochaine",
        "en depuis durant dès",
        "un une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix",
    ),
    _tongue(
        "es",
        """el los las una qué quién dónde cuándo cómo por para con del fue era es está hemos y pero en
        enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre""",
        "ayer anteayer hoy",
        "hace",
        "pasado pasada|este esta|próximo próxima",
        "en el desde durante",
        "un una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez",
    ),
    _tongue(
        "it",
        """il lo gli della del che chi cosa dove quando perché abbiamo ho ha è era per con sul nel una di
        gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre""",
        "ieri oggi domani",
        "fa",
        "scorso scorsa|questo questa|prossimo prossima",
        "a in nel da",
        "un una|due|tre|quattro|cinque|sei|sette|otto|nove|dieci",
    ),
    _tongue(
        "pt",
        """os uma que quem onde quando como por para com não foi era é nós eu do da em no na ao
        janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro""",
        "ontem anteontem hoje amanhã",
        "há atrás",
        "passado passada|este esta neste nesta|próximo próxima",
        "em no desde",
        "um uma|dois duas|três|quatro|cinco|seis|sete|oito|nove|dez",
    ),
    _tongue(
        "nl",
        """het een wij we ik is zijn hebben heeft wat wie waar wanneer waarom welke en niet met voor van op sinds
        januari februari maart mei juni juli augustus oktober""",
        "gisteren eergisteren vandaag overmorgen",
        "geleden",
        "vorige vorig|deze dit|volgende volgend",
        "in op sinds",
        "een één|twee|drie|vier|vijf|zes|zeven|acht|negen|tien",
    ),
    _tongue(
        "sv",
        """det den ett vi jag är var har vad vem när varför vilken och inte med för av på i hände
        januari februari mars maj juni juli augusti oktober""",
        "igår förrgår idag imorgon",
        "sedan",
        "förra|denna|nästa",
        "i",
        "en ett|två|tre|fyra|fem|sex|sju|åtta|nio|tio",
    ),
    _tongue(
        "pl",
        """co kto gdzie kiedy dlaczego jak który która nie się jest był była było z na do w i dla
        stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia""",
        "wczoraj przedwczoraj dzisiaj dziś jutro pojutrze",
        "temu",
        "zeszłym zeszłego ubiegłym ubiegłego|tym tego|przyszłym przyszłego",
        "w we",
        "jeden|dwa dwie|trzy|cztery|pięć|sześć|siedem|osiem|dziewięć|dziesięć",
        "ubiegłym zeszłym ubiegłego zeszłego",
    ),
)
RUSSIAN = _tongue(
    "ru",
    "",
    "вчера позавчера сегодня завтра послезавтра",
    "назад",
    "прошлой прошлом прошлую прошлый прошлого|этой этом эту этого|следующей следующем следующую",
    "в во",
    "один одну|два две|три|четыре|пять|шесть|семь|восемь|девять|десять",
    """январе январь феврале февраль марте март апреле апрель мае май июне июнь июле июль августе август сентябре сентябрь
    октябре октябрь ноябре ноябрь декабре декабрь""",
)
UKRAINIAN = _tongue(
    "uk",
    "",
    "вчора позавчора сьогодні завтра післязавтра",
    "тому",
    "минулого минулої минулому минулий|цього цьому цієї|наступного наступному",
    "в у",
    "один одну|два дві|три|чотири|п'ять|шість|сім|вісім|дев'ять|десять",
    """січні січень лютому лютий березні березень квітні квітень травні травень червні червень липні липень серпні серпень
    вересні вересень жовтні жовтень листопаді листопад грудні грудень""",
)
CYRILLIC = re.compile("[а-яё]", re.I)
ONLY_UKRAINIAN = re.compile("[іїєґ]", re.I)

_COUNT = r"(?<![\d一二两兩三四五六七八九十百千])(?:\d{1,3}|[一二两兩三四五六七八九十])"
_DATED = r"(?<!\d)(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号號])?(?![日号號\d間间份])|(?<!\d)\d{4}年(?![\d前間间])"
_JAPANESE = f"{_DATED}|{_COUNT}(?:日|週間|[かヶ]月|年)前"
_CHINESE = f"{_DATED}|{_COUNT}(?:天|周|週|个月|個月|年)前"
_KOREAN = r"(?<!\d)\d{4}년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?|(?<!\d)\d{1,3}(?:일|주|개월|년) 전"
_SCRIPTS = (  # kana before Han: only Japanese has both
    ("ja", "[ぁ-ヿ]", _JAPANESE, "一昨日 昨日 今日 明日 先週 先月 去年 昨年 今週 今月 今年"),
    ("ko", "[가-힣]", _KOREAN, "어제 오늘 내일 지난주 지난달 작년"),
    ("zh", "[一-鿿]", _CHINESE, "前天 昨天 今天 明天 上周 上週 上个月 上個月 去年 今年 本周"),
)
SCRIPTS = tuple(
    Script(code, re.compile(letters), re.compile("|".join((shape, *days.split()))))
    for code, letters, shape, days in _SCRIPTS
)
# How dateparser wants them written: one form for what has several, and figures in "三天前".
ONE_FORM = {"zh": str.maketrans("号號週個", "日日周个"), "ja": {}, "ko": {}}
COUNTED = str.maketrans(dict(zip("一二两兩三四五六七八九十", "1 2 2 2 3 4 5 6 7 8 9 10".split(), strict=True)))

ENGLISH = frozenset(  # and in none of the languages above
    """the what when where which who whom why how did does are were you she they it our your my his her this that these those
    and not with about from of to on have has had say said tell told any there can could would should use uses used if be been
    by but then""".split()
)
MAY = frozenset("mai mei maj май мая".split())  # the only full names of months that are as short as an abbreviation
UNSURE = frozenset("segunda terça quarta quinta sexta среда среду середа середу".split())
