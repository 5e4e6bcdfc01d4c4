"""Which part of a prompt is the query, who is named in it, and what kind of memory it asks for.

Hooks pass whole prompts, and hosts put much into them that nobody asked: reminders, memory that was injected before, results
of tools, code, pasted traces. Searching for all of it finds everything but the answer. Each step removes one sort of such
text, and is undone if it would leave no word; so a prompt that is nothing but code is still searched for. Every step reads the
text once, whatever it contains.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

from memorist.text.calendar import MONTHS, WEEKDAYS
from memorist.text.courtesies import Manners, every_word, known
from memorist.text.patterns import regex
from memorist.text.words import LONGEST_QUERY, STOP_WORDS, plain_words, terms

# Blocks that hosts inject, and any block with one of these parts in its name.
_INJECTED = frozenset(
    """function_results function_calls thinking retrieved_documents file_content file_contents user_info git_status
    local-command-stdout local-command-stderr local-command-caveat bash-input bash-stdout bash-stderr task-notification
    teammate-message cross-session-message artifact-room-event user-prompt-submit-hook post-tool-use-hook repl-output
    user_shell_command subagent_notification user_action turn_aborted user_instructions hook_prompt recommended_plugins
    ide_selection ide_opened_file open_files""".split()
)
_INJECTED_PARTS = ("memory", "memories", "reminder", "context", "tool", "environment", "attachment")
_TAG = regex(r"<(/?)([A-Za-z][\w.:-]*+)([^<>]*+)>")
_LINE_TAG = regex(r"^[ \t]*+<([A-Za-z][\w.:-]*+)[^<>]*+>", re.MULTILINE)
_PAGE = regex(r"^[^\n]{1,80} ([bcdfghjkmnpqrstvwxz]{9})$", re.MULTILINE)  # `prompt/render.py` writes them so
_PAGE_END = regex(r"\nEnd ([bcdfghjkmnpqrstvwxz]{9})")
_FENCE = regex(r"[ \t]{0,12}(`{3,}+|~{3,}+)([^`\n]*+)$")
_INLINE_FENCE = regex(r"```[^`\n]++```")
_DATA_URI = regex(r"\bdata:[^\s,]{0,200},[\w+/=%.~-]*+")
LONGEST_PLAIN = 40  # characters without a blank that need no closer look: the length of a commit's digest
_LONG_RUN = regex(rf"(?<![\w+/-])[A-Za-z0-9+/_-]{{{LONGEST_PLAIN + 1},}}+={{0,2}}+")
_HEX = regex(r"(?:0x)?[0-9a-fA-F]+")
_URL = regex(r"\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.)\S++", re.IGNORECASE)
_TRACE = "Traceback (most recent call last)"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME = regex(r"[ \t]++at [^\n]*[:(]")
_ROLE = regex(
    r"^[ \t]{0,8}[*#_]{0,6}[ \t]?(?P<role>user|human|assistant|ai|bot|system|tool)[*_]{0,3}[ \t]{0,4}:[*_]{0,3}",
    re.MULTILINE | re.IGNORECASE,
)
_USERS = frozenset(("user", "human"))
_WORD = regex(r"\w")
_BLANKS = regex(r"[^\S\n]+")
_LINE_ENDS = regex(r" ?\n\s*")


def question_of(text: str) -> str:
    """The part of a prompt that its user wrote; the whole prompt if nothing else is in it. Any str is valid.

    >>> question_of("<system-reminder>Be kind.</system-reminder>\\nWhich  database?")
    'Which database?'
    """
    left = text
    for step in (_without_blocks, _without_fences, _without_open_block, _without_blobs, _without_traces):
        left = _unless_empty(step(left), left)
    left = _unless_empty(_last_user_first(left), left)
    left = _unless_empty(_without_quotes(left), left)
    tidy = _LINE_ENDS.sub("\n", _BLANKS.sub(" ", left)).strip()
    return _unless_empty(tidy, text)


def message_of(text: str) -> str:
    """What its user wrote or pasted, without what a host injected: a pasted log says what the query is about.

    >>> message_of("<system-reminder>Be kind.</system-reminder> Why? ```ImportError: apsw```")
    'Why? ```ImportError: apsw```'
    """
    left = text
    for step in (_without_blocks, _without_open_block, _without_blobs):
        left = _unless_empty(step(left), left)
    return left.strip()


def without_injected(text: str) -> str:
    """A message as its user wrote it: without the blocks that hosts and memory tools add, and without pages of ours, which
    begin and end with the same mark. Empty if nothing else is in it.

    >>> without_injected("<project_memory>[1] Old.</project_memory> Why?"), without_injected("<context>x</context>")
    ('Why?', '')
    """
    cuts = _blocks(text)  # in the original text, since a page may lie in a block whose tags share a line with it
    ends: dict[str, list[re.Match[str]]] = {}
    for end in _PAGE_END.finditer(text):
        ends.setdefault(end[1], []).append(end)
    for page in _PAGE.finditer(text) if ends else ():
        there = ends.get(page[1], [])
        first = bisect_left(there, page.end(), key=re.Match.start)
        cuts += [(page.start(), each.end()) for each in there[first : first + 1]]
    return _cut(text, cuts).strip()


def without_urls(text: str) -> str:
    """The text without URLs, since searching for one finds mostly "https" and "com"; unchanged if nothing else is in it.

    >>> without_urls("why does https://example.com/login?next=/ fail")
    'why does   fail'
    """
    return _unless_empty(_URL.sub(" ", text), text)


def _unless_empty(kept: str, before: str) -> str:
    return kept if kept is before or _WORD.search(kept) else before


def _injected(name: str) -> bool:
    """Whether hosts inject blocks of this name. <ToolTip> and <AppContext.Provider> are code."""
    low = name.lower()
    if name not in (low, name.upper()):
        return False
    return low in _INJECTED or any(part in low for part in _INJECTED_PARTS)


def _without_blocks(text: str) -> str:
    """The text without what is between a tag that hosts inject and its end, and without stray end tags."""
    return _cut(text, _blocks(text)) if "<" in text else text


def _blocks(text: str) -> list[tuple[int, int]]:
    opened: dict[str, list[int]] = {}
    cuts = []
    for tag in _TAG.finditer(text):
        if not _injected(tag[2]):
            continue
        name = tag[2].lower()
        if tag[1]:
            begins = opened.get(name)
            cuts.append((begins.pop() if begins else tag.start(), tag.end()))
        elif tag[3].endswith("/"):
            cuts.append(tag.span())
        else:
            opened.setdefault(name, []).append(tag.start())
    return cuts


def _cut(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """The text with a blank in place of each stretch; stretches may be nested."""
    pieces, at = [], 0
    for begin, end in sorted(cuts):
        if begin >= at:
            pieces.append(text[at:begin])
        at = max(at, end)
    return " ".join([*pieces, text[at:]])


def _without_open_block(text: str) -> str:
    """The text without a block that has no end, if something precedes it. Within a line, <ToolKit> may be anything."""
    if "<" not in text:
        return text
    for tag in _LINE_TAG.finditer(text):
        if _injected(tag[1]):
            return text[: tag.start()]
    return text


def _without_fences(text: str) -> str:
    """The text without fenced code. A fence that is never closed extends to the end."""
    if "```" not in text and "~~~" not in text:
        return text
    kept, fence = [], ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            kept.append(line)
    return _INLINE_FENCE.sub(" ", "\n".join(kept))


def _without_blobs(text: str) -> str:
    """The text without data URIs, base64, and hex digests longer than a commit's."""
    if max(map(len, text.split()), default=0) <= LONGEST_PLAIN and "data:" not in text:
        return text
    return _LONG_RUN.sub(lambda run: " " if _is_blob(run[0]) else run[0], _DATA_URI.sub(" ", text))


