"""The languages besides English in which a time is recognised: what each is known by, and what makes a date of a word.

Only data; `foreign_dates.py` reads with it, and `dateparser` knows the months, units and sums. It does not know which words
are something else: to it German "die" and "mit" are Tuesday and Wednesday, "ein Monat" is a month ago, and every number is a
year. So the words that must stand beside a date are ours. Left out on purpose, because nothing beside them tells which is
meant: morgen and mañana (tomorrow, morning), среда (Wednesday, environment), segunda to sexta (weekdays, ordinals).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from memorist.text.calendar import numbered


@dataclass(frozen=True)
class Tongue:
    """One language that puts blanks between its words."""

    code: str
    telling: frozenset[str]  # words that few other languages have
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
    """One language that is recognised by its letters, and whose dates have a shape of their own."""

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
SCRIPTS = (  # kana before Han: only Japanese has both
    Script(
        "ja",
        re.compile("[ぁ-ヿ]"),
        re.compile(
            rf"{_DATED}|{_COUNT}(?:日|週間|[かヶ]月|年)前|一昨日|昨日|今日|明日|先週|先月|去年|昨年|今週|今月|今年"
        ),
    ),
    Script(
        "ko",
        re.compile("[가-힣]"),
        re.compile(
            r"(?<!\d)\d{4}년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?|(?<!\d)\d{1,3}(?:일|주|개월|년) 전|어제|오늘|내일|지난주|지난달|작년"
        ),
    ),
    Script(
        "zh",
        re.compile("[一-鿿]"),
        re.compile(
            rf"{_DATED}|{_COUNT}(?:天|周|週|个月|個月|年)前|前天|昨天|今天|明天|上周|上週|上个月|上個月|去年|今年|本周"
        ),
    ),
)
# How dateparser wants them written: one form for what has several, and figures in "三天前".
ONE_FORM = {"zh": str.maketrans("号號週個", "日日周个"), "ja": str.maketrans("", ""), "ko": str.maketrans("", "")}
COUNTED = str.maketrans(
    {char: str(n) for char, n in zip("一二两兩三四五六七八九十", (1, 2, 2, 2, *range(3, 11)), strict=True)}
)

ENGLISH = frozenset(  # and in none of the languages above
    """the what when where which who whom why how did does are were you she they it our your my his her this that these those
    and not with about from of to on have has had say said tell told any there can could would should use uses used if be been
    by but then""".split()
)
MAY = frozenset("mai mei maj май мая".split())  # the only full names of months that are as short as an abbreviation
UNSURE = frozenset("segunda terça quarta quinta sexta среда среду середа середу".split())
