"""The fitted numbers of `weights.toml`, read once."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from memorist.text import toml

FILE = Path(__file__).with_name("weights.toml")
COLUMNS = {"signals": ("notes", "talk", "assistant"), "silence": ("silence notes", "silence talk")}


@cache
def weights() -> Mapping[str, Mapping[str, float]]:
    """One table for each column, by the name of the row, and the table `bar`."""
    read = toml.load(FILE, "weights")
    tables = {"bar": dict[str, float](read["bar"])}
    for part, columns in COLUMNS.items():
        for place, column in enumerate(columns):
            tables[column] = {name: float(row[place]) for name, row in read[part].items()}
    return tables
