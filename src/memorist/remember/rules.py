"""The words by which rules find what is worth keeping: patterns only, each linear in the text it reads.

Every pattern is anchored at a word and runs over one sentence or one line, so no text can make one of them slow.
"""

import re
from dataclasses import dataclass

ERROR_BLOCK, FILE_CHANGED, FAILED_COMMAND, PAIR = 0.9, 0.8, 0.7, 0.7  # how much a finding of each sort matters
FILE_READ, COMMAND = 0.6, 0.5
SAID = 0.8  # a person asked for it to be remembered
CONFIDENCE = 0.6  # a rule's reading of a text, however plain it seems


@dataclass(frozen=True, slots=True)
class Saying:
    """A way of saying something of one kind."""

    kind: str
    relevance: float
    pattern: re.Pattern[str]


def _said(kind: str, relevance: float, *ways: str) -> Saying:
    return Saying(kind, relevance, re.compile(rf"(?:^|\b)(?:{'|'.join(ways)})", re.IGNORECASE))


_WE = r"(?:we|i)(?:'ve| have|'re| are| will|'ll)?"
# The first that fits decides, so the narrower ones come first.
SAYINGS = (
    _said(
        "correction", 0.8, r"correction\s*:", r"that(?:'s| is| was) (?:wrong|not right|incorrect)\b", r"actually,? it(?:'s| is)\b",
    ),
    _said(
        "preference", 0.8, r"i(?:'d| would)? prefer\b", r"i(?:'d| would) rather\b", r"i (?:always|never) (?:want|like)\b",
        r"i (?:like|love|hate|dislike)\b", r"my preference\b", r"please (?:always|never|don't|do not)\b", r"preference\s*:",
    ),
    _said(
        "convention", 0.75, r"by convention\b", r"conventions?\s*:", r"our (?:convention|style|rule) is\b",
        r"we (?:always|never)\b", r"the rule is\b", r"(?:must|should) always be\b", r"is always named\b", r"are always named\b",
    ),
    _said(
        "decision", 0.8, rf"{_WE} (?:decided|agreed|chose|settled on|switched to|moved to|migrated to)\b", r"decision\s*:",
        r"decided\s*:", r"let's (?:go with|use|stick with)\b", rf"{_WE} (?:going with|sticking with)\b", r"we(?:'ll| will) use\b",
        r"it was (?:decided|agreed)\b",
    ),
    _said(
        "warning", 0.8, r"warning\s*:", r"caution\s*:", r"careful\b", r"beware\b", r"watch out\b", r"never\s+\w", r"do not\s+\w",
        r"don't (?:use|run|call|commit|push|deploy|delete|change|edit|touch|rely|trust|forget to)\b", r"must not\b", r"avoid\s+\w",
        r"gotcha\s*:", r"important\s*:", r"otherwise it (?:breaks|fails|crashes|hangs)\b",
    ),
    _said(
        "error", 0.7, r"the (?:cause|root cause|problem|bug|issue) (?:is|was)\b",
        r"(?:failed|fails|broke|breaks|crashed|crashes) because\b",
        r"(?:fixed|solved|resolved) (?:it |this |that |the \w+ )?by\b",
    ),
    _said("architecture", 0.7, r"architecture\s*:", r"the (?:service|module|layer|component) \w+ (?:talks to|depends on|owns)\b"),
)  # fmt: skip

# What a person says who wants something kept; what follows is what they want kept.
ASKED = re.compile(
    r"(?:^|\b)(?:please\s+)?(?:remember|note|keep in mind|don't forget|do not forget|for the record|make a note)"
    r"(?:\s+(?:that|this))?\s*[:,-]?\s+",
    re.IGNORECASE,
)
# A sentence that asks, supposes or reports what somebody might do, says nothing that holds.
UNSURE = re.compile(
    r"^\s*(?:if|whether|should|shall|could|would|can|may|might|do|does|did|is|are|what|why|how|who|when|where|which)\b"
    r"|\b(?:what if|suppose|maybe|perhaps|wondering|not sure|might|hypothetical)\b",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"[.!?…](?=[\"')\]”’]?(?:\s|$))[\"')\]”’]?|[。！？]|\n")

FENCE = re.compile(r"^\s*(?:```|~~~)")
QUOTED_LINE = re.compile(r"^\s*(?:>|\|)")
COMMAND_LINE = re.compile(r"^\s{0,8}(?:[\w.@~/:-]{0,60}[$#%❯]|PS [^>]{0,80}>)\s+(?P<command>[a-zA-Z./~][^\n]{0,300})$")
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
    r"^\s*(?:E\s{2,6}\S|error(?:\[\w{1,12}\])?:\s|fatal:\s|panic:\s|FAILED\s\S|ERROR\s{0,2}[:\[ -]\s?\S|Uncaught \w|\[ERROR\]\s)"
)
PATH = r"(?P<path>(?:[\w.@~-]{1,80}[/\\]){0,20}[\w.@-]{1,100}\.[A-Za-z]\w{0,7})"
A_PATH = re.compile(rf"(?<![\w/\\.]){PATH}(?![\w/\\])")
CHANGED_FILE = re.compile(
    rf"^\W{{0,6}}(?:(?:i|we)(?:'ve| have)? )?(?:edit(?:ed)?|wrote|write|creat(?:ed|e)|updat(?:ed|e)|modif(?:ied|y)|chang(?:ed|e)"
    rf"|renamed?|delet(?:ed|e)|remov(?:ed|e)|mov(?:ed|e)|add(?:ed)?)\b[ :(](?:the |a |new |file |to |in ){{0,3}}[`\"'(]?{PATH}",
    re.IGNORECASE,
)
READ_FILE = re.compile(
    rf"^\W{{0,6}}(?:(?:i|we)(?:'ve| have)? )?(?:read|view(?:ed)?|open(?:ed)?)[ :(](?:the |file ){{0,2}}[`\"'(]?{PATH}",
    re.IGNORECASE,
)
QUESTION_LINE = re.compile(r"^\s*(?:q|question|user|human)\s*:\s*\S.{0,600}\?\s*$", re.IGNORECASE)
ANSWER_LINE = re.compile(r"^\s*(?:a|answer|assistant|ai|agent)\s*:\s*\S", re.IGNORECASE)
