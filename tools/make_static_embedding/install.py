"""Put a trained table into the package: the files, then the description that holds their digests.

Each file is written beside its place and renamed into it, so a reader never sees half a file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

FILES = ("static-256.npy", "static-256.scales.npy", "vocab.txt", "NOTICE")
IDENTIFYING = FILES[:3]  # a change in any of these changes the vectors, and so the embedder's name
TEACHER = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "licence": "Apache-2.0",
    "weights_sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


READABLE = ("LATIN", "GREEK", "MICRO")
EAST = "\u2e80"  # where ideographs and their punctuation begin


def readable(token: str) -> bool:
    """Whether the teacher can know what the token means. It learnt English: for letters of other scripts its vectors are
    noise, and a text of those is better found by its words alone."""
    letters = [char for char in token.removeprefix("##") if char.isalpha()]
    signs_of_the_east = any(char >= EAST for char in token)
    return not signs_of_the_east and all(unicodedata.name(char, "").startswith(READABLE) for char in letters)


def placed(path: Path, content: bytes) -> None:
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    beside.replace(path)


def as_npy(array: Any) -> bytes:
    held = io.BytesIO()
    np.save(held, np.ascontiguousarray(array))
    return held.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trained", type=Path, required=True, help="folder that train.py wrote")
    parser.add_argument("--variant", required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True, help="sources.json of collect_text.py")
    parser.add_argument("--figures", type=Path, help="figures of judge.py, run on the installed table")
    parser.add_argument("--package", type=Path, required=True, help="src/memorist/models/data")
    arguments = parser.parse_args()
    held = np.load(arguments.trained / f"{arguments.variant}.npz")
    rows = json.loads((arguments.trained / "figures.json").read_text())
    row = next(row for row in rows if row["name"] == arguments.variant)
    folder: Path = arguments.package
    vocabulary = arguments.vocabulary.read_text("utf-8").splitlines()
    known = np.array([readable(token) for token in vocabulary])
    placed(folder / "static-256.npy", as_npy(held["table"] * known[:, None].astype(np.int8)))
    placed(folder / "static-256.scales.npy", as_npy(held["scales"]))
    placed(folder / "vocab.txt", arguments.vocabulary.read_bytes())
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
    identity = hashlib.sha256(" ".join(digests[name] for name in IDENTIFYING).encode()).hexdigest()
    described = {
        "identity": identity,
        "dimension": 256,
        "tokens": len(held["table"]),
        "files": digests,
        "teacher": TEACHER,
        "text": json.loads(arguments.sources.read_text()),
        "settings": row["settings"],
        "mean_cosine_to_teacher": round(row["cosine"], 4),
        "figures": json.loads(arguments.figures.read_text()) if arguments.figures else None,
        "figures_note": "percent, cosine alone, for the first 256, 128 and 64 dimensions; longmemeval is seen text",
    }
    placed(folder / "static-256.json", (json.dumps(described, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
