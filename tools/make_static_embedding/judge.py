"""Judge a table on retrieval sets: cosine of the vectors alone, nothing else.

The sets are read from a folder given on the command line and only judge: none of their questions is ever trained
on. (The sessions of LongMemEval-S are training text, without labels; figures on it are marked "seen text".)
A set is a list of scopes. A scope holds texts, the unit each text belongs to (a turn, a message, a session) and
questions with their gold units. A unit scores as its best text.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Embed = Callable[[list[str]], Any]


@dataclass
class Scope:
    texts: list[int]  # positions in the set's list of texts
    units: list[int]  # the unit of each text, numbered from 0
    questions: list[tuple[str, dict[int, float]]]  # question, gold units with their gain


@dataclass
class Set:
    name: str
    texts: list[str]
    scopes: list[Scope]


def locomo(folder: Path) -> Set:
    texts: list[str] = []
    scopes = []
    for talk in json.loads(gzip.decompress((folder / "locomo-dev.json.gz").read_bytes())):
        held = talk["conversation"]
        names = [name for name in (held["speaker_a"], held["speaker_b"]) if name]
        cut = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b(?:['’]s)?", re.I)
        turns = [turn for key in held if re.fullmatch(r"session_\d+", key) for turn in held[key]]
        where = {turn["dia_id"]: number for number, turn in enumerate(turns)}
        questions = []
        for item in talk["qa"]:
            found = re.findall(r"D:?(\d+):0*(\d+)", " ".join(item.get("evidence") or []))
            gold = {where[f"D{a}:{b}"]: 1.0 for a, b in found if f"D{a}:{b}" in where}
            if item["category"] in (1, 2, 3, 4) and gold:
                questions.append((" ".join(cut.sub(" ", item["question"]).split()), gold))
        scopes.append(Scope([*range(len(texts), len(texts) + len(turns))], [*range(len(turns))], questions))
        texts.extend(turn["text"] for turn in turns)
    return Set("locomo", texts, scopes)


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)


def beam(folder: Path) -> Set:
    texts: list[str] = []
    scopes = []
    for talk in json.loads(gzip.decompress((folder / "beam100k-dev.json.gz").read_bytes())):
        messages = [message for batch in talk["chat"] for turn in batch["turns"] for message in turn]
        where = {message["id"]: number for number, message in enumerate(messages)}
        questions = []
        for asked in talk["probing_questions"].values():
            for item in asked:
                gold = {where[n]: 1.0 for n in _numbers(item.get("source_chat_ids")) if n in where}
                if gold:
                    questions.append((item["question"], gold))
        scopes.append(Scope([*range(len(texts), len(texts) + len(messages))], [*range(len(messages))], questions))
        texts.extend(message["content"] for message in messages)
    return Set("beam", texts, scopes)


def longmemeval(folder: Path) -> Set:
    held = json.loads(lzma.decompress((folder / "longmemeval-s-dev.json.xz").read_bytes()))
    texts: list[str] = []
    spans: dict[str, range] = {}
    for name, turns in held["sessions"].items():
        spans[name] = range(len(texts), len(texts) + len(turns))
        texts.extend(turn["content"] for turn in turns)
    scopes = []
    for item in held["questions"]:
        if item["question_id"].endswith("_abs"):
            continue
        names = item["haystack_session_ids"]
        gold = {number: 1.0 for number, name in enumerate(names) if name in item["answer_session_ids"]}
        chosen = [(at, number) for number, name in enumerate(names) for at in spans[name]]
        scopes.append(Scope([at for at, _ in chosen], [n for _, n in chosen], [(item["question"], gold)]))
    return Set("longmemeval", texts, scopes)


def cranfield(folder: Path) -> Set:
    def parts(name: str) -> list[str]:
        return re.split(r"^\.I \d+\s*$", (folder / "cranfield" / name).read_text("latin-1"), flags=re.M)[1:]

    texts = [" ".join(part.partition("\n.W")[2].split()) for part in parts("cran.all.1400")[:1400]]
    asked = [" ".join(part.partition(".W")[2].split()) for part in parts("cran.qry")]
    gold: list[dict[int, float]] = [{} for _ in asked]
    for line in (folder / "cranfield/QRelsCorrectedforTRECeval").read_text().splitlines():
        query, _, text, grade = map(int, line.split())
        if 1 <= grade <= 4:  # 5 marks "of no interest"
            gold[query - 1][text - 1] = float(grade)
    questions = [(question, found) for question, found in zip(asked, gold, strict=True) if found]
    return Set("cranfield", texts, [Scope([*range(len(texts))], [*range(len(texts))], questions)])


SETS = (locomo, beam, longmemeval, cranfield)


def scored(order: list[int], gold: dict[int, float]) -> dict[str, float]:
    """The measures of one question, from its ranked units."""
    result = {"any@1": float(order[0] in gold)}
    for depth in (5, 10):
        hits = sum(unit in gold for unit in order[:depth])
        result[f"all@{depth}"] = float(hits == len(gold))
        result[f"rec@{depth}"] = hits / len(gold)
    gains = [gold.get(unit, 0.0) / math.log2(place + 2) for place, unit in enumerate(order[:10])]
    best = [gain / math.log2(place + 2) for place, gain in enumerate(sorted(gold.values(), reverse=True)[:10])]
    result["ndcg@10"] = sum(gains) / sum(best)
    return result


def judged(chosen: Set, embed: Embed, widths: tuple[int, ...] = (256,)) -> dict[int, dict[str, float]]:
    """Mean measures over a set, in percent, for each prefix of the vectors."""
    vectors = np.asarray(embed(chosen.texts), dtype=np.float32)
    asked = np.asarray(embed([text for scope in chosen.scopes for text, _ in scope.questions]), dtype=np.float32)
    results = {}
    for width in widths:
        held, wanted = (array[:, :width] for array in (vectors, asked))
        held = held / np.maximum(np.linalg.norm(held, axis=1, keepdims=True), 1e-9)
        rows: list[dict[str, float]] = []
        for scope in chosen.scopes:
            units = np.asarray(scope.units)
            inside = held[scope.texts]
            for _, gold in scope.questions:
                best = np.full(units.max() + 1, -np.inf, dtype=np.float32)
                np.maximum.at(best, units, inside @ wanted[len(rows)])
                rows.append(scored(np.argsort(-best, kind="stable").tolist(), gold))
        results[width] = {key: round(100 * float(np.mean([row[key] for row in rows])), 2) for key in rows[0]}
    return results


HEADLINES = {
    "locomo": ("rec@10", "all@10"),
    "beam": ("rec@10", "all@10"),
    "longmemeval": ("any@1", "all@5", "all@10"),
    "cranfield": ("ndcg@10",),
}


def headline(results: dict[str, dict[str, float]]) -> float:
    """One number to choose by: the mean over the sets of the mean of each set's headline measures."""
    return round(float(np.mean([np.mean([results[name][key] for key in keys]) for name, keys in HEADLINES.items()])), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the judging sets")
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    arguments = parser.parse_args()
    from memorist.models.embed import StaticEmbedder

    embed = StaticEmbedder().embed
    figures = {chosen.name: judged(chosen, embed, (256, 128, 64)) for chosen in (load(arguments.data) for load in SETS)}
    for width in (256, 128, 64):
        row = {name: figures[name][width] for name in figures}
        shown = {name: {key: row[name][key] for key in keys} for name, keys in HEADLINES.items()}
        print(width, headline(row), json.dumps(shown))
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
