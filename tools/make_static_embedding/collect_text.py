"""Collect the training text into one compressed file, with counts and digests.

Only text whose licence allows it goes in: chat sessions under MIT, dictionaries and documentation under permissive
licences, works in the public domain, and sentences made here from templates. Each line of the result is one
document: its source, a group (texts of one group are about one thing) and the text. Cutting into sentences and
passages is left to the training script, so that this file stays small.
"""

from __future__ import annotations

import argparse
import hashlib
import html.parser
import json
import lzma
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

SEED = 20260501
LICENCES = {
    "sessions": "MIT",
    "wordnet": "WordNet licence (permissive, Princeton University)",
    "python-docs": "PSF licence",
    "postgresql-docs": "PostgreSQL licence",
    "node-docs": "MIT",
    "rust-docs": "MIT or Apache-2.0",
    "science-docs": "BSD-3-Clause (SciPy, SymPy, scikit-learn, Astropy)",
    "django-docs": "BSD-3-Clause",
    "jargon": "public domain",
    "moby-dick": "public domain",
    "addresses": "public domain",
    "chatterbot": "BSD-3-Clause",
    "templates": "made here, Apache-2.0",
}
BLANKS = re.compile(r"\s+")
Document = tuple[str, str]  # group, text


class Paragraphs(html.parser.HTMLParser):
    """The running text of a page: paragraphs, list items and definitions, without code or navigation."""

    KEPT = frozenset({"p", "li", "dd"})
    DROPPED = frozenset({"pre", "script", "style", "nav", "footer", "header", "table"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.parts: list[str] = []
        self.dropped = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self.DROPPED:
            self.dropped += 1
        elif tag in self.KEPT:
            self.flush()

    def handle_endtag(self, tag: str) -> None:
        if tag in self.DROPPED:
            self.dropped = max(0, self.dropped - 1)
        elif tag in self.KEPT:
            self.flush()

    def handle_data(self, data: str) -> None:
        if not self.dropped:
            self.parts.append(data)

    def flush(self) -> None:
        text = BLANKS.sub(" ", "".join(self.parts)).strip(" ¶")
        if len(text.split()) >= 6:
            self.found.append(text)
        self.parts = []


def sessions(path: Path) -> Iterator[Document]:
    """Every message of every session; questions, answers and evidence marks are not read."""
    held = json.loads(lzma.decompress(path.read_bytes()))["sessions"]
    for name in sorted(held):
        for turn in held[name]:
            yield name, turn["content"]


def wordnet(folder: Path) -> Iterator[Document]:
    """One document per sense: the words with their definition, and each example sentence."""
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{kind}").read_text("latin-1").splitlines():
            if line.startswith("  "):
                continue
            fields, _, gloss = line.partition(" | ")
            parts = fields.split()
            words = [parts[4 + 2 * i].replace("_", " ") for i in range(int(parts[3], 16))]
            words = [re.sub(r"\(\w+\)$", "", word) for word in words]
            meaning, *examples = re.split(r';\s*"', gloss.strip())
            yield f"{kind}-{parts[0]}", f"{', '.join(words)}: {meaning}"
            for example in examples:
                yield f"{kind}-{parts[0]}", example.strip().rstrip('"')


def pages(folder: Path, pattern: str) -> Iterator[Document]:
    for path in sorted(folder.glob(pattern)):
        reader = Paragraphs()
        reader.feed(path.read_text("utf-8", "replace"))
        reader.flush()
        for text in reader.found:
            yield path.stem, text


def jargon(path: Path) -> Iterator[Document]:
    text = zlib.decompress(path.read_bytes(), wbits=31).decode("utf-8", "replace")
    for block in re.split(r"\n(?=\S)", text):
        for paragraph in block.split("\n\n"):
            yield block[:30], paragraph.replace("{", "").replace("}", "")


def json_texts(folder: Path, since: str = "") -> Iterator[Document]:
    """The long strings of a folder of JSON files, a paragraph each; `since` leaves out names that sort before it."""
    for path in sorted(path for path in folder.glob("*.json") if path.name >= since):
        waiting = [json.loads(path.read_text("utf-8"))]
        while waiting:
            item = waiting.pop(0)
            if isinstance(item, str):
                yield from ((path.stem, part) for part in re.split(r"\n\s*\n", item) if len(part) > 40)
            else:
                waiting.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else [])


def chatterbot(folder: Path) -> Iterator[Document]:
    for path in sorted(folder.glob("*.yml")):
        for line in path.read_text("utf-8").splitlines():
            found = re.match(r"^\s*-\s*(?:-\s*)?(.+)$", line)
            if found:
                yield path.stem, found.group(1).strip("\"'")


PEOPLE = "my sister|my brother|my mum|my dad|my wife|my husband|my best friend|a colleague|my son|my daughter".split(
    "|"
)
DAYS = "yesterday|last week|on Monday|this morning|last month|over the weekend|in March|two years ago|tonight".split(
    "|"
)
SAID = [
    "I bought a {n} {d}.", "I've been thinking about {n} a lot.", "{p} gave me a {n} {d}.", "Do you like {n}?",
    "We talked about {n} {d}.", "I finally learned about {n} and {m}!", "{p} is really into {n} now.",
    "What is {n}?", "What did I say about {n}?", "When did {p} get the {n}?", "My favourite is {n}, not {m}.",
    "I saw a {a} {n} {d} and it made me happy.", "Thanks! The {n} was so {a}.", "I want to {v} {d}.",
    "{p} loves to {v}, especially with {n}.", "I tried to {v} {d} but it was {a}.", "Have you ever tried to {v}?",
    "Who told me about the {a} {n}?", "I'm worried about the {n} and the {m}.", "Wow, that's {a}! I love {n}.",
    "Where did we {v} {d}?", "I work with {n} and {m}.", "Which {n} did {p} choose?", "I hate {n}, it is too {a}.",
]  # fmt: skip


def templates(folder: Path, count: int) -> Iterator[Document]:
    """Short first-person sentences with dictionary words in them, so that rare words are met in chat too."""
    dice = random.Random(SEED)
    words = {}
    for kind in ("noun", "verb", "adj"):
        lines = (folder / f"index.{kind}").read_text("latin-1").splitlines()
        found = [line.split()[0].replace("_", " ") for line in lines if not line.startswith("  ")]
        words[kind] = [word for word in found if word.count(" ") < 2 and not re.search(r"\d", word)]
    for number in range(count):
        filled = dice.choice(SAID).format(
            n=dice.choice(words["noun"]), m=dice.choice(words["noun"]), v=dice.choice(words["verb"]),
            a=dice.choice(words["adj"]), p=dice.choice(PEOPLE), d=dice.choice(DAYS),
        )  # fmt: skip
        yield f"template-{number}", filled[0].upper() + filled[1:]


def gather(arguments: argparse.Namespace) -> Iterator[tuple[str, Document]]:
    root: Path = arguments.packages
    docs, wn = root / "usr/share/doc", root / "usr/share/wordnet"
    parts: list[tuple[str, Iterator[Document]]] = [
        ("sessions", sessions(arguments.sessions)),
        ("wordnet", wordnet(wn)),
        ("templates", templates(wn, arguments.templates)),
        ("python-docs", pages(docs / "python3.11/html", "**/*.html")),
        ("postgresql-docs", pages(docs / "postgresql-doc-15/html", "*.html")),
        ("node-docs", pages(docs / "nodejs/api", "*.html")),
        ("rust-docs", pages(docs / "rust-doc/html", "book/*.html")),
        ("jargon", jargon(root / "usr/share/dictd/jargon.dict.dz")),
        ("moby-dick", json_texts(root / "moby-dick/package/data")),
        ("addresses", json_texts(root / "sotu/package/data", since="1945")),
        ("chatterbot", chatterbot(root / "chatterbot_corpus/data/english")),
        ("science-docs", pages(docs / "python-scipy-doc/html", "tutorial/**/*.html")),
        ("science-docs", pages(docs / "python-scipy-doc/html", "reference/*.html")),
        ("science-docs", pages(docs / "python-sympy-doc/html", "**/*.html")),
        ("science-docs", pages(docs / "python-sklearn-doc/html", "modules/*.html")),
        ("science-docs", pages(docs / "python-astropy-doc/html", "[b-z]*/*.html")),
        ("django-docs", pages(docs / "python-django-doc/html", "**/*.html")),
    ]
    for source, documents in parts:
        for document in documents:
            yield source, document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, required=True, help="the chat sessions (.json.xz)")
    parser.add_argument("--packages", type=Path, required=True, help="folder where the packages are unpacked")
    parser.add_argument("--templates", type=int, default=60_000)
    parser.add_argument("--out", type=Path, required=True, help="folder for corpus.jsonl.xz and sources.json")
    arguments = parser.parse_args()
    seen: set[bytes] = set()
    tally: dict[str, dict[str, object]] = {}
    digests = {source: hashlib.sha256() for source in LICENCES}
    arguments.out.mkdir(parents=True, exist_ok=True)
    with lzma.open(arguments.out / "corpus.jsonl.xz", "wt", encoding="utf-8", preset=6) as out:
        for source, (group, raw) in gather(arguments):
            text = raw.strip() if source == "sessions" else BLANKS.sub(" ", raw).strip()
            key = hashlib.sha1(text.encode("utf-8", "replace")).digest()
            if len(text) < 3 or key in seen:
                continue
            seen.add(key)
            digests[source].update(key)
            row = tally.setdefault(source, {"licence": LICENCES[source], "documents": 0, "characters": 0})
            row["documents"], row["characters"] = (
                int(str(row["documents"])) + 1,
                int(str(row["characters"])) + len(text),
            )
            out.write(json.dumps([source, group, text], ensure_ascii=False) + "\n")
    for source, row in tally.items():
        row["digest"] = digests[source].hexdigest()
    (arguments.out / "sources.json").write_text(json.dumps(tally, indent=1) + "\n")
    print(json.dumps(tally, indent=1))


if __name__ == "__main__":
    main()
