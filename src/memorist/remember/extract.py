"""What is worth keeping in a text: statements of people, which the reader finds (`models/reader.py`), and by rules changed files,
failed commands, errors, and questions with their answers.

Nothing is invented: a finding is a piece of the given text, with its position. A message yields at most eight findings, the
most relevant ones. The rules are patterns, each anchored at a word and run over one line, so no text can make one of them slow,
and the reader is asked about a bounded number of sentences.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memorist.models import reader
from memorist.text.question import small_talk
from memorist.text.wishes import WISH
from memorist.text.words import tells_something

MOST_FINDINGS = 8  # of one message
LEAST_TEXT, MOST_TEXT = 12, 500  # characters of one finding
SNIPPET = 240  # characters of and around a finding, kept as context
OUTPUT_LINES = 40  # of a command
PROOFS = 50  # successful commands that are checked for one that resolves an error
ERROR_BLOCK, FILE_CHANGED, FAILED_COMMAND, PAIR = 0.9, 0.8, 0.7, 0.7  # the relevance of each sort of finding
FILE_READ, COMMAND = 0.6, 0.5
REQUESTED = 0.8  # a person asked for it to be remembered
STATED = {"fact": 0.6, "error": 0.7, "procedure": 0.7}  # relevance of a statement by its kind; of all others
LASTING = 0.8
SURER = 0.97  # worth from which a statement of an assistant is kept, which repeats and proposes more than it settles
READ_OF_USER, READ_OF_OTHERS = 24, 8  # sentences of a message that the reader is asked about
LONGEST_TYPED = 400  # characters of a line; a longer one, and all lines behind the first, may have been pasted
FEWEST_WORDS = 3
# What somebody says of the future or of an earlier choice holds, whatever it is about.
FROM_NOW = re.compile(
    r"\b(?:from (?:now|today) on|as of (?:now|today)|going forward|ab (?:jetzt|sofort|heute))\b"
    r"|^(?:ok(?:ay)?,? |and |but |please |so )?(?:(?:in|for) (?:the )?future|scrap that|i(?:'ve| have)? changed my mind|künftig)\b",
    re.IGNORECASE,
)
QUOTES = re.compile('["“”„«»‹›`]')
LONGEST_NAME = 3  # quoted words: a name; more of them are somebody else's
CONFIDENCE = 0.6  # in a rule's reading of a text, however plain it seems


# ---------------------------------------------------------------- the rules

_OF_A_DATE = (  # "am 3. Juni", "am 3. und 4. Juni"
    r"(?<=\d\.)\s(?:(?:und|bis|oder) \d|(?:Jan(?:uar)?|Jänner|Feb(?:ruar)?|März|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?)\b)"
)
SENTENCE_END = re.compile(rf"[.!?…](?!{_OF_A_DATE})(?=[\"')\]”’]?(?:\s|$))[\"')\]”’]?|[。！？]|\n")
# Abbreviations of ten languages, recognised by what precedes their last dot.
_NAME_FOLLOWS = re.compile(
    r"(?<!\w)(?:[Dd]ra?|Mrs?|Ms|Mx|M|Mmes?|Mlles?|[Pp]rofa?|Mt|St|Ste|Sra?|Srta|Sig|Dott|Ing|Hr|Fr|Dhr|Mevr|Mw|mgr|inż|Av|Doç|Gen|Sen|Capt|Lt"
    r"|[Ee]\.\s?g|i\.\s?e|viz|cf|vs|approx|[Zz]\.\s?B|[Dd]\.\s?h|[Uu]\.\s?a|i\.\s?d\.\s?R|bzw|ggf|evtl|inkl|zzgl|ca|[Pp]\.\s?(?:ej|ex|es)|bijv"
    r"|d\.\s?w\.\s?z|[Nn]p|tzn|tj|m\.\s?in|[Öö]rn|т\.\s?[ек]|[Нн]апр|им|ул|см|тов)$"
)
_NUMBER_FOLLOWS = re.compile(
    r"(?<!\w)(?:[Nn]os?|[Nn]rs?|[Nn]úm|[Nn]um|[Aa]rt|Abs|[Ff]igs?|[Vv]ol|[Cc]h|[Ss]ec|[Pp]p?|S|[Kk]ap|стр|рис|д|кв)$"
)
_END_PERHAPS = re.compile(  # only before a capital
    r"(?<!\w)(?:etc|[ap]\.\s?m|u\.\s?s\.\s?w|usw|enz|ecc|it[dp]|vb|Inc|Ltd|Co|Corp|Jr|incl|excl|max|min|hrs?|[Ss]td|[Tt]el|U\.S|U\.K"
    r"|т\.\s?[дп]|гг?|др|руб|тыс)$"
)
_LETTER = re.compile(r"(?<!\w)[^\W\d_]$")  # "z. B.", at the first dot
_LONGEST_ABBREVIATION = 12  # characters

FENCE = re.compile(r"^\s*(?:```|~~~)")
QUOTED_LINE = re.compile(r"^\s*(?:>|\|)")
COMMAND_LINE = re.compile(  # a "#" alone begins a heading or a comment
    r"^\s{0,8}(?:[\w.@~/:-]{0,60}[$%❯]|[\w.@~/:-]{1,60}#|PS [^>]{0,80}>)\s+(?P<command>[a-zA-Z./~][^\n]{0,300})$"
)
FAILED = re.compile(
    r"\b(?:error|fatal|panic|exception|traceback|failed|failure|not found|denied|cannot|segmentation fault)\b"
    r"|\bexit(?:ed)?(?: with)?(?: code| status)?:? *[1-9]\d{0,2}\b|\b[1-9]\d{0,6} (?:failed|errors?|failures)\b",
    re.IGNORECASE,
)
NONE_FAILED = re.compile(r"\b(?:0|no) (?:failed|errors?|failures)\b", re.IGNORECASE)
WORKED = re.compile(
    r"\b(?:\d{1,7} passed|all tests pass(?:ed)?|pass(?:ed)?|ok|success(?:ful(?:ly)?)?|succeeded|done|built|exit(?:ed)?(?: with)?"
    r"(?: code| status)?:? *0)\b",
    re.IGNORECASE,
)
TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\):")
EXCEPTION = re.compile(r"^\s*(?:[A-Za-z_][\w.]{0,100})(?:Error|Exception|Warning|Interrupt|Exit|Failure)\b:?.{0,400}$")
ERROR_LINE = re.compile(
    r"^\s*(?:E\s{2,6}\S|(?:\S{1,200}[:)]\s)?[Ee]rror(?:(?:\[\w{1,12}\])?:\s| [A-Z]{1,6}\d{2,6}\b)|npm ERR!"
    r"|Fehler:\s|fatal:\s|panic:\s|FAILED\s\S|ERROR\s{0,2}[:\[ -]\s?\S|Uncaught \w|\[ERROR\]\s)"
)
PATH = r"(?P<path>(?:[\w.@~-]{1,80}[/\\]){0,20}[\w.@-]{1,100}\.[A-Za-z]\w{0,7})"
A_PATH = re.compile(rf"(?<![\w/\\.]){PATH}(?![\w/\\])")
CHANGED_FILE = re.compile(
    rf"^\W{{0,6}}(?:(?:i|we)(?:'ve| have)? )?(?:edit(?:ed)?|wrote|write|creat(?:ed|e)|updat(?:ed|e)|modif(?:ied|y)|chang(?:ed|e)"
    rf"|renamed?|delet(?:ed|e)|remov(?:ed|e)|mov(?:ed|e)|add(?:ed)?)\b[ :(](?:the |a |new |file |to |in ){{0,3}}[`\"'(]?{PATH}",
    re.IGNORECASE,
)
MOVED_CODE = re.compile(  # into a folder
    r"^\W{0,6}(?:i|we)(?:'ve| have)? moved (?:\S{1,80} ){1,6}(?:in)?to [`\"']?(?P<path>(?:[\w.@~-]{1,80}/){1,20}[\w@-]{0,100})",
    re.IGNORECASE,
)
READ_FILE = re.compile(
    rf"^\W{{0,6}}(?:(?:i|we)(?:'ve| have)? )?(?:read|view(?:ed)?|open(?:ed)?)[ :(](?:the |file ){{0,2}}[`\"'(]?{PATH}",
    re.IGNORECASE,
)
QUESTION_LINE = re.compile(r"^\s*(?:q|question|user|human)\s*:\s*\S.{0,600}\?\s*$", re.IGNORECASE)
ANSWER_LINE = re.compile(r"^\s*(?:a|answer|assistant|ai|agent)\s*:\s*\S", re.IGNORECASE)


# ---------------------------------------------------------------- finding


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of a text that may be worth keeping: its position, its kind, and the rule that found it."""

    kind: str
    text: str
    rule: str
    relevance: float  # 0 to 1; as a memory, its importance
    start: int
    end: int
    snippet: str = ""
    files: tuple[str, ...] = ()
    subject: str | None = None  # the command or file it is about, if known
    worked: bool | None = None  # whether that command or file worked; None where the text does not say
    resolved: bool = False  # it failed, and the same worked later in the text
    asked_for: bool = False  # a person asked for it to be remembered
    stated: bool = False  # somebody stated it in words; all else is what commands, tools and files show
    typed: bool = False  # a person stated it in their own words
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str
    code: bool  # inside a fenced block
    apart: bool  # after a blank line or a fence
    command: str | None  # the command on a shell prompt


