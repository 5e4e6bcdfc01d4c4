"""A small story: an agent remembers, forgets its session, and still knows. Run it with `make demo`.

One SQLite file in a temporary folder; no key, no network.
"""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from memorist import Memory


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def monday(path: Path) -> None:
    say("Monday. A coding agent learns things and writes them down.")
    with Memory(path, project="payments") as memory:
        for text, kind in [
            ("An empty body signs as '' in the payments HMAC", "fact"),
            ("Staging runs Postgres 15", "decision"),
            ("Never run the migration while the nightly export is running", "warning"),
            ("Ann prefers small pull requests", "preference"),
        ]:
            outcome = memory.remember(text, kind=kind, at=datetime(2026, 5, 4, 9, tzinfo=UTC))
            say(f"  remember  {outcome.outcome:<10} [id:{outcome.record.number if outcome.record else '-'}] {text}")
        again = memory.remember("staging runs   POSTGRES 15")
        say(f"  remember  {again.outcome:<10} {again.because}")
        token = "ghp_" + "a1B2" * 9
        kept = memory.remember(f"The deploy token is {token}")
        say(f"  remember  {kept.outcome:<10} {kept.record.text if kept.record else ''}")


def tuesday(path: Path) -> None:
    say("\nTuesday. A new session, which knows nothing but the file.")
    with Memory(path, project="payments") as memory:
        question = "why does the HMAC check fail for an empty body?"
        say(f"  recall    {question}")
        for hit in memory.recall(question):
            factors = ", ".join(f"{name} {value:.2f}" for name, value in hit.why.items())
            say(f"            {hit.score:.2f}  {hit.record.text}")
            say(f"            why:  {factors}")
        memory.feedback(1, "useful")
        memory.revise(2, "Staging runs Postgres 16", because="upgraded on Tuesday")
        say(
            f"  recall    which database does staging run?  →  {memory.recall('which database does staging run?')[0].record.text}"
        )
        then = memory.recall("which database does staging run?", as_of=memory.history(2)[0].at)
        say(f"            and as of Monday                  →  {then[0].record.text}")
        say(f"  recall    capital of France                 →  {memory.recall('capital of France').empty_because}")
        say("  context   'staging migration', 120 tokens")
        for line in str(memory.context("staging migration", budget=120)).splitlines():
            say(f"            {line}")
        say("  history   of [id:2]: " + ", ".join(f"{event.verb} ({event.because})" for event in memory.history(2)))
        say(f"  audit     {'the journal verifies' if memory.audit().ok else 'SOMETHING IS WRONG'}")


def wednesday(path: Path) -> None:
    say("\nWednesday. Votes, a mistake taken back, and something that must go for good.")
    with Memory(path, project="payments", design="hebbian") as memory:
        memory.remember("The staging tests need the fake clock")
        memory.remember("The staging tests need a seeded database")
        question = "what do the staging tests need?"
        say(f"  recall    {memory.recall(question)[0].record.text}")
        helpful = memory.recall(question)[1].record
        memory.feedback(helpful.id, "useful")
        say(f"  feedback  [id:{helpful.number}] useful  →  {memory.recall(question)[0].record.text}")
        gone = memory.forget(where={"kind": {"$in": ["fact", "preference"]}}, dry_run=True)
        say(f"  forget    by filter, dry run: {len(gone.changed)} memories would be forgotten")
        memory.forget(where={"kind": {"$in": ["fact", "preference"]}})
        say(f"  undo      {len(memory.undo().changed)} memories are back")
        secret = memory.remember("Ann lives in Rowan Street 7")
        report = memory.erase(str(secret.id), because="she asked for it")
        left = b"".join(file.read_bytes() for file in path.parent.iterdir()).count(b"Rowan")
        say(f"  erase     {len(report.changed)} memory; 'Rowan' is now found {left} times in all files of the store")
        say(f"  audit     {'the journal still verifies' if memory.audit().ok else 'SOMETHING IS WRONG'}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="memorist-demo-") as folder:
        path = Path(folder) / "memory.db"
        monday(path)
        tuesday(path)
        wednesday(path)
        say(f"\nAll of it was one file of {path.stat().st_size // 1024} KiB, private to you, gone with this demo.")


if __name__ == "__main__":
    main()