def _is_blob(run: str) -> bool:
    """Whether it is hex, or a mixture that occurs in no path and no slug: these have a separator every few letters."""
    if _HEX.fullmatch(run):
        return True
    mixed = any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))
    return mixed and len(run) >= 60 and max(map(len, re.split(r"[/_-]", run))) >= 24


def _without_traces(text: str) -> str:
    """Reduces stack traces to their exceptions: frames look the same whatever went wrong."""
    if _TRACE not in text and " at " not in text:
        return text
    kept, margin = [], -1  # the indentation of the trace we are in; -1 outside
    for line in text.split("\n"):
        bare = line.lstrip()
        indent = len(line) - len(bare)
        if bare.startswith(_TRACE):
            margin = indent
        elif margin >= 0 and (indent > margin or not bare):
            continue
        elif bare.startswith(_CHAINED) or _FRAME.match(line):
            margin = -1
        else:
            margin = -1
            kept.append(line)
    return "\n".join(kept)


def _without_quotes(text: str) -> str:
    if ">" not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">"))


def _last_user_first(text: str) -> str:
    """A transcript with its last user message first and without its labels; any other text unchanged."""
    if ":" not in text:
        return text
    labels = list(_ROLE.finditer(text))
    roles = [label["role"].lower() in _USERS for label in labels]
    if len(set(roles)) < 2:  # a transcript has a user and somebody else
        return text
    ends = [*(label.start() for label in labels[1:]), len(text)]
    said = [text[label.end() : end].strip() for label, end in zip(labels, ends, strict=True)]
    asked = [at for at, (user, words) in enumerate(zip(roles, said, strict=True)) if user and words]
    if not asked:
        return text
    last = asked[-1]
    return "\n".join([said[last], text[: labels[0].start()].strip(), *said[:last], *said[last + 1 :]])


