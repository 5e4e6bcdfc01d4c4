"""Turn text into search tokens, and long text into chunks.

FTS5's own tokenizers lose what developers search for: one-letter names (C, R), joined names (gen-itgc,
getUserById), signs (C++ against C#) and every language written without spaces. So the words are cut
here, and FTS5 is given tokens that its `ascii` tokenizer must leave whole: [a-z0-9] or bytes >= 0x80.
A joined name gives one whole token, its joints replaced by a non-ASCII stand-in, plus its parts; exact
names rank high that way and parts stay findable. Scripts without spaces give single characters and pairs.
Index and query are cut by the same code. They differ in two points only: a query leaves out stop words
(English ones, and German ones if it is German), and it asks for the pairs of a run, not for each character.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

import Stemmer  # type: ignore[import-not-found]

from memorist.text.patterns import regex

JOINT = "·"  # never survives folding, so no text can forge a joined token
SIGNS = {"": "", "++": "⁺⁺", "#": "♯"}
LONGEST_TERM = 64
LONGEST_QUERY = 8192
TELL_LANGUAGE = 512  # characters of a query that show whether it is German

# Words in these ranges have no spaces around them (or, in Korean, include particles).
_RUNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u19e0-\u19ff\u2e80-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
# By range and not by category: emoji newer than this Python's tables must be found too.
_PICTURES = "\u2194-\u21aa\u2300-\u23ff\u2600-\u27bf\u2934\u2935\u2b05-\u2b55\U0001f000-\U0001faff"
_LETTER = rf"[^\x00-/:-@\[-`{{-\x7f{_RUNS}{_PICTURES}]"
_ASCII_LETTER = "[0-9A-Za-z]"


def _name_of(letter: str) -> str:
    word = rf"{letter}++(?:'{letter}++)*+(?:\+\+|#(?!{letter}))?+"
    return rf"(?P<dot>(?<!{letter})(?<!\.)\.(?=[A-Za-z]))?(?P<name>{word}(?:(?:::|->|_+|[-./@:\\&]){word})*+)"


_PIECE = regex(
    rf"(?P<run>[{_RUNS}]++)"
    rf"|(?P<picture>[\U0001f1e6-\U0001f1ff]{{2}}|[{_PICTURES}])"  # two regional letters are one flag
    rf"|{_name_of(_LETTER)}"
)
_LETTERS = regex(rf"[{_RUNS}]++|{_LETTER}++")
# The same for ASCII: compiling the above takes 34 ms, these 0.4.
_ASCII_PIECE = regex(_name_of(_ASCII_LETTER))
_ASCII_LETTERS = regex(f"{_ASCII_LETTER}+")
_STEPS, _JOINTS = regex(r"[/\\@:]+"), regex(r"[-.&_>]+")  # in a name
_PLAIN_PICTURE = regex(f"[{_PICTURES}]")
_NUMBERED = regex(r"[A-Za-z]+|[0-9]+")
_HUMPS = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ACRONYMS = regex(r"[A-Z]{2,}s")
_DROPPED = ((0x300, 0x36F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x1F3FB, 0x1F3FF))  # accents, variants, skin tones
_CLITICS = frozenset({"s", "ll", "re", "ve", "d", "m"})

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing dont down during each few for from further had has
    have having he her here hers herself him himself his how i if in into is it its itself just me more
    most my myself no nor not now of off on once only or other our ours ourselves out over own please
    same she should so some such tell than that the their theirs them themselves then there these they
    this those through to too under until up us very was we were what when where which while who whom
    whose why will with would you your yours yourself yourselves""".split()
)
# Words without content, spelled as they are folded. Only of a query that is evidently German they are left out, since "die" and
# "war" are English words too; with them "wann kommt die Müllabfuhr" finds every note with "die". Lists for eight more languages
# changed no figure.
GERMAN = frozenset(
    """aber alle alles als am an auch auf aus bei beim bin bis bist bitte da dann darf das dass dein deine deinem
    deinen deiner dem den denn der des dich die diese diesem diesen dieser dieses dir doch dort du durch durfen
    eigentlich ein eine einem einen einer eines er es etwas euch euer eure fuer fur gegen gibt habe haben habt
    hast hat hatte hatten hattest her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist
    ja jemand jene jener kann kannst kein keine keinem keinen keiner konnen konnt konnte konntest mal man mein
    meine meinem meinen meiner meines mich mir mit mochte muss mussen musst musste nach neben nein nicht nichts
    noch nochmal nur ob oder ohne sag sage schon sehr seid sein seine seinem seinen seiner seit sich sie sind so
    soll sollen sollst sollte uber ueber um und uns unser unsere unserem unseren unserer unter vom von vor wahrend
    wann war waren warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb
    wessen wie wieso wieviel will willst wir wird wirst wo wodurch wofur woher wohin wollen wollte womit woran
    worauf worden wovon wurde wurden zu zum zur zwischen""".split()
)
_GERMAN_ONLY, _ENGLISH_ONLY = GERMAN - STOP_WORDS, STOP_WORDS - GERMAN