@dataclass(frozen=True, slots=True)
class _Shell:
    """A command on a shell prompt, with its output."""

    command: str
    start: int
    end: int
    failed: bool
    worked: bool
    text: str


def extract(text: str, role: str | None = None, most: int = MOST_FINDINGS, reads: bool = True) -> list[Finding]:
    """The findings of this text, in its order. `role` is who said it: only a person can ask for something to be remembered.
    `reads`: the reader may be asked.

    >>> [(finding.kind, finding.text) for finding in extract("I looked. We decided to use Postgres 16. Fine?")]
    [('decision', 'We decided to use Postgres 16.')]
    """
    lines = list(_lines(text))
    shells = list(_shells(lines, text))
    found = [*_errors(lines, shells), *_commands(shells), *_files(lines), *_pairs(lines, text)]
    found += _statements(lines, text, role, reads)
    fit = [each for each in found if len(each.text) <= MOST_TEXT and (each.asked_for or len(each.text) >= LEAST_TEXT)]
    best = _best(_resolved(fit, shells), most)
    return [_shown(finding, text) for finding in sorted(best, key=lambda finding: finding.start)]


def asked_in(text: str, reads: bool = True) -> str:
    """The text without what it decides or wishes, which asks for nothing.

    >>> asked_in("How do I deploy? From now on the tests run on Node 22.")
    'How do I deploy?'
    """
    kept, end = list[str](), 0
    for finding in extract(text, "user", reads=reads):
        if finding.stated and finding.relevance >= LASTING:  # a fact or a fault may be what it is about
            kept.append(text[end : finding.start])
            end = finding.end
    return "".join((*kept, text[end:])).strip()


