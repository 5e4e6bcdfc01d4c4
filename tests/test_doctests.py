"""Every example in a docstring gives what it says."""

import doctest
import importlib
from pathlib import Path

import pytest

import memorist

SOURCE = Path(memorist.__file__).parent
WITH_EXAMPLES = sorted(path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_examples_of_a_module_hold(path: Path) -> None:
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    assert not doctest.testmod(importlib.import_module(name)).failed