_stemmers = threading.local()  # a Stemmer has its own buffer, so threads must not share one


class _Alphabet(dict[int, str]):
    """What each character becomes once text is decomposed; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char, kind = chr(code), unicodedata.category(chr(code))
        kept = char if code < 0x80 or kind[0] in "LMN" or _PLAIN_PICTURE.match(char) else " "
        if kind == "Nd":
            kept = str(unicodedata.decimal(char))
        if kind in ("Cf", "Me") or any(first <= code <= last for first, last in _DROPPED):
            kept = ""
        if kind not in ("Cn", "Co", "Cs"):  # otherwise hostile text could fill it
            self[code] = kept
        return kept


# Letters that Unicode does not decompose but that people type without their stroke, and apostrophes.
_ALPHABET = _Alphabet(
    str.maketrans(
        {"ı": "i", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "AE"}
        | {"œ": "oe", "Œ": "OE", "’": "'", "‘": "'", "ʼ": "'"}
    )
)


def terms(text: str) -> list[str]:
    """The index tokens of a text, in order, repeated as often as they occur.

    >>> terms("Caroline's getUserById(C++)")
    ['carolin', 'getuserbyid', 'get', 'user', 'by', 'id', 'c⁺⁺', 'c']
    """
    found: list[str] = []
    for raw in text.split():
        found += _indexed(raw) if len(raw) <= LONGEST_TERM else (token for token, _ in _read(raw, asking=False))
    return found


def query_terms(text: str, most: int = 64) -> list[str]:
    """The tokens to search for: each once, stop words left out unless nothing else was said.

    Only the first LONGEST_QUERY characters are examined. Any str is a valid query.

    >>> query_terms("What did the user say about R?"), query_terms("Wann kommt die Müllabfuhr?")
    (['user', 'say', 'r'], ['kommt', 'mullabfuhr'])
    """
    found: dict[str, bool] = {}
    for token, stop in _asked(text):
        found[token] = stop and found.get(token, True)
    return ([token for token, stop in found.items() if not stop] or list(found))[:most]


def tells_something(text: str) -> bool:
    """Whether it contains more than stop words and signs.

    >>> tells_something("What did he say?"), tells_something("Who is it?!")
    (True, False)
    """
    return any(not stop for _, stop in _asked(text))


def plain_words(text: str) -> list[str]:
    """Its words in order, folded but not stemmed, joined or left out. A run without spaces is one word.

    >>> plain_words("Ça va? That's été!")
    ['ca', 'va', 'that', 's', 'ete']
    """
    folded = _folded(text).casefold()
    return (_ASCII_LETTERS if folded.isascii() else _LETTERS).findall(folded)


def _asked(text: str) -> Iterator[tuple[str, bool]]:
    """The tokens of a query in order, and whether each is a stop word in it."""
    words = plain_words(text[:TELL_LANGUAGE])
    german = sum(word in _GERMAN_ONLY for word in words)
    is_german = german > 1 and german > sum(word in _ENGLISH_ONLY for word in words)
    for raw in text[:LONGEST_QUERY].split():
        yield from _cached(raw, is_german) if len(raw) <= LONGEST_TERM else _read(raw, True, is_german)


@lru_cache(maxsize=1 << 12)
def _cached(raw: str, german: bool) -> tuple[tuple[str, bool], ...]:
    """Queries consist of the same few words again and again."""
    return tuple(_read(raw, True, german))


@lru_cache(maxsize=1 << 16)
def _indexed(raw: str) -> tuple[str, ...]:
    word = raw.strip(",;:!?\"'()").rstrip(".")
    if word.isascii() and word.isalpha() and word[1:].islower():  # four of five English words
        return (_stem(word.lower()),)
    return tuple(token for token, _ in _read(raw, asking=False))


def _read(raw: str, asking: bool, german: bool = False) -> Iterator[tuple[str, bool]]:
    """Every token of one stretch without whitespace, and whether it is a stop word.

    Of words joined by - _ . / @ : and the like it is the whole first, then each step of a path, then each word: people remember
    main.py and example.com of src/app/main.py and user@example.com.
    """
    folded = _folded(raw)
    for piece in (_ASCII_PIECE if folded.isascii() else _PIECE).finditer(folded):
        if piece.lastgroup == "run":
            run = piece[0]
            pairs = [run[at : at + 2] for at in range(len(run) - 1)]
            singles = () if asking and pairs else run
            yield from ((token, False) for pair in zip_longest(singles, pairs) for token in pair if token)
            continue
        if piece.lastgroup == "picture":
            yield piece[0], False
            continue
        steps = [_JOINTS.split(step) for step in _STEPS.split(piece["name"])]
        words = [word for step in steps for word in step]
        for joined in [words, *steps] if len(steps) > 1 else steps:
            whole = JOINT.join(map(_lower, joined)) if 1 < len(joined) <= LONGEST_TERM else ""
            if 0 < len(whole) <= LONGEST_TERM:
                yield whole, german and all(_is_idle(word, german) for word in joined)
        if piece["dot"] is not None and len(words[0]) < LONGEST_TERM:
            yield JOINT + _lower(words[0]), False
        for word in words:
            yield from _word(word, german)


def _folded(raw: str) -> str:
    if raw.isascii():
        return raw
    decomposed = unicodedata.normalize("NFKD", raw)
    return unicodedata.normalize("NFC", decomposed.translate(_ALPHABET))


def _word(word: str, german: bool) -> Iterator[tuple[str, bool]]:
    """The word itself with its sign, without it, and what it is made of."""
    bare, sign = _bare(word)
    if sign and len(bare) < LONGEST_TERM - 1:
        yield _lower(word), False
    parts = [] if "'" in word else _parts(bare)
    after = word.find("'") if len(bare) > 4 else 0  # l'école and O'Brien: also école, brien
    if len(bare) <= LONGEST_TERM or not parts:
        yield _stem(bare.casefold()[:LONGEST_TERM]), _is_idle(bare, german)
    for part in [bare[after:]] * (0 < after <= 2) + parts:
        yield _stem(part.casefold()[:LONGEST_TERM]), _is_idle(part, german)


def _is_idle(word: str, german: bool) -> bool:
    """Whether a word is a stop word; US, IT and WHO are names."""
    lower = word.casefold()
    return (lower in STOP_WORDS or (german and lower in GERMAN)) and not (len(word) > 1 and word.isupper())


def _lower(word: str) -> str:
    bare, sign = _bare(word)
    return bare.casefold() + SIGNS[sign]


def _bare(word: str) -> tuple[str, str]:
    """A word without possessive and apostrophes, and the sign it ends in: Caroline's, don't, C++."""
    bare = word.rstrip("+#")
    sign = word[len(bare) :]
    if "'" in bare:
        head, _, tail = bare.rpartition("'")
        bare = (head if tail.lower() in _CLITICS else bare).replace("'", "")
    return bare, sign


def _parts(word: str) -> list[str]:
    """What a written-together identifier is made of: HTTPServer2 -> HTTPServer, HTTP, Server, 2."""
    if not word.isascii() or (word.isalpha() and word[1:].islower()):
        return []
    if _ACRONYMS.fullmatch(word):
        return [word[:-1]]
    stretches = _NUMBERED.findall(word)
    # A hash or a serial number changes between letters and digits all the time; its bits are noise.
    if len(stretches) > 3 or not any(len(s) > 1 and s.isalpha() for s in stretches):
        return []
    parts: list[str] = []
    for stretch in stretches:
        humps = _HUMPS.findall(stretch)
        parts += [stretch] if len(stretches) > 1 else []
        parts += humps if len(stretch) >= 2 * len(humps) > 2 else []
    return parts


def _stem(word: str) -> str:
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    if not hasattr(_stemmers, "english"):
        _stemmers.english = Stemmer.Stemmer("english", 0)  # no cache inside: ours holds whole words
    return str(_stemmers.english.stemWord(word[:LONGEST_TERM]))


_PARAGRAPH = regex(r"\n[ \t\r]*\n\s*")
_SENTENCE = regex(r"[.!?…][\"')\]»”’]*\s+|[。！？][」』）”]*|\n")
_SPACE = regex(r"(?<=\S)\s+")


def chunks(text: str, size: int = 1000) -> list[tuple[int, int]]:
    """Spans of at most `size` characters that follow each other and cover the text.

    Cuts fall after a paragraph, else a sentence, else a space, else wherever the size ends, but not
    inside a character that is written with several code points.

    >>> chunks("One sentence. Another one.", size=16)
    [(0, 14), (14, 26)]
    """
    if size < 1:
        raise ValueError(f"a chunk needs at least one character, not {size}")
    spans, start, crumb = [], 0, size // 2
    while len(text) - start > size:
        window, end = text[start : start + size], size
        for pattern, least in ((_PARAGRAPH, crumb), (_SENTENCE, crumb), (_SPACE, 0)):
            if ends := [match.end() for match in pattern.finditer(window, least)]:
                end = ends[-1]
                break
        end = whole_character(text, start, start + end)
        spans.append((start, end))
        start = end
    return [*spans, (start, len(text))]


def whole_character(text: str, start: int, end: int) -> int:
    """The nearest place at or before `end` that splits no character; `end` itself if there is none."""
    at = end
    while at > start:
        before, after = text[at - 1], text[at]
        letters = 0  # flags are pairs of regional letters
        while at - letters > start and "\U0001f1e6" <= text[at - letters - 1] <= "\U0001f1ff":
            letters += 1
        joined = "\u200d" in (before, after) or before + after == "\r\n" or "\U0001f3fb" <= after <= "\U0001f3ff"
        flag = letters % 2 == 1 and "\U0001f1e6" <= after <= "\U0001f1ff"
        if not (joined or flag or unicodedata.category(after)[0] == "M"):
            return at
        at -= 1
    return end
