"""Puts a trained student into the package: bytes with a scale per row.

python install.py --trained reader-all-012.npz --pack PACK --package ../../src/memorist/models/data
"""

import argparse
from pathlib import Path

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("trained", "pack", "package"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    pack = np.load(given.pack / "teacher.npz")
    np.save(given.package / "reader.words.npy", pack["words"])
    stored: dict[str, np.ndarray] = {"scales": pack["word_scales"]}
    for name, value in np.load(given.trained).items():
        name = name.removesuffix(".weight") if name.split(".")[0] in ("places", "sides", "shared") else name
        value = value.astype(np.float32)
        if value.ndim == 2 and value.size > 10_000:
            scale = np.abs(value).max(axis=1, keepdims=True) / 127 + 1e-12
            stored[name], stored[f"{name}:scale"] = np.rint(value / scale).astype(np.int8), scale.astype(np.float16)
        else:
            stored[name] = value.astype(np.float16)
    np.savez(given.package / "reader.npz", **stored)
    for name in ("reader.words.npy", "reader.npz"):
        print(name, (given.package / name).stat().st_size)


if __name__ == "__main__":
    main()
