"""The guard of jobs that go by age: after a jump of the clock they do nothing, and say so (promise P16)."""

from memorist.design import Tools
from memorist.store.journal import jump


def jumped(tools: Tools) -> str | None:
    """Why nothing may expire now; None where the clock can be believed."""
    return jump(tools.store, tools.clock())