def _lines(text: str) -> Iterator[_Line]:
    start, code, apart = 0, False, True
    for raw in text.splitlines(keepends=True):
        bare = raw.rstrip()
        fence = FENCE.match(bare) is not None
        code = code != fence
        if bare and not fence:
            typed = COMMAND_LINE.match(bare)
            command = " ".join(typed["command"].split())[:200] if typed else None
            yield _Line(start, start + len(bare), bare, code, apart, command)
        apart = fence or not bare
        start += len(raw)


# ---------------------------------------------------------------- tool output


def _shells(lines: Sequence[_Line], text: str) -> Iterator[_Shell]:
    for place, line in enumerate(lines):
        if line.command is None:
            continue
        output = _output(lines, place)
        failed = any(FAILED.search(o.text) and not NONE_FAILED.search(o.text) for o in output)
        worked = not failed and any(WORKED.search(o.text) for o in output)
        shown = max((each.end for each in (line, *output) if each.end - line.start <= MOST_TEXT), default=line.end)
        end = output[-1].end if output else line.end
        yield _Shell(line.command, line.start, end, failed, worked, text[line.start : shown].strip())


def _output(lines: Sequence[_Line], place: int) -> list[_Line]:
    """The output of a command: up to the next prompt, the end of the block or, outside a block, a blank line."""
    output: list[_Line] = []
    for line in lines[place + 1 : place + 1 + OUTPUT_LINES]:
        if line.command or line.code != lines[place].code or (line.apart and not line.code):
            break
        output.append(line)
    return output


