"""Which part of a prompt is the query, who is named in it, and whose words or what kind of memory it asks for.

Hooks pass whole prompts, and hosts put much into them that nobody asked: reminders, memory that was injected before, results
of tools. Tags and fenced code are removed before searching; removing pasted traces, quotes and blobs as well changed no figure
on five sets (64.4 without, 64.1 with). Every step reads the text once, whatever it contains.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

from memorist.text.dates import TIME_NAMES
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
# Fenced code; a fence that is never closed extends to the end.
_FENCED = regex(
    r"^[ \t]{0,12}(`{3,}+|~{3,}+)[^`\n]*+(?:\n.*?^[ \t]{0,12}\1[`~]*+[ \t]*+$|\n.*|\Z)|```[^`\n]++```",
    re.MULTILINE | re.DOTALL,
)
_URL = regex(r"\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.)\S++", re.IGNORECASE)
_WORD = regex(r"\w")
_BLANKS = regex(r"[^\S\n]+")
_LINE_ENDS = regex(r" ?\n\s*")


def question_of(text: str) -> str:
    """The part of a prompt that its user wrote, without fenced code; the whole prompt if nothing else is in it.

    >>> question_of("<system-reminder>Be kind.</system-reminder>\\nWhich  database?")
    'Which database?'
    """
    left = _unless_empty(_cut(text, _blocks(text)), text)
    left = _unless_empty(_FENCED.sub(" ", left) if "```" in left or "~~~" in left else left, left)
    tags = (tag.start() for tag in _LINE_TAG.finditer(left) if _is_injected(tag[1]))  # of a block that has no end
    left = _unless_empty(left[: next(tags, len(left))], left)
    return _unless_empty(_LINE_ENDS.sub("\n", _BLANKS.sub(" ", left)).strip(), text)


def without_injected(text: str) -> str:
    """A message as its user wrote it: without the blocks that hosts and memory tools add, and without pages of ours, which
    begin and end with the same mark. Empty if nothing else is in it.

    >>> without_injected("<project_memory>[1] Old.</project_memory> Why?"), without_injected("<context>x</context>")
    ('Why?', '')
    """
    cuts = _blocks(text)  # in the original text, since a page may lie in a block whose tags share a line with it
    ends: dict[str, list[int]] = {}
    for end in _PAGE_END.finditer(text):
        ends.setdefault(end[1], []).append(end.end())
    for page in _PAGE.finditer(text) if ends else ():
        there = ends.get(page[1], [])
        first = bisect_left(there, page.end())
        cuts += [(page.start(), end) for end in there[first : first + 1]]
    return _cut(text, cuts).strip()


def without_urls(text: str) -> str:
    """The text without URLs, since searching for one finds mostly "https" and "com"; unchanged if nothing else is in it.

    >>> without_urls("why does https://example.com/login?next=/ fail")
    'why does   fail'
    """
    return _unless_empty(_URL.sub(" ", text), text)


def _unless_empty(kept: str, before: str) -> str:
    return kept if kept is before or _WORD.search(kept) else before


def _is_injected(name: str) -> bool:
    """Whether hosts inject blocks of this name. <ToolTip> and <AppContext.Provider> are code."""
    low = name.lower()
    return name in (low, name.upper()) and (low in _INJECTED or any(part in low for part in _INJECTED_PARTS))


def _blocks(text: str) -> list[tuple[int, int]]:
    """From each tag that hosts inject to its end, and stray end tags."""
    opened: dict[str, list[int]] = {}
    cuts = []
    for tag in _TAG.finditer(text):
        if not _is_injected(tag[2]):
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


# ---------------------------------------------------------------- who is named
# LoCoMo any@1 falls from 46.4 to 36.7 without speakers. A name that belongs to no speaker is a word like any other.

_TITLES = frozenset("dr mr mrs ms prof professor sir st saint lady lord mx".split())
_AS_SPELLED = STOP_WORDS.union(TIME_NAMES)  # Will, May, Summer: names only with their capital
# The Latin alphabet with its accents: next to a Chinese character, a name is still a whole word.
_LATIN = "A-Za-z0-9_\u00c0-\u024f"
_BEFORE_SIGN = regex(r"\s+(?=[,.;:!?)])")


def speakers_in(question: str, known: Iterable[str]) -> tuple[list[str], str]:
    """The known speakers that a query names, in order of mention, each under the known name; and the query without these names
    and their possessives, but unchanged if no word would be left.

    >>> speakers_in("What did caroline's brother tell Mel?", ["Mel", "Caroline Smith", "Bo"])
    (['Caroline Smith', 'Mel'], 'What did brother tell?')
    """
    text, forms = unicodedata.normalize("NFC", question), list[tuple[str, str]]()  # as written, as known
    people = [(words, name) for name in dict.fromkeys(known) if (words := unicodedata.normalize("NFC", name).split())]
    firsts, folded = Counter(words[0].casefold() for words, _ in people), text.casefold()
    for words, name in people:
        first = words[0].casefold()
        if first in folded:  # so that of a thousand speakers no pattern of a thousand names is made
            forms.append((" ".join(words), name))
            if len(words) > 1 and firsts[first] == 1 and first.rstrip(".") not in _TITLES:
                forms.append((words[0], name))  # a first name is enough, unless two of them share it
    if not forms:
        return [], question
    forms.sort(key=lambda form: -len(form[0]))
    options = list[str]()  # whole words in any case; short ones and ordinary words as written; other scripts anywhere
    for form, _ in forms:
        spelled = r"\s+".join(map(re.escape, form.split()))
        if not any(char.isalpha() and char > "\u024f" for char in form):
            as_written = len(form) < 3 or form.lower() in _AS_SPELLED
            spelled = rf"(?<![{_LATIN}]){f'(?-i:{spelled})' if as_written else spelled}(?![{_LATIN}])"
        options.append(f"({spelled})")
    pattern = re.compile(rf"(?:{'|'.join(options)})(?:['’]s(?![{_LATIN}])|['’](?!\w))?", re.IGNORECASE)
    named = list(dict.fromkeys(forms[(each.lastindex or 1) - 1][1] for each in pattern.finditer(text)))
    left = _BEFORE_SIGN.sub("", " ".join(pattern.sub(" ", text).split()))
    return named, left if named and any(map(str.isalnum, left)) else question


_NAME = regex(r"\b\w+(?:\+\+|#(?!\w))|(?<=[\w,;:)(\"'] )[A-Z][\w'-]*|\b\w*[0-9]\w*")


def names_in(text: str) -> list[str]:
    """Words written with a capital inside a sentence, and those with a digit or a sign at their end.

    >>> names_in("When does Maya fly to Porto with TP123? Ask her, or who knows C++.")
    ['Maya', 'Porto', 'TP123', 'C++']
    """
    return list(dict.fromkeys(_NAME.findall(text)))


# ---------------------------------------------------------------- whose words are asked for
# "You" is the assistant and "I" the user, as the user asks. LongMemEval rec@5 falls by 1.1 without this, BEAM by 0.6.

_VERBS = (
    "say|tell|told|mention(?:ed)?|wr[io]te|written|ask(?:ed)?|explain(?:ed)?|described?|said|advised?|suggest(?:ed)?"
    "|recommend(?:ed)?|proposed?|answer(?:ed)?|reply|replied|warn(?:ed)?|list(?:ed)?"
)
_GESAGT = "gesagt|erzählt|erwähnt|geschrieben|gemeint|gefragt|erklärt|genannt|geraten|empfohlen"
_PAST = "said|told|mentioned|wrote|asked|explained|advised|suggested|recommended|proposed|warned"
_ADVICE = (
    "advice|suggestions?|recommendations?|answers?|reply|proposal|warning|rat|vorschl[aä]ge?|empfehlung(?:en)?|antwort"
)
_ASK = rf"(?:did|have|had) %s (?:\w+ )?(?:{_VERBS})|%s (?:\w+ ){{0,6}}(?:{_GESAGT})"
_STATE = rf"%s(?:'ve|'d)? (?:(?:have|had|just|also|once|already|earlier) )*(?:{_PAST})"
# A query for what was said takes precedence over a clause about it: "I told you about Ann. What did you advise?"
_ROLES = [
    regex(rf"\b(?:(?P<assistant>{assistant})|(?P<user>{user}))\b", re.IGNORECASE)
    for assistant, user in (
        (_ASK % ("you", "(?:hast|haben) (?:du|sie)"), _ASK % ("i", "habe? ich")),
        (rf"{_STATE % 'you'}|(?:your|deine?[nmr]?) (?:\w+ )?(?:{_ADVICE})", _STATE % "i"),
    )
]


def asked_role(text: str) -> str | None:
    """Whose turns a query asks for: the assistant's ("what did you advise?") or the user's ("what did I tell you?"); None if
    it asks for nobody's.

    >>> asked_role("What did you recommend for the trip?"), asked_role("What did I tell you about Ann?"), asked_role("Who is Ann?")
    ('assistant', 'user', None)
    """
    said = text[:LONGEST_QUERY].replace("’", "'")
    return next((found.lastgroup for pattern in _ROLES if (found := pattern.search(said))), None)


# ---------------------------------------------------------------- whether anything is asked
# On the development notes these words recognise 23 of 40 messages (silence by chance adds 8), and misread none of 320 questions.

LONGEST_SMALL_TALK = 8  # words
_COURTEOUS = frozenset(
    """hi hello hey howdy morning afternoon evening night good great nice cool awesome amazing perfect excellent
    wonderful brilliant lovely fine super neat thanks thank thx ty cheers ok okay k kk yes yeah yep yup no nope nah sure
    right alright exactly agreed indeed correct sorry oops wow lol haha hm hmm ah oh bye goodbye later continue proceed
    welcome lgtm understood noted interesting please hallo moin servus tschuss danke dank morgen abend nacht ja nein
    doch toll klasse prima genau klar gut gute guten passt weiter bitte gerne stimmt merci bonjour salut oui non parfait
    hola gracias si vale perfecto buenos""".split()
)
_IDLE = frozenset(
    """you u so much very a lot for the help that thats this it its is was i me my we lets let do on ahead keep going
    sounds looks seems works makes sense got see all now then well really just again be of and have day job one s dir
    vielen alles mach das tag sehr dann los d accord beaucoup muchas dias with to everything work und mit einer die
    message nachricht""".split()
)
_ASKING = frozenset("is are do does did have has can could will would was should may".split())
_PHRASES = regex(r"\b(?:(?:go|keep) (?:on|ahead|going)|how are you)\b\??", re.IGNORECASE)
_DRAWN_OUT, _LAUGHTER = regex(r"(.)\1{2,}"), regex(r"(?:h[aeio]){2,}h?")
_FACE = regex("[\U0001f44a-\U0001f44f\U0001f600-\U0001f64f\u2764]")


def small_talk(text: str) -> bool:
    """Whether a message asks for nothing: a greeting, thanks, "ok", "go on", a laugh.

    >>> small_talk("Perfect, do that!"), small_talk("thanks, and where is the key?")
    (True, False)
    """
    text = _PHRASES.sub("ok", text[:201])
    if len(text) > 200 or "?" in text:
        return False
    words = [_LAUGHTER.sub("haha", _DRAWN_OUT.sub(r"\1", word)) for word in plain_words(text)]
    if not words:
        return _FACE.search(text) is not None
    told = len(words) <= LONGEST_SMALL_TALK and words[0] not in _ASKING and not _COURTEOUS.isdisjoint(words)
    return told and _COURTEOUS.union(_IDLE).issuperset(words)


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
    kinds = Counter(kind for term in terms(text) if (kind := _kind_of().get(term)))
    return [kind for kind, _ in kinds.most_common()]
