"""Notes of basic-memory: Markdown whose front matter has a `permalink`, with facts and relations in a grammar of their own.

    - [decision] Releases are cut on Tuesdays #process (since March)     a fact of that category
    - depends_on [[Release Process]]                                     a relation to another note

A category names the kind, or is a tag; `#tags` are tags; a relation says of which note it is.
"""

import re
from dataclasses import replace

from memorist.files.markdown import KIND_OF_WORD, STEP, Entry

_FACT = re.compile(r"\[([^\W\d][\w -]{0,40})\]\s+(\S.*)", re.DOTALL)
_TAG = re.compile(r"(?<!\S)#([^\W\d][\w/-]*)")
_RELATION = re.compile(r"([^\W\d][\w -]{0,40})\s+\[\[([^\[\]]+)\]\]\s*")
_NOTE = re.compile(r"---\r?\n(?:.*\r?\n){0,40}?permalink:")


def is_note(text: str) -> bool:
    return _NOTE.match(text.removeprefix("\ufeff")) is not None


def understood(entry: Entry) -> Entry:
    """The memory as the grammar means it; unchanged if it is neither a fact nor a relation."""
    draft = entry.draft
    if fact := _FACT.fullmatch(draft.text):
        category, said = fact[1].lower(), fact[2]
        tags = dict.fromkeys((*draft.tags, category, *_TAG.findall(said)))
        text = _TAG.sub("", said).strip()
        kind = KIND_OF_WORD.get(category, draft.kind)
        return replace(entry, draft=replace(draft, text=text or said, kind=kind, tags=tuple(tags)))
    if (relation := _RELATION.fullmatch(draft.text)) and draft.title:
        note = draft.title.partition(STEP)[0]
        return replace(entry, draft=replace(draft, text=f"{note} {relation[1].replace('_', ' ')} [[{relation[2]}]]"))
    return entry