# ---------------------------------------------------------------- who is named
# A name that belongs to no speaker is a word like any other, and found like one. Speakers' names that are ordinary words
# (Will, May) only count as spelled.

_TITLES = frozenset("dr mr mrs ms prof professor sir st saint lady lord mx".split())
# Words that begin sentences, and are seldom names.
_ORDINARY = STOP_WORDS | frozenset(
    """add agree ain't almost already although always another anything anyone apparently apply aren't ask became besides
    best better build call can't cannot change check clean close come compare couldn't create currently debug define
    delete deploy describe despite didn't doesn't don't draft during edit either else enable ensure even every everyone
    everything everybody explain fact fetch find finally first fix following format generate get give go good got great
    hadn't happy has hasn't haven't hello help hey hi however i'd i'll i'm i've idea if implement import indeed install
    instead isn't it's keep last later let let's like list look lots make makes many maybe may meanwhile merge might move
    much must need neither never next nobody none nope nothing note notice number ok okay one open oh old over people
    perhaps please print put question read really recall recently refactor remember remind remove rename replace reply
    run said say says search see send set shall she's shouldn't show since someone something sometimes somewhere soon
    sorry start stop suggest summarize summarise sure take test thank thanks that's there's therefore they're thing
    things think today tomorrow translate true try turn two unless update use using usually verify via wait want wasn't
    we're weren't well what's when's where's whether who's why's within without won't work would wouldn't write wrote
    yeah yes yesterday yet you're""".split()
)
_NOT_NAMES = frozenset({*MONTHS, *WEEKDAYS} - {"jan"})
# The Latin alphabet with its accents: next to a Chinese character, a name is still a whole word.
_LATIN = "A-Za-z0-9_\u00c0-\u024f"
_ANY_BLANKS = regex(r"\s+")
_BEFORE_SIGN = regex(r"\s+(?=[,.;:!?)])")


def speakers_in(question: str, known: Iterable[str]) -> list[str]:
    """The known speakers that a query names, in order of mention, each under the known name.

    >>> speakers_in("What did caroline's brother tell Mel?", ["Mel", "Caroline Smith", "Bo"])
    ['Caroline Smith', 'Mel']
    """
    text = unicodedata.normalize("NFC", question)
    forms = _forms(text, known)
    found: dict[str, None] = {}
    for match in _pattern(forms).finditer(text) if forms else ():
        found[forms[(match.lastindex or 1) - 1][1]] = None
    return list(found)


def without_names(question: str, names: Iterable[str]) -> str:
    """The query without these names and their possessives; unchanged if no word would be left.

    >>> without_names("What did Caroline's brother say?", ["Caroline"])
    'What did brother say?'
    """
    text = unicodedata.normalize("NFC", question)
    forms = _forms(text, names)
    if not forms:
        return question
    left = _ANY_BLANKS.sub(" ", _pattern(forms).sub(" ", text))
    left = _BEFORE_SIGN.sub("", left).strip()
    return left if any(map(str.isalnum, left)) else question


def _forms(text: str, known: Iterable[str]) -> list[tuple[str, str]]:
    """The ways to name each speaker that occur in the text, the longest first: (as written, as known).

    A first name is enough, unless two of them share it. Only what occurs is kept, so that a thousand speakers cost
    a thousand lookups and no pattern of a thousand names.
    """
    named = ((unicodedata.normalize("NFC", name).split(), name) for name in dict.fromkeys(known))
    people = [(words, name) for words, name in named if words]
    firsts = Counter(words[0].casefold() for words, _ in people)
    folded = text.casefold()
    forms = []
    for words, name in people:
        if words[0].casefold() not in folded:
            continue
        forms.append((" ".join(words), name))
        first = words[0]
        if len(words) > 1 and firsts[first.casefold()] == 1 and first.rstrip(".").lower() not in _TITLES:
            forms.append((first, name))
    return sorted(forms, key=lambda form: -len(form[0]))


def _pattern(forms: list[tuple[str, str]]) -> re.Pattern[str]:
    """A pattern for any of the forms; the number of the group tells which."""
    options = "|".join(f"({_matcher(form)})" for form, _ in forms)
    return re.compile(rf"(?:{options})(?:['’]s(?![{_LATIN}])|['’](?!\w))?", re.IGNORECASE)