def _commands(shells: Sequence[_Shell]) -> Iterator[Finding]:
    for shell in shells:
        kind, rule, relevance = "tool_output", "command", COMMAND
        if shell.failed:
            kind, rule, relevance = "error", "failed command", FAILED_COMMAND
        told = shell.worked if shell.worked or shell.failed else None
        yield Finding(kind, shell.text, rule, relevance, shell.start, shell.end, subject=shell.command, worked=told)


def _errors(lines: Sequence[_Line], shells: Sequence[_Shell]) -> Iterator[Finding]:
    """Tracebacks, by the line that names the exception; and single lines marked as errors."""
    starts = [shell.start for shell in shells]
    inside: _Line | None = None
    for line in lines:
        if TRACEBACK.match(line.text):
            inside = line
        elif EXCEPTION.match(line.text) or (inside is None and ERROR_LINE.match(line.text)):
            found = replace(_of(line, "error", "error block", ERROR_BLOCK), start=(inside or line).start)
            before = bisect_right(starts, line.start)  # shells; the last of them may have printed it
            shell = shells[before - 1] if before and line.start < shells[before - 1].end else None
            yield replace(found, subject=shell.command, worked=False) if shell else found
            inside = None


def _files(lines: Sequence[_Line]) -> Iterator[Finding]:
    for line in lines:
        if line.code or QUOTED_LINE.match(line.text):
            continue
        changed = CHANGED_FILE.match(line.text) or MOVED_CODE.match(line.text)
        read = READ_FILE.match(line.text)
        if changed:
            finding = _of(line, "file_change", "file changed", FILE_CHANGED)
            yield replace(finding, files=(changed["path"],))
        elif read:
            yield replace(_of(line, "note", "file read", FILE_READ), files=(read["path"],))


def _pairs(lines: Sequence[_Line], text: str) -> Iterator[Finding]:
    """A line marked as a question, and the line marked as an answer right after it."""
    for asked, answered in pairwise(lines):
        if QUESTION_LINE.match(asked.text) and ANSWER_LINE.match(answered.text):
            said = text[asked.start : answered.end].strip()
            yield Finding("fact", said, "question and answer", PAIR, asked.start, answered.end)


def _of(line: _Line, kind: str, rule: str, relevance: float) -> Finding:
    said = line.text.strip()
    return Finding(kind, said, rule, relevance, line.start, line.end, files=_paths(said))


def _paths(said: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found["path"] for found in A_PATH.finditer(said)))[:10]


# ---------------------------------------------------------------- statements of people and agents


