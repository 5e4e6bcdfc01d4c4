"""What of a prompt is the question?

Hooks hand over whole prompts, and hosts put much into them that nobody asked: reminders, memory that was injected
before, results of tools, code, pasted traces. Searching for all of it finds everything but the answer. Each step takes
out one sort of such text, and is undone if it would leave no word; so a prompt that is nothing but code is still
searched for. Every step reads the text once, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Blocks that hosts inject; and whatever has one of the parts in its name.
_INJECTED = frozenset(
    """function_results function_calls thinking retrieved_documents file_content file_contents user_info git_status
    local-command-stdout local-command-stderr ide_selection ide_opened_file open_files""".split()
)
_INJECTED_PARTS = ("memory", "memories", "reminder", "context", "tool", "environment", "attachment")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*+)([^<>]*+)>")
_LINE_TAG = re.compile(r"^[ \t]*+<([A-Za-z][\w.:-]*+)[^<>]*+>", re.MULTILINE)
_FENCE = re.compile(r"[ \t]{0,12}(`{3,}+|~{3,}+)([^`\n]*+)$")
_INLINE_FENCE = re.compile(r"```[^`\n]++```")
_DATA_URI = re.compile(r"\bdata:[^\s,]{0,200},[\w+/=%.~-]*+")
_LONG_RUN = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{41,}+={0,2}+")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_TRACE = "Traceback (most recent call last)"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME = re.compile(r"[ \t]++at [^\n]*[:(]")
_ROLE = re.compile(
    r"^[ \t]{0,8}[*#_]{0,6}[ \t]?(?P<role>user|human|assistant|ai|bot|system|tool)[*_]{0,3}[ \t]{0,4}:[*_]{0,3}",
    re.MULTILINE | re.IGNORECASE,
)
_USERS = frozenset(("user", "human"))
_WORD = re.compile(r"\w")
_BLANKS = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" ?\n\s*")


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


def _unless_empty(kept: str, before: str) -> str:
    return kept if _WORD.search(kept) else before


def _injected(name: str) -> bool:
    """Whether hosts inject blocks of this name. <ToolTip> and <AppContext.Provider> are somebody's code."""
    low = name.lower()
    if name not in (low, name.upper()):
        return False
    return low in _INJECTED or any(part in low for part in _INJECTED_PARTS)


def _without_blocks(text: str) -> str:
    """Without what stands between a tag that hosts inject and its end, and without stray ends."""
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
    return _cut(text, cuts)


def _cut(text: str, cuts: Iterable[tuple[int, int]]) -> str:
    """The text with a blank in place of each stretch; a stretch may lie within another."""
    pieces, at = [], 0
    for begin, end in sorted(cuts):
        if begin >= at:
            pieces.append(text[at:begin])
        at = max(at, end)
    return " ".join([*pieces, text[at:]])


def _without_open_block(text: str) -> str:
    """Without a block that has no end, if something stands before it. In a line, <ToolKit> may be anything."""
    for tag in _LINE_TAG.finditer(text):
        if _injected(tag[1]):
            return text[: tag.start()]
    return text


def _without_fences(text: str) -> str:
    """Without fenced code. A fence that is never closed goes on to the end."""
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
    """Without data URIs, base64 and hex digests longer than a commit's."""
    return _LONG_RUN.sub(lambda run: " " if _is_blob(run[0]) else run[0], _DATA_URI.sub(" ", text))


def _is_blob(run: str) -> bool:
    """Hex, or a mixture that no path and no slug has: they have a joint every few letters."""
    if _HEX.fullmatch(run):
        return True
    mixed = any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))
    return mixed and len(run) >= 60 and max(map(len, re.split(r"[/_-]", run))) >= 24


def _without_traces(text: str) -> str:
    """A stack trace shrinks to its exception: frames are the same whatever went wrong."""
    if _TRACE not in text and " at " not in text:
        return text
    kept, margin = [], -1  # how far the trace we are in is indented; -1 outside
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
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(">"))


def _last_user_first(text: str) -> str:
    """A transcript with its last user message in front and without its labels; any other text as it is."""
    labels = list(_ROLE.finditer(text))
    roles = [label["role"].lower() in _USERS for label in labels]
    if len(set(roles)) < 2:  # a transcript has a user and another
        return text
    ends = [*(label.start() for label in labels[1:]), len(text)]
    said = [text[label.end() : end].strip() for label, end in zip(labels, ends, strict=True)]
    asked = [at for at, (user, words) in enumerate(zip(roles, said, strict=True)) if user and words]
    if not asked:
        return text
    last = asked[-1]
    return "\n".join([said[last], text[: labels[0].start()].strip(), *said[:last], *said[last + 1 :]])