def _matcher(form: str) -> str:
    """Whole words in any case; short ones and ordinary words as written; other scripts anywhere."""
    spelled = r"\s+".join(map(re.escape, form.split()))
    if any(char.isalpha() and char > "\u024f" for char in form):
        return spelled
    if len(form) < 3 or form.lower() in _ORDINARY or form.lower() in _NOT_NAMES:
        spelled = f"(?-i:{spelled})"
    return rf"(?<![{_LATIN}]){spelled}(?![{_LATIN}])"


# ---------------------------------------------------------------- whose words are asked for
# Of English, German, French and Spanish. "You" is the assistant and "I" the user, as the user asks.

_SAY = "say|tell|mention|write|ask|explain|describe"
_SAID = "said|told|mentioned|wrote|written|asked|explained|described"
_ADVISE = "advise|suggest|recommend|propose|answer|reply|respond|warn|list"
_ADVISED = "advised|suggested|recommended|proposed|answered|replied|responded|warned|listed"
_NAMED = "advice|suggestions|suggestion|recommendations|recommendation|answers|answer|reply|proposal|warning"
_NAMED += "|rat|vorschlag|vorschläge|empfehlungen|empfehlung|antwort"
_GESAGT = "gesagt|erzählt|erwähnt|geschrieben|gemeint|gefragt|erklärt|genannt"
_GERATEN = f"geraten|empfohlen|vorgeschlagen|geantwortet|{_GESAGT}"
_DIT = "dit|mentionné|raconté"
_CONSEILLE = f"conseillé|recommandé|suggéré|proposé|{_DIT}"
_DIJISTE, _DIJE = "dijiste|aconsejaste|recomendaste|sugeriste", "dije|conté|mencioné"
_OFTEN = "have|had|just|also|once|already|originally|previously|earlier"
# A query for what was said takes precedence over a clause about it: "I told you about Ann. What did you advise?"
_ROLES = (
    regex(
        rf"\b(?:(?:did|have|had) (?:(?P<assistant>you (?:\w+ )?(?:{_SAY}|{_ADVISE}|{_SAID}|{_ADVISED}))"
        rf"|(?P<user>i (?:\w+ )?(?:{_SAY}|{_SAID})))"
        rf"|(?P<assistant2>(?:hast|hattest|haben|hatten) (?:du|sie) (?:\w+ ){{0,6}}(?:{_GERATEN})"
        rf"|(?:as-tu|avez-vous) (?:\w+ )?(?:{_CONSEILLE})|me (?:{_DIJISTE}))"
        rf"|(?P<user2>(?:habe?|hatte) ich (?:\w+ ){{0,6}}(?:{_GESAGT})|ai-je (?:\w+ )?(?:{_DIT})|te (?:{_DIJE})))\b",
        re.IGNORECASE,
    ),
    regex(
        rf"\b(?:(?P<assistant>you(?:'ve|'d)? (?:(?:{_OFTEN}) )*(?:{_SAID}|{_ADVISED})|(?:your|deine?[nmr]?) (?:\w+ )?(?:{_NAMED})"
        rf"|du (?:\w+ ){{0,6}}(?:{_GERATEN}) (?:hast|hattest)|(?:tu (?:m')?as|vous (?:m')?avez) (?:\w+ )?(?:{_CONSEILLE}))"
        rf"|(?P<user>i(?:'ve|'d)? (?:(?:{_OFTEN}) )*(?:{_SAID})|ich (?:\w+ ){{0,6}}(?:{_GESAGT}) (?:habe?|hatte)"
        rf"|(?:je (?:t'|vous )ai|j'ai) (?:\w+ )?(?:{_DIT})))\b",
        re.IGNORECASE,
    ),
)


@cache
def _telling() -> frozenset[str]:
    return frozenset(
        plain_words(" ".join((_SAY, _SAID, _ADVISE, _ADVISED, _NAMED, _GERATEN, _CONSEILLE, _DIJISTE, _DIJE)))
    )


def asked_role(text: str) -> str | None:
    """Whose turns a query asks for: the assistant's ("what did you advise?") or the user's ("what did I tell you?"); None if
    it asks for nobody's.

    >>> asked_role("What did you recommend for the trip?"), asked_role("What did I tell you about Ann?"), asked_role("Who is Ann?")
    ('assistant', 'user', None)
    """
    said = text[:LONGEST_QUERY].replace("’", "'")
    if _telling().isdisjoint(plain_words(said)):  # as in most queries
        return None
    found = next(filter(None, (pattern.search(said) for pattern in _ROLES)), None)
    return None if found is None else str(found.lastgroup).rstrip("2")