def _statements(lines: Sequence[_Line], text: str, role: str | None, reads: bool) -> Iterator[Finding]:
    """The sentences that somebody asks to be remembered, and those that the reader finds worth keeping. What a tool returned
    states nothing."""
    if role in ("tool", "system"):
        return
    wished, plain = list[tuple[int, str]](), list[tuple[int, str]]()
    for line in lines:
        if line.code or line.command or QUOTED_LINE.match(line.text):
            continue
        for first, last in sentences(line.text):
            sentence = line.text[first:last].lstrip(" \t*-•#0123456789.)")
            start, sentence = line.start + last - len(sentence), sentence.rstrip()
            if not sentence or sentence.endswith("?") or len(sentence) > MOST_TEXT:
                continue
            wish = WISH.search(sentence) if role == "user" else None
            if wish and tells_something(sentence[wish.end() :]):
                wished.append((start + wish.end(), sentence[wish.end() :]))
            elif len(sentence) >= LEAST_TEXT and sentence.count(" ") >= FEWEST_WORDS - 1 and not small_talk(sentence):
                plain.append((start, sentence))
    opening = text.strip().split("\n", 1)[0]
    typed_until = text.index(opening) + len(opening) if role == "user" and len(opening) <= LONGEST_TYPED else 0
    wished = wished[:READ_OF_USER]
    some = [*wished, *(plain[: READ_OF_USER if role in ("user", None) else READ_OF_OTHERS] if reads else ())]
    verdicts = reader.statements([sentence for _, sentence in some]) if reads else []
    bar = SURER if role == "assistant" else reader.KEEP
    for place, (start, sentence) in enumerate(some):
        kind, asked = verdicts[place].kind if reads else "fact", place < len(wished)
        lasts = asked or FROM_NOW.search(sentence)
        if not lasts and verdicts[place].worth < bar:
            continue
        relevance = REQUESTED if asked else STATED.get(kind, LASTING)
        end = start + len(sentence)
        inside = len(QUOTES.findall(text[:start])) % 2 if start < typed_until else 0
        quoted = QUOTES.split(sentence)[1 - inside :: 2]
        typed = end <= typed_until and all(len(part.split()) <= LONGEST_NAME for part in quoted)
        yield Finding(
            kind,
            sentence,
            "asked for" if asked else kind,
            relevance,
            start,
            end,
            files=_paths(sentence),
            asked_for=asked,
            stated=True,
            typed=typed,
        )


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence of a text begins and ends.

    >>> [text[start:end] for text in ("Ask Dr. Huber at 5 p.m. sharp. Not now.",) for start, end in sentences(text)]
    ['Ask Dr. Huber at 5 p.m. sharp.', ' Not now.']
    """
    start = 0
    for found in SENTENCE_END.finditer(text):
        if not _abbreviates(text, found.start()):
            yield start, found.end()
            start = found.end()
    if start < len(text):
        yield start, len(text)


def _abbreviates(text: str, at: int) -> bool:
    """Whether the dot there ends an abbreviation, so that the sentence continues."""
    after = text[at + 1 : at + 4].lstrip(" \u00a0")
    if text[at] != "." or not after:
        return False
    before = text[max(0, at - _LONGEST_ABBREVIATION) : at]
    if after[0].isdigit() and _NUMBER_FOLLOWS.search(before):
        return True
    if not after[0].isupper() and _END_PERHAPS.search(before):
        return True
    return bool(_NAME_FOLLOWS.search(before) or (after[1:2] == "." and _LETTER.search(before)))


# ---------------------------------------------------------------- together


def _resolved(found: Sequence[Finding], shells: Sequence[_Shell]) -> list[Finding]:
    """Marks errors that are resolved later in the text: by the same command, or a command on the file that the error names."""
    worked = [shell for shell in shells if shell.worked][-PROOFS:]
    return [replace(each, resolved=True) if _is_answered(each, worked) else each for each in found]


def _is_answered(error: Finding, worked: Sequence[_Shell]) -> bool:
    later = (shell for shell in worked if error.kind == "error" and shell.start >= error.end)
    return any(works_for(error.subject, error.files, shell.command) for shell in later)


def works_for(subject: str | None, files: Sequence[str], command: str) -> bool:
    """Whether a command that worked shows that an error about this subject and these files is resolved."""
    return subject == command or any(file in command for file in files)


def _best(found: Sequence[Finding], most: int) -> list[Finding]:
    """The most relevant ones; overlapping pieces and repeated words count as one finding."""
    kept: list[Finding] = []
    for each in sorted(found, key=lambda finding: (-finding.relevance, finding.start)):
        if not any(other.text == each.text or (other.start < each.end and each.start < other.end) for other in kept):
            kept.append(each)
        if len(kept) == most:
            break
    return kept


def _shown(finding: Finding, text: str) -> Finding:
    """The finding with the text around it, so that a person can see the context."""
    room = max(0, SNIPPET - (finding.end - finding.start)) // 2
    around = text[max(0, finding.start - room) : finding.end + room]
    return replace(finding, snippet=around[:SNIPPET].strip())
