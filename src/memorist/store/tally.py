"""What calls of a language model cost and came to, and how much more of a day they may use."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memorist.lazy import dataclass

if TYPE_CHECKING:
    from memorist.models.chat import ChatPort

FINE = ("ran", "opted_out", "cadence_carry")  # the outcomes that are no failures
SPARED = 0.8  # the share of the unneeded rest of the day that background work may use
SCARCE = 0.8  # the share of a day's calls or tokens from which on it gets none
AN_HOUR, A_DAY = 3600, 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Tally:
    """Statistics: outcomes by use, the calls and tokens of a day, and the last failure that no success followed."""

    outcomes: Mapping[str, int] = field(default_factory=dict)  # "judge ran": 12
    day: str = ""
    calls: int = 0
    tokens: int = 0
    problem: str | None = None  # "" once the model has answered again

    def with_more(self, other: "Tally") -> "Tally":
        """Both combined; `other` is the later one."""
        same = self.day == other.day or not other.day
        return Tally(
            dict(Counter(self.outcomes) + Counter(other.outcomes)),
            other.day or self.day,
            other.calls + self.calls * same,
            other.tokens + self.tokens * same,
            self.problem if other.problem is None else other.problem,
        )

    def show(self) -> dict[str, Any]:
        """For `status`."""
        if not self.outcomes:
            return {}
        uses = sum(self.outcomes.values())
        failed = sum(count for name, count in self.outcomes.items() if name.partition(" ")[2] not in FINE)
        facts = {
            "chat_degraded": f"{failed / uses:.0%} of {uses:,} uses",
            "chat_outcomes": dict(sorted(self.outcomes.items())),
            "chat_today": f"{self.calls:,} calls, {self.tokens:,} tokens ({self.day})",
        }
        return facts | ({"chat_problem": self.problem} if self.problem else {})


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """What a model may cost: seconds per answer, and calls and tokens per day."""

    seconds: float = 20.0
    calls: int = 2000
    tokens: int = 2_000_000


def share_of(limits: ChatLimits, spent: Tally, now: datetime) -> ChatLimits:
    """How much work that nobody waits for may use today: what was used so far, plus (what is left − what will be needed) ×
    SPARED. The rest of the day is expected to need as much as so far, at the same pace."""
    passed = max(AN_HOUR, now.hour * AN_HOUR + now.minute * 60 + now.second)
    today = spent.day == now.date().isoformat()

    def most(limit: int, used: int) -> int:
        needed = used * max(0, A_DAY - passed) / passed
        return 0 if used > SCARCE * limit else used + int(max(0.0, limit - used - needed) * SPARED)

    return replace(
        limits, calls=most(limits.calls, spent.calls * today), tokens=most(limits.tokens, spent.tokens * today)
    )


@contextmanager
def rationed(chat: "ChatPort") -> Iterator[None]:
    """Wraps work that nobody waits for, in this thread: it may use its share of the day, and no more."""
    chat.share.limits = share_of(chat.limits, chat.tally(), chat.clock())
    try:
        yield
    finally:
        del chat.share.limits


def is_scarce(chat: "ChatPort") -> bool:
    """Whether so much of the day is used up that nothing is left for background work."""
    share = share_of(chat.limits, chat.tally(), chat.clock()) if chat.ready else chat.limits
    return not (share.calls and share.tokens)
