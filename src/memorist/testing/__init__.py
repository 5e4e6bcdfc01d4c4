"""For tests, ours and yours: a clock that moves when told to, records to start from, a language model that follows a script, and
the contract of a store.

Whoever writes a store subclasses `StoreContract` in a test file and says how to make one:

    class TestMyStore(StoreContract):
        def make(self, tmp_path):
            return MyStore(tmp_path / "memory")

It needs pytest; the engine itself never imports this.
"""

import pytest

# Before it is imported, or failures say nothing.
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
