"""Finding what is worth keeping in a given text, by rules: decisions, warnings, preferences, conventions, changed files, failed
commands, errors, and questions with their answers.

Nothing is invented: what was found is a piece of the given text, with the place it has there. At most eight findings come of
one message, those that matter most. Other ways to find (a model, a file's sections, the end of a session) belong behind the
same function, so that what they find takes the same way through the gate.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memorist.remember import rules

MOST = 8  # findings of one message
LEAST_TEXT, MOST_TEXT = 12, 500  # characters of one finding
SNIPPET = 240  # characters of and around a finding, kept to see it in its place
OUTPUT_LINES = 40  # of a command
PROOFS = 50  # commands that worked, among which one is looked for that answers an error


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of a text that may be worth keeping: where it stands, what it is, and which rule says so."""

    kind: str
    text: str
    rule: str
    relevance: float  # 0 to 1; as a memory, its importance
    start: int
    end: int
    snippet: str = ""
    files: tuple[str, ...] = ()
    subject: str | None = None  # the command or file it is about, where it can be told
    worked: bool | None = None  # whether that command or file worked; None where the text does not say
    resolved: bool = False  # it failed, and later in the same text the same worked
    asked_for: bool = False  # a person said that it should be remembered
    confidence: float = rules.CONFIDENCE


@dataclass(frozen=True, slots=True)
class Line:
    start: int
    end: int
    text: str
    code: bool  # inside a fenced block
    apart: bool  # a blank line or a fence stands before it
    command: str | None  # what was typed, where a shell shows it


@dataclass(frozen=True, slots=True)
class Shell:
    """A command as a shell shows it, with what it printed."""

    command: str
    start: int
    end: int
    failed: bool
    worked: bool
    text: str


def extract(text: str, role: str | None = None, most: int = MOST) -> list[Finding]:
    """What is worth keeping in this text, in its order. `role` is who said it: only a person can ask for something to be
    remembered.

    >>> [(finding.kind, finding.text) for finding in extract("I looked. We decided to use Postgres 16. Fine?")]
    [('decision', 'We decided to use Postgres 16.')]
    """
    lines = list(_lines(text))
    shells = list(_shells(lines, text))
    found = [*_errors(lines, shells), *_commands(shells), *_files(lines), *_pairs(lines, text)]
    found += _sentences(lines, text, role)
    fit = [each for each in found if len(each.text) <= MOST_TEXT and (each.asked_for or len(each.text) >= LEAST_TEXT)]
    best = _best(_resolved(fit, shells), most)
    return [_shown(finding, text) for finding in sorted(best, key=lambda finding: finding.start)]


def _lines(text: str) -> Iterator[Line]:
    start, code, apart = 0, False, True
    for raw in text.splitlines(keepends=True):
        bare = raw.rstrip()
        fence = rules.FENCE.match(bare) is not None
        code = code != fence
        if bare and not fence:
            typed = rules.COMMAND_LINE.match(bare)
            command = " ".join(typed["command"].split())[:200] if typed else None
            yield Line(start, start + len(bare), bare, code, apart, command)
        apart = fence or not bare
        start += len(raw)


# ---------------------------------------------------------------- what tools print


def _shells(lines: Sequence[Line], text: str) -> Iterator[Shell]:
    for place, line in enumerate(lines):
        if line.command is None:
            continue
        output = _output(lines, place)
        failed = any(rules.FAILED.search(o.text) and not rules.NONE_FAILED.search(o.text) for o in output)
        worked = not failed and any(rules.WORKED.search(o.text) for o in output)
        shown = max((each.end for each in (line, *output) if each.end - line.start <= MOST_TEXT), default=line.end)
        end = output[-1].end if output else line.end
        yield Shell(line.command, line.start, end, failed, worked, text[line.start : shown].strip())


def _output(lines: Sequence[Line], place: int) -> list[Line]:
    """What a command printed: until the next prompt, the end of the block, or, outside of a block, a blank line."""
    output: list[Line] = []
    for line in lines[place + 1 : place + 1 + OUTPUT_LINES]:
        if line.command or line.code != lines[place].code or (line.apart and not line.code):
            break
        output.append(line)
    return output


def _commands(shells: Sequence[Shell]) -> Iterator[Finding]:
    for shell in shells:
        kind, rule, relevance = "tool_output", "command", rules.COMMAND
        if shell.failed:
            kind, rule, relevance = "error", "failed command", rules.FAILED_COMMAND
        told = shell.worked if shell.worked or shell.failed else None
        yield Finding(kind, shell.text, rule, relevance, shell.start, shell.end, subject=shell.command, worked=told)


