"""The example session of the second founding document, as it is written there: store, query, reinforce, demote, update."""

import pytest

from memorist import Memory, seeds
from memorist.testing import MovableClock

HMAC = (
    "Payment API HMAC signature: when no request body, signature string must NOT include trailing empty string",
    "payments, hmac, api, bug",
)
OTHERS = [
    ("Payment API onboarding needs a signed contract and an api key from the provider", "payments, onboarding"),
    ("The payment api answers 409 when the same order is sent twice", "payments, api"),
    ("Invoices are sent on the first of the month", "billing"),
]


@pytest.mark.covers("S1-5", "S1-7", "S1-8", "S1-9", "C1-6")
def test_the_example_session(memory: Memory, clock: MovableClock) -> None:
    tools = seeds.hebbian(memory)
    for content, tags in [HMAC, *OTHERS]:
        assert str(tools.memory_store(content, tags)).startswith("added [id:")

    found = tools.memory_query("payment HMAC signature api", limit=5)
    assert [row.id for row in found] == [1, 3, 2]
    assert str(found).startswith("[id:1] (score 0, rank ")
    assert "trailing empty string (tags: payments, hmac, api, bug)" in str(found)
    before = {row.id: row.rank for row in found}

    clock.move(days=30)
    assert str(tools.memory_reinforce(1)) == "changed [id:1], score 3: the caller found it useful"
    assert str(tools.memory_demote(3)) == "changed [id:3], score -1: the caller found it wrong"
    again = {row.id: row for row in tools.memory_query("payment HMAC signature api")}
    assert list(again) == [1, 3, 2] or list(again) == [1, 2, 3]
    factors = {1: 1.822 * 1.0, 2: 1.0 * 0.769, 3: 0.819 * 0.769}  # votes × recency, as the document counts them
    for id, factor in factors.items():
        assert again[id].rank == pytest.approx((before[id] or 0) * factor, rel=1e-3)
    assert (again[1].last_hit_at, again[3].last_hit_at, again[2].last_hit_at) == (clock(), None, None)

    clock.move(days=1)
    corrected = "The payment api answers 409 when the same idempotency key is sent twice"
    done = tools.memory_update(3, corrected, "payments, api, idempotency")
    assert done.row is not None and (done.row.score, done.row.last_hit_at) == (-1, clock())
    [row] = tools.memory_query("idempotency", limit=1)
    assert (row.id, row.content, row.tags) == (3, corrected, "payments, api, idempotency")
    assert not tools.memory_query("unicorn")
