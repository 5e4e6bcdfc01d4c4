"""A small story: an agent remembers, forgets its session, and still knows. Run it with `make demo`.

One SQLite file in a temporary folder; no key, no network.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from memorist import Memory
from memorist.files.memory_md import sync
from memorist.seeds import curated, tiers
from memorist.session.lookout import lookout

COLUMN = 12  # where what is said about a verb begins


def say(text: str = "") -> None:
    """One line, or as many as the terminal needs for it."""
    width = min(120, max(COLUMN + 20, shutil.get_terminal_size().columns))
    for line in text.split("\n"):
        under = " " * COLUMN if line.startswith(" ") else ""
        sys.stdout.write(textwrap.fill(line, width, subsequent_indent=under, break_on_hyphens=False) + "\n")


def first(path: Path) -> None:
    """What it is for, in ten seconds."""
    say("A session ends, and its agent forgets everything. With memorist, the next one knows.\n")
    with Memory(path, project="demo") as monday:
        monday.remember("Staging runs Postgres 16", kind="decision")
        monday.remember("Ann prefers small pull requests", kind="preference")
        say("  Monday    you say     Staging runs Postgres 16")
        say("            you say     Ann prefers small pull requests")
    with Memory(path, project="demo") as tuesday:
        for question in ("which database is on staging?", "how big should Ann's pull request be?"):
            say(f"  Tuesday   it asks     {question}")
            say(f"            it knows    {tuesday.recall(question)[0].record.text}")
    say("\nThat was one file and no network. The rest of the week shows what else it does.\n")


def monday(path: Path) -> None:
    say("Monday. A coding agent on a payments project learns things and writes them down.")
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


def thursday(path: Path) -> None:
    say("\nThursday. Several agents share the project: words have aliases, files count, and nobody deletes by keyword.")
    with Memory(path, project="payments", design="curated") as memory:
        memory.remember("Login tokens expire after an hour", kind="decision", files=["src/login.py"], session="s1")
        memory.remember("Never change the auth middleware by hand", kind="warning", files=["src/auth.py"], session="s2")
        memory.alias("mw", "middleware")
        for question, files in (("auth", ["login.py"]), ("midleware", []), ("mw", [])):
            found = memory.recall(question, files=files)
            at_hand = f", {', '.join(files)} at hand" if files else ""
            say(f"  recall    {question}{at_hand}")
            for hit in found:
                say(f"            {hit.score:.2f}  {hit.record.kind}: {hit.record.text}")
        for command in ("/remember We decided on one queue", "/forget queue", "/memory config conservative"):
            say(f"  slash     {command}")
            for line in str(curated.slash(memory, command)).splitlines():
                say(f"            {line}")


def friday(path: Path) -> None:
    say(
        "\nFriday. One task: its notes, the project's decisions and what holds everywhere share a prompt, and then it ends."
    )
    with Memory(path, project="payments", design="tiers", confirm=lambda ask: ask.verb == "remember") as memory:
        three = tiers(memory)
        task = three.task("42")
        lesson = task.add_reasoning("The signature breaks because the proxy strips empty bodies", "analyse")
        task.add_tool_output("pytest", "2 failed, 41 passed", "analyse")
        three.add_decision("Empty bodies are signed as ''", ["signature"])
        three.add_preference("Explain a fix in two sentences", "style")
        made = three.build_context("42", "why does the signature check fail?", budget=400)
        say(f"  context   {len(made.items)} memories in {made.tokens} of 400 tokens:")
        for item in made.items:
            say(f"            {item.source:<18} {item.text}")
        ended = three.cleanup_task("42", keep=[lesson.id] if lesson else [])
        say(f"  finish    task/42: {len(ended.changed)} memories, of which the lesson stays in the project")
        memory.undo(ended.batch)
        say(f"  undo      the task is open again with {task.count()} memories")


def saturday(path: Path) -> None:
    say("\nSaturday. Facts change, and some things are for a person to decide.")
    with Memory(path, project="shop") as memory:
        memory.remember("The gateway listens on port 8080", kind="fact")
        done = memory.remember("The gateway listens on port 9090", kind="fact")
        say(f"  remember  {done.because}")
        memory.remember("Always squash commits before a merge", kind="convention")
        memory.remember("Never squash commits before a merge", kind="convention")
        for each in memory.conflicts():
            say(f"  conflicts {each.reason}: [id:{each.a.number}] and [id:{each.b.number}]")
        asked = memory.remember("Answers are short", kind="preference", scope="global")
        say(f"  remember  {asked.outcome}: {asked.because}")
        for day, agent, said in (
            ("monday", "claude", "We decided to use Kafka for events. Never retry a refund twice."),
            ("thursday", "gemini", "As discussed, we are going with Kafka for the events."),
        ):
            memory.extract(said, session=day, agent=agent)
        for found in memory.promote():
            say(f"  promote   {found.points} points, {found.outcome}: {found.text}")


def sunday(path: Path) -> None:
    say("\nSunday. A day with two agents, a person with an editor, a crash and a full window. Nothing is lost.")
    page = path.with_name("MEMORY.md")
    with Memory(path, project="harbour") as memory:
        claude = memory.session("sunday", agent="claude")
        claude.turn("user", "The crane on pier 3 is out until Thursday")
        claude.tool_call("schedule", {"pier": 3}, id="call-1")
        claude.tool_result("call-1", "Three ships are due on Wednesday: " + "the tide is high at noon, " * 40)
        claude.note("Pier 3 takes no ships before Thursday", kind="warning")
        claude.leave()
        told = _killed_while_talking(path)
        say(f"  session   claude says 3 turns and leaves; the next process is killed after {told} acknowledged turns")
        gemini = memory.session("sunday", agent="gemini", busy="interrupt")
        say(f"  session   gemini goes on with {len(gemini.turns())} turns, and is told what claude noted:")
        for line in gemini.context("which pier is free?", budget=200).text.splitlines():
            if "Pier 3" in line:
                say(f"            {line}")
        window = gemini.window(800, keep=4)
        say(f"  window    {'the older turns are summarised' if window.compacted else window.because}")
        raw = len(gemini.turns())
        say(f"            {len(window.panes)} messages, {window.tokens} tokens; {raw} turns are still there")
        memory.remember("Ships tie up at pier 1 until Thursday", kind="decision")
        sync(memory, page)
        page.write_text(page.read_text(encoding="utf-8") + "\n- The harbour master is Ida\n", encoding="utf-8")
        sync(memory, page)
        say(f"  sync      a person adds a line to MEMORY.md  →  {memory.recall('who is the harbour master?')[0].text}")
        gemini.close()
        [summary] = memory.list({"kind": "summary", "session": "sunday", "data.covers": None})
        say(f"  close     {summary.text.splitlines()[0]}")
        kept = memory.count({"kind": "turn", "session": "sunday"})
        say(
            f"  count     {kept} of {raw} turns, {'the journal verifies' if memory.audit().ok else 'SOMETHING IS WRONG'}"
        )


def night(path: Path) -> None:
    say(
        "\nThe night after. A warning that nobody asked for comes up in time, and what a night tidies can be taken back."
    )
    with Memory(path, project="lighthouse", design="associative") as memory:
        memory.remember(
            "Take a snapshot before any table is dropped", kind="warning", data={"triggers": ["drop table"]}
        )
        with memory.session("late", agent="claude") as session:
            session.turn("user", "the log is slow; I could drop table visits and be done")
            session.prefetch()
            say("  prefetch  the user speaks of a drop table; claude answers at once, and memory looks it up meanwhile")
            session.turn("assistant", "Let me look at the indexes first")
            lookout.rest(30)
            session.turn("user", "no, go ahead")
            for hit in session.ready().items:
                if "triggered" in hit.why:
                    say(f"  ready     one turn later, unasked: {hit.record.kind}: {hit.record.text}")
        memory.design = replace(memory.design, twins="exact")  # so that this evening's repetition is left for the night
        memory.remember("The lamp is cleaned on Friday")
        memory.remember("On Friday the lamp is cleaned")
        before = memory.count({"kind": "fact"})
        reports = memory.upkeep(deep=True)
        after = memory.count({"kind": "fact"})
        say(f"  upkeep    a night: {before} facts become {after}; {reports[-1].advice}")
        memory.undo(reports[-1].batch)
        say(f"  undo      {memory.count({'kind': 'fact'})} facts, as they were in the evening")


def agent(folder: Path) -> None:
    say(
        "\nAnd in your coding agent. Two lines give it all of this; here is what they would change, in a home made for this demo."
    )
    home, work, transcript = folder / "home", folder / "compass", folder / "compass.jsonl"
    (home / ".claude").mkdir(parents=True)
    work.mkdir()
    say("  install   claude-code --dry-run")
    for line in _program(home, work, "install", "claude-code", "--dry-run").splitlines():
        if line.startswith("+++") or ("UserPromptSubmit" in line and "command" in line):
            say(f"            {line.replace(str(home), '~').lstrip('+ ')}")
    said = "We decided that the map server is written in Go."
    say(f"  monday    you say: {said}")
    turn = {"type": "user", "uuid": "u1", "sessionId": "monday", "message": {"role": "user", "content": said}}
    transcript.write_text(json.dumps({**turn, "timestamp": "2026-05-04T09:00:00Z"}) + "\n", encoding="utf-8")
    common = {"cwd": str(work), "transcript_path": str(transcript)}
    for event in ("SessionStart", "Stop", "SessionEnd"):
        _hook(home, work, event, {**common, "session_id": "monday"})
    question = "what is the map server written in?"
    _hook(home, work, "SessionStart", {**common, "session_id": "tuesday", "transcript_path": None})
    told = _hook(home, work, "UserPromptSubmit", {**common, "session_id": "tuesday", "prompt": question})
    say(f"  tuesday   you ask: {question}  Its model also gets:")
    for line in told.splitlines():
        if said in line:
            say(f"            {line}")
    [receipt] = json.loads(_program(home, work, "receipts", "--limit", "1", "--json"))
    say(f"  receipts  {receipt['client']} was told {receipt['tokens']} tokens in session {receipt['session']}")


def _hook(home: Path, work: Path, event: str, given: dict[str, str | None]) -> str:
    """What Claude Code would put before its model."""
    document = _program(home, work, "hook", "claude-code", event, given=json.dumps(given))
    return str(json.loads(document)["hookSpecificOutput"]["additionalContext"]) if document else ""


def _program(home: Path, work: Path, *words: str, given: str = "") -> str:
    """The program itself, as an agent finds it on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    own = {"HOME": str(home), "PATH": path, "MEMORIST_DB": str(home.with_name("memory.db"))}
    own |= {"MEMORIST_CONFIG": str(home / "config.toml"), "MEMORIST_HOOK_MS": "5000"}
    done = subprocess.run(
        [sys.executable, "-m", "memorist", *words], cwd=work, env=os.environ | own, input=given, capture_output=True, text=True
    )  # fmt: skip
    return done.stdout


