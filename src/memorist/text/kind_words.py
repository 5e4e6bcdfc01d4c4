"""Words that tell what kind of memory a text is, or what kind a question asks for. A guess, never a filter."""

from collections.abc import Mapping

from memorist.text.words import terms

WORDS: Mapping[str, str] = {
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
_KIND_OF: Mapping[str, str] = {term: kind for kind, words in WORDS.items() for term in terms(words)}


def kinds_in(text: str) -> list[str]:
    """The kinds that the text speaks of, the one with most words first; earlier words break ties.

    >>> kinds_in("Never deploy on Fridays")
    ['warning']
    """
    counted: dict[str, int] = {}
    for term in terms(text):
        kind = _KIND_OF.get(term)
        if kind is not None:
            counted[kind] = counted.get(kind, 0) + 1
    return sorted(counted, key=lambda kind: -counted[kind])