# ---------------------------------------------------------------- whether anything is asked

LONGEST_SMALL_TALK = 200  # characters; a longer message wants something
_STARTERS = frozenset(
    "is are am was were do does did has have had can could will would shall should may might any".split()
)
_LAUGHTER = regex(r"(?:[hjx]{1,2}+[aeiu]++){2,}+[hjx]*+|(?:[aeiu][hjx]++){2,}+[aeiu]?+|[хаи]{4,}+|[kк]{3,}+")
_FACE = regex(  # typed, or a picture of one, of a hand or of a heart
    r"(?<!\S)(?:[:;=xX]['-]?[()DPpO3/|*]+|<3+|\^_?\^|\(:)(?!\S)|[\U0001f44a-\U0001f44f\U0001f600-\U0001f64f\u2764]"
)
_DRAWN_OUT = regex(r"(.)\1{2,}")


def small_talk(text: str) -> bool:
    """Whether a message asks for nothing: a greeting, thanks, "ok", "go on", a laugh, in one of ten languages.

    >>> small_talk("Perfect, do that!"), small_talk("thanks, and where is the key?")
    (True, False)
    """
    if len(text) > LONGEST_SMALL_TALK:
        return False
    known_words = every_word()
    plain = _FACE.sub(" ", text)
    words = plain_words(plain)
    for at, word in enumerate(words):
        if word not in known_words:
            words[at] = _calm(word)
            if words[at] not in known_words:
                return False
    if not words:
        return plain != text  # any other picture is searched for, since it is in few memories
    asks = "?" in text or words[0] in _STARTERS
    return any(_courteous(words, each, asks) for each in known())


def _courteous(words: list[str], known: Manners, asks: bool) -> bool:
    """Whether all words are small talk in one language, and not only those that merely accompany it."""
    at, said = 0, False
    while at < len(words):
        phrase, word = known.phrase_at(words, at), words[at]
        if phrase or word in known.firm or (word in known.praise and not asks):
            said = True
        elif word not in known.idle and (asks or word not in known.company):
            return False
        at += phrase or 1
    return said


def _calm(word: str) -> str:
    """The plain form of a drawn-out word: sooo is so, goood good, and any laughter lol."""
    if _LAUGHTER.fullmatch(word):
        return "lol"
    once, twice = _DRAWN_OUT.sub(r"\1", word), _DRAWN_OUT.sub(r"\1\1", word)
    return twice if twice in every_word() else once


# ---------------------------------------------------------------- which kind is asked for: a guess, never a filter

KIND_WORDS: Mapping[str, str] = {
    "warning": "warning warn never avoid careful caution danger dangerous beware pitfall gotcha forbidden",
    "decision": "decision decide decided choose chose chosen agreed settled picked instead reason",
    "architecture": "architecture structure module layer boundary component service design diagram",
    "error": "error exception bug fail failed failure crash crashed broken traceback fix fixed resolved",
    "pattern": "pattern convention idiom style naming format always",
    "preference": "preference prefer prefers preferred like likes favourite favorite rather",
    "file_change": "changed renamed moved edited rewrote refactored deleted file",
    "progress": "progress done finished remaining todo started blocked milestone",
    "note": "discovery discovered found noticed learned learnt turns",
}


@cache
def _kind_of() -> Mapping[str, str]:
    return {term: kind for kind, words in KIND_WORDS.items() for term in terms(words)}


def kinds_in(text: str) -> list[str]:
    """The kinds that the text mentions, the one with most words first; earlier words break ties.

    >>> kinds_in("Never deploy on Fridays")
    ['warning']
    """
    counted: dict[str, int] = {}
    kind_of = _kind_of()
    for term in terms(text):
        kind = kind_of.get(term)
        if kind is not None:
            counted[kind] = counted.get(kind, 0) + 1
    return sorted(counted, key=lambda kind: -counted[kind])


# ---------------------------------------------------------------- names and numbers

_NAME = regex(r"\b\w+(?:\+\+|#(?!\w))|(?<=[\w,;:)(\"'] )[A-Z][\w'-]*|\b\w*[0-9]\w*")


def names_in(text: str) -> list[str]:
    """Words written with a capital inside a sentence, and those with a digit or a sign at their end.

    >>> names_in("When does Maya fly to Porto with TP123? Ask her.")
    ['Maya', 'Porto', 'TP123']
    >>> names_in("who writes C++, and who c#?")
    ['C++', 'c#']
    """
    return list(dict.fromkeys(_NAME.findall(text)))