def _errors(lines: Sequence[Line], shells: Sequence[Shell]) -> Iterator[Finding]:
    """Tracebacks, by the line that names the exception; and single lines that a tool marked as errors."""
    starts = [shell.start for shell in shells]
    inside: Line | None = None
    for line in lines:
        if rules.TRACEBACK.match(line.text):
            inside = line
        elif rules.EXCEPTION.match(line.text) or (inside is None and rules.ERROR_LINE.match(line.text)):
            found = replace(_of(line, "error", "error block", rules.ERROR_BLOCK), start=(inside or line).start)
            shell = shells[bisect_right(starts, line.start) - 1] if starts and starts[0] <= line.start else None
            printed = shell is not None and line.start < shell.end
            yield replace(found, subject=shell.command, worked=False) if shell and printed else found
            inside = None


def _files(lines: Sequence[Line]) -> Iterator[Finding]:
    for line in lines:
        if line.code or rules.QUOTED_LINE.match(line.text):
            continue
        changed, read = rules.CHANGED_FILE.match(line.text), rules.READ_FILE.match(line.text)
        if changed:
            finding = _of(line, "file_change", "file changed", rules.FILE_CHANGED)
            yield replace(finding, files=(changed["path"],))
        elif read:
            yield replace(_of(line, "note", "file read", rules.FILE_READ), files=(read["path"],))


def _pairs(lines: Sequence[Line], text: str) -> Iterator[Finding]:
    """A question that is marked as one, and the answer that is marked as one right after it."""
    for asked, answered in pairwise(lines):
        if rules.QUESTION_LINE.match(asked.text) and rules.ANSWER_LINE.match(answered.text):
            said = text[asked.start : answered.end].strip()
            yield Finding("fact", said, "question and answer", rules.PAIR, asked.start, answered.end)


def _of(line: Line, kind: str, rule: str, relevance: float) -> Finding:
    said = line.text.strip()
    return Finding(kind, said, rule, relevance, line.start, line.end, files=_paths(said))


def _paths(said: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found["path"] for found in rules.A_PATH.finditer(said)))[:10]


# ---------------------------------------------------------------- what people and agents say


def _sentences(lines: Sequence[Line], text: str, role: str | None) -> Iterator[Finding]:
    for line in lines:
        if line.code or line.command or rules.QUOTED_LINE.match(line.text):
            continue
        for start, end in _spans(line):
            finding = _saying(start, end, text, role)
            if finding:
                yield finding


def _spans(line: Line) -> Iterator[tuple[int, int]]:
    start = 0
    for found in rules.SENTENCE_END.finditer(line.text):
        yield line.start + start, line.start + found.end()
        start = found.end()
    if start < len(line.text):
        yield line.start + start, line.end


def _saying(start: int, end: int, text: str, role: str | None) -> Finding | None:
    said = text[start:end].lstrip(" \t*-•#0123456789.)")
    if len(said) > 2 * MOST_TEXT:
        return None
    start, said = end - len(said), said.rstrip()
    asked = rules.ASKED.search(said) if role == "user" and not said.endswith("?") else None
    if asked:
        said, start = said[asked.end() :], start + asked.end()
        if not said:
            return None
        fits = _way_of_saying(said)
        kind = fits.kind if fits else "fact"
        return Finding(kind, said, "asked for", rules.SAID, start, end, files=_paths(said), asked_for=True)
    if said.endswith("?") or rules.UNSURE.search(said) or len(said.split()) < 4:
        return None
    fits = _way_of_saying(said)
    return Finding(fits.kind, said, fits.kind, fits.relevance, start, end, files=_paths(said)) if fits else None


def _way_of_saying(said: str) -> rules.Saying | None:
    return next((saying for saying in rules.SAYINGS if saying.pattern.search(said)), None)


# ---------------------------------------------------------------- together


def _resolved(found: Sequence[Finding], shells: Sequence[Shell]) -> list[Finding]:
    """What failed, and worked later in the text: the same command, or a command on the file that the error names."""
    worked = [shell for shell in shells if shell.worked][-PROOFS:]
    return [replace(each, resolved=True) if _is_answered(each, worked) else each for each in found]


def _is_answered(error: Finding, worked: Sequence[Shell]) -> bool:
    later = (shell for shell in worked if error.kind == "error" and shell.start >= error.end)
    return any(works_for(error.subject, error.files, shell.command) for shell in later)


def works_for(subject: str | None, files: Sequence[str], command: str) -> bool:
    """Whether a command that worked shows that an error about this subject and these files is gone."""
    return subject == command or any(file in command for file in files)


def _best(found: Sequence[Finding], most: int) -> list[Finding]:
    """Those that matter most; the same piece of text, or the same words again, is one finding."""
    kept: list[Finding] = []
    for each in sorted(found, key=lambda finding: (-finding.relevance, finding.start)):
        if not any(other.text == each.text or (other.start < each.end and each.start < other.end) for other in kept):
            kept.append(each)
        if len(kept) == most:
            break
    return kept


def _shown(finding: Finding, text: str) -> Finding:
    """With what stands around it, so that a person can see what was meant."""
    room = max(0, SNIPPET - (finding.end - finding.start)) // 2
    around = text[max(0, finding.start - room) : finding.end + room]
    return replace(finding, snippet=around[:SNIPPET].strip())