def _killed_while_talking(path: Path) -> int:
    """Another process goes on with the talk until it is killed in the middle of a word. → how many turns it was told are stored"""
    script = (
        "import sys; from memorist import Memory\n"
        "session = Memory(sys.argv[1], project='harbour').session('sunday', agent='claude')\n"
        "for n in range(1000):\n"
        "    session.turn('user' if n % 2 == 0 else 'assistant', f'Ship {n} lies at pier {n % 3 + 1}')\n"
        "    print(n, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) as talking:
        assert talking.stdout is not None
        told = [talking.stdout.readline() for _ in range(40)]
        talking.kill()
        told += talking.stdout.readlines()
    return len(told)


def _apart_from_your_settings(folder: Path) -> None:
    """The same story for everybody, whatever they switched off or chose."""
    for name in [name for name in os.environ if name.startswith("MEMORIST_")]:
        del os.environ[name]
    os.environ["MEMORIST_CONFIG"] = str(folder / "config.toml")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="memorist-demo-") as folder:
        _apart_from_your_settings(Path(folder))
        path = Path(folder) / "memory.db"
        first(Path(folder) / "first.db")
        monday(path)
        tuesday(path)
        wednesday(path)
        thursday(path)
        friday(path)
        saturday(path)
        sunday(path)
        night(path)
        agent(Path(folder))
        say(f"\nAll of it was one file of {path.stat().st_size // 1024} KiB, private to you, gone with this demo.")


if __name__ == "__main__":
    main()
