"""Helpers for tests, ours and yours: a clock that moves on demand, records to start from, a scripted language model,
and the contract of a store.

To test a store of your own, subclass `StoreContract` in a test file and say how to make one:

    class TestMyStore(StoreContract):
        def make(self, tmp_path):
            return MyStore(tmp_path / "memory")

It needs pytest; the engine itself never imports this.
"""

import pytest

# Before the import, or pytest does not explain failed assertions.
pytest.register_assert_rewrite("memorist.testing.contract", "memorist.testing.meaning")

from memorist.testing.chat import NEVER, ScriptedChat, Slowly  # noqa: E402
from memorist.testing.contract import StoreContract  # noqa: E402
from memorist.testing.records import (  # noqa: E402
    EVERYWHERE,
    START,
    HashEmbedder,
    MovableClock,
    a_full_record,
    a_record,
    an_event,
    journalled,
    sealed,
    stored,
)

__all__ = [
    "EVERYWHERE",
    "NEVER",
    "START",
    "HashEmbedder",
    "MovableClock",
    "ScriptedChat",
    "Slowly",
    "StoreContract",
    "a_full_record",
    "a_record",
    "an_event",
    "journalled",
    "sealed",
    "stored",
]
