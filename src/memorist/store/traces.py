"""Looking for words, and parts of vectors, in the bytes of a file, also inside of something longer: columns lie side by side."""

import json
from collections.abc import Callable, Collection, Sequence

from memorist.store.texts import strings_in
from memorist.text.words import terms

FEW = 12  # words that are looked for one by one, which is ten times faster than one expression
MANY = 300  # words in one expression: a few thousand would not fit into its memory
SHORTEST = 6  # bytes: shorter ones are found by chance in any file


def finder(traces: Sequence[bytes]) -> Callable[[bytes], bool]:
    """Whether some bytes hold one of these."""
    if len(traces) <= FEW:
        return lambda block: any(trace in block for trace in traces)
    import re2  # type: ignore[import-untyped]

    bytewise = re2.Options()
    bytewise.encoding = re2.Options.Encoding.LATIN1  # a part of a vector is no text
    parts = [traces[start : start + MANY] for start in range(0, len(traces), MANY)]
    expressions = [re2.compile(b"|".join(re2.escape(trace) for trace in part), bytewise) for part in parts]
    return lambda block: any(expression.search(block) is not None for expression in expressions)


def tells(document: str, ids: Collection[str], words: Collection[str]) -> bool:
    """Whether a text in JSON names one of these ids, or holds one of these words."""
    return any(text in ids or any(term in words for term in terms(text)) for text in strings_in(json.loads(document)))
