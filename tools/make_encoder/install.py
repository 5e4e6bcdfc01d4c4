"""Put trained layers into the package: a flat file of half floats, a table of bytes, then the description with their digests.

The norms' factors and summands go into the matrices behind them, so that the package multiplies less. Each file is written
beside its place and renamed into it, so a reader never sees half a file.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.models.encoder import BLOCK, STRIP, TOLD_BESIDE, WIDTH, WINDOW

Doubles = NDArray[np.float64]
FIRST = 101  # [CLS]
TEACHER = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "licence": "Apache-2.0",
    "weights_sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


def placed(path: Path, content: bytes) -> None:
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    beside.replace(path)


def behind(norm: str, matrix: str, held: dict[str, Doubles]) -> tuple[Doubles, Doubles]:
    """The matrix, inputs by rows, and what it adds, with the norm in front of it taken in."""
    weight = held[f"{matrix}.weight"]
    add = weight @ held[f"{norm}.bias"] + held.get(f"{matrix}.bias", np.zeros(len(weight)))
    return (weight * held[f"{norm}.weight"]).T, add


def in_columns(matrix: Doubles, size: int) -> Doubles:
    """The blocks of so many columns, one behind the other."""
    return matrix.reshape(len(matrix), -1, size).transpose(1, 0, 2)


def layer(held: dict[str, Doubles], number: int, heads: int) -> list[Doubles]:
    """One layer in the order of `memorist.models.encoder.Layer`."""
    name, size = f"layers.{number}", WIDTH // heads
    attend, attend_add = behind(f"{name}.n1", f"{name}.qkv", held)
    attend[:, :WIDTH] /= np.sqrt(size)
    attend_add[:WIDTH] /= np.sqrt(size)
    up, up_add = behind(f"{name}.n2", f"{name}.f1", held)
    down = held[f"{name}.f2.weight"].T / 2
    return [
        in_columns(attend, size),
        attend_add,
        held[f"{name}.o.weight"].T,
        held[f"{name}.o.bias"],
        in_columns(up, BLOCK),
        up_add,
        down,
        held[f"{name}.f2.bias"],
    ]


def as_bytes(held: dict[str, Doubles]) -> NDArray[np.int8]:
    """What is told of each token, in signed bytes. The scale of each column goes into `lift`, [CLS] into its place."""
    told, lift = held["more.weight"], held["lift.weight"].T
    scales = np.abs(told).max(axis=0) / 127
    held["pos"][0] += told[FIRST] @ lift
    held["lifted"] = lift * scales[:, None]
    return np.round(told / scales).astype(np.int8)


def flat(held: dict[str, Doubles], layers: int, heads: int) -> NDArray[np.float16]:
    """All that the package reads, in the order of `memorist.models.encoder.Layers`."""
    gate, gate_add = behind("n", "gate", held)
    out, out_add = behind("n", "out", held)
    parts = [held["scale"], held["pos"][: WINDOW + 1], gate / 2, gate_add / 2, in_columns(out, STRIP), out_add]
    parts.append(held["lifted"])
    for number in range(layers):
        parts += layer(held, number, heads)
    found = np.concatenate([part.ravel() for part in parts])
    if not (np.abs(found) <= np.finfo(np.float16).max).all():
        raise SystemExit("a weight is too large for a half float, or is no number")
    return found.astype(np.float16)


def as_npy(array: Any) -> bytes:
    held = io.BytesIO()
    np.save(held, np.ascontiguousarray(array))
    return held.getvalue()


def install(trained: Path, package: Path, heads: int, text: Any, settings: Any, figures: Any) -> dict[str, Any]:
    """Writes the files, and gives the description."""
    with np.load(trained) as file:
        held = {name: file[name].astype(np.float64) for name in file.files if name not in ("rows", "scales", "turn")}
    layers = sum(name.endswith("qkv.weight") for name in held)
    table = json.loads((package / "static-256.json").read_text("utf-8"))["identity"]
    beside = as_bytes(held)
    assert beside.shape[1] == TOLD_BESIDE, beside.shape
    files = {"layered-256.npy": as_npy(flat(held, layers, heads)), "layered-256.beside.npy": as_npy(beside)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    described = {
        "identity": hashlib.sha256(" ".join([table, *digests.values()]).encode()).hexdigest(),
        "table": table,
        "files": digests,
        "layers": layers,
        "heads": heads,
        "inner": len(held["layers.0.f1.bias"]),
        "teacher": TEACHER,
        "text": text,
        "settings": settings,
        "figures": figures,
        "figures_note": "notes: percent of the development set, cosine alone; any@1, any@3, rec@5",
    }
    for name, content in files.items():
        placed(package / name, content)
    placed(package / "layered-256.json", (json.dumps(described, indent=1) + "\n").encode())
    return described


def counted(path: Path, licence: str) -> dict[str, Any]:
    """A further source of text, as `collect_text.py` describes its own: one document a line."""
    content = gzip.decompress(path.read_bytes())
    lines = [line for line in content.decode().split("\n") if line]
    digest = hashlib.sha256(content).hexdigest()
    return {"licence": licence, "documents": len(lines), "characters": sum(map(len, lines)), "digest": digest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trained", type=Path, required=True, help="a file that train.py wrote")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--sources", type=Path, required=True, help="sources.json of make_static_embedding")
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--settings", required=True, help="how train.py was called, and its last line")
    parser.add_argument("--figures", type=Path, help="figures of judge.py, run on the installed layers")
    parser.add_argument("--package", type=Path, required=True, help="src/memorist/models/data")
    given = parser.parse_args()
    text = json.loads(given.sources.read_text("utf-8"))
    text["packages"] = counted(given.packages, "the free licence of each package")
    text["notes"] = counted(given.notes, "written for this project")
    figures = json.loads(given.figures.read_text("utf-8")) if given.figures else None
    print(install(given.trained, given.package, given.heads, text, given.settings, figures)["identity"])


if __name__ == "__main__":
    main()
