"""Nasty input 13 and 27: what a memory, a shell or an operating system can throw at the command line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from conftest import rounds
from memorist import Memory

from .conftest import PROGRAM, Cli

pytestmark = pytest.mark.usefixtures("without_reader")
NASTY = {
    "clears the screen": "clear\x1b[2Jed",
    "links elsewhere": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "sets the title": "\x1b]0;owned\x07",
    "one-byte control": "a\x9b2Jb",
    "turns text around": "user\u202etxt.exe",
    "isolates": "a\u2066b\u2069c",
    "hides": "pass\u200bword\u2060s\ufeff",
    "tags": "hello\U000e0041\U000e0042",
    "backspaces": "rm -rf\b\b\b\b\b\bls",
    "overwrites": "first line\rsecond",
    "markup": "[bold red]not markup[/bold red] <img src=x onerror=alert(1)>",
}
RAW = "\x1b\x07\x08\x9b\u202e\u2066\u2069\u200b\u2060\ufeff\U000e0041"


def stored(cli: Cli, texts: list[str]) -> None:
    with Memory(cli.environment["MEMORIST_DB"], project="atlas") as memory:
        memory.remember_many({"text": text, "title": text, "tags": ["word"]} for text in texts)


def test_stored_text_reaches_no_terminal_and_no_pipe_raw(cli: Cli) -> None:
    texts = [f"word {text}" for text in NASTY.values()]
    stored(cli, texts)
    first = Memory(cli.environment["MEMORIST_DB"], project="atlas").list(order="-number")[0].text
    assert first == texts[0]  # kept to the letter; only showing differs
    for words in (["list"], ["recall", "word", "-n", "20"], ["get", "1"], ["context", "word"], ["timeline"]):
        for shown in (cli(*words).out, cli.at_terminal(*words, NO_COLOR="1").out, cli(*words, "--json").out):
            assert not set(shown) & set(RAW), words
        assert "\\" in cli(*words).out, "written out"


def test_json_gives_back_what_was_stored(cli: Cli) -> None:
    stored(cli, list(NASTY.values()))
    answer = cli("list", "--order", "-number", "--json")
    assert answer.out.isascii() and "\x1b" not in answer.out
    assert [record["text"] for record in answer.json] == list(NASTY.values())


def test_an_error_repeats_nothing_raw(cli: Cli) -> None:
    for words in (["get", "\x1b[2J"], ["\x1b[2J"], ["list", "--where", '{"\x1b[2J": 1}'], ["list", "--\x1b[2J"]):
        ended = cli(*words)
        assert ended.code != 0 and "\x1b" not in ended.err


def test_markup_is_not_markup_at_a_terminal(cli: Cli) -> None:
    stored(cli, [NASTY["markup"]])
    assert "[bold red]not markup[/bold red]" in cli.at_terminal("list").out


# ---------------------------------------------------------------- colour


def test_colour_is_for_terminals_that_want_it(cli: Cli) -> None:
    stored(cli, ["A word"])
    assert "\x1b[" in cli.at_terminal("recall", "word").out
    assert "\x1b" not in cli("recall", "word").out
    for setting in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown = cli.at_terminal("recall", "word", **setting).out + cli.at_terminal("list", **setting).out
        assert "A word" in shown and "\x1b" not in shown
    assert json.loads(cli.at_terminal("list", "--json").out)[0]["text"] == "A word"


# ---------------------------------------------------------------- pipes, signals, streams


def test_a_reader_that_goes_away_ends_it_quietly(cli: Cli) -> None:
    stored(cli, [f"Memory number {number} of a long list {'x' * 200}" for number in range(1000)])
    program = " ".join(PROGRAM)
    script = f"{program} list --limit 1000 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, cwd=cli.folder, env=cli.env({}), timeout=60)
    line, code = done.stdout.decode().splitlines()
    assert line.startswith("[id:") and int(code) == 128 + signal.SIGPIPE
    assert done.stderr == b""


def test_an_interrupt_ends_it_quietly_and_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    cli("remember", "Original")
    script, ready = tmp_path / "editor.py", tmp_path / "ready"
    script.write_text(f"import pathlib, time\npathlib.Path({str(ready)!r}).touch()\ntime.sleep(30)\n")
    editing = cli.start(
        "edit",
        "1",
        environment={"VISUAL": f"{sys.executable} {script}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    editing.send_signal(signal.SIGINT)
    out, err = editing.communicate(timeout=30)
    assert (editing.returncode, out, err) == (130, b"", b"")
    assert cli("get", "1", "--json").json["version"] == 1
    assert cli("audit").code == 0


def test_an_interrupt_in_the_middle_of_a_batch_leaves_all_or_nothing_of_each_part(cli: Cli) -> None:
    with Memory(cli.environment["MEMORIST_DB"], project="atlas") as memory:
        for number in range(rounds(50, 0.02)):
            before = memory.count()
            child = cli.start("remember", "--batch", stdout=subprocess.DEVNULL)
            assert child.stdin
            child.stdin.write("\n".join(f"Line {n} of long batch {number}" for n in range(5000)).encode())
            child.stdin.close()
            child.stdin = None
            while memory.count() == before and child.poll() is None:
                time.sleep(0.01)
            time.sleep(0.01 * number)
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=60)[1]
            assert child.returncode in (0, 130, -signal.SIGINT) and b"Traceback" not in said
            assert memory.count() > before and memory.count() % 250 == 0, "batches are stored whole"
        assert memory.audit().ok and [finding for finding in memory.doctor() if not finding.ok] == []


def test_closed_and_full_streams_are_no_reason_to_crash(cli: Cli) -> None:
    program = " ".join(PROGRAM)

    def run(script: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["bash", "-c", script], capture_output=True, cwd=cli.folder, env=cli.env({}), timeout=60)

    assert run(f"{program} remember 'Nobody listens' >&- 2>&-").returncode == 0
    assert run(f"{program} remember 'Nobody speaks' <&-").returncode == 0
    missing = run(f"{program} remember <&-")
    assert missing.returncode == 2 and b"missing" in missing.stderr
    if Path("/dev/full").exists():
        full = run(f"{program} list > /dev/full")
        assert full.returncode == 1 and b"No space left" in full.stderr and b"Traceback" not in full.stderr
    assert cli("count").out == "2\n"


# ---------------------------------------------------------------- the world around it


def test_without_a_home_a_named_store_is_enough(cli: Cli, tmp_path: Path) -> None:
    nowhere = {"HOME": None, "MEMORIST_CONFIG": str(tmp_path / "config.toml")}
    assert cli("remember", "No home", **nowhere).code == 0
    assert "No home" in cli("list", **nowhere).out


def test_in_a_locale_of_plain_ascii(cli: Cli) -> None:
    ascii = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert cli("remember", "Grüße aus Köln 🎉", "--tag", "straße", **ascii).code == 0
    shown = cli("list", **ascii)
    assert shown.code == 0 and shown.out.isascii() and "Gr\\xfc\\xdfe" in shown.out
    record = cli("get", "1", "--json").json
    assert (record["text"], record["tags"]) == ("Grüße aus Köln 🎉", ["straße"])
    assert cli("recall", "köln", **ascii).out.startswith("[id:1]")
    assert cli("--help", **ascii).code == 0


def test_bytes_that_are_no_text_are_refused_and_marked_text_is_read(cli: Cli) -> None:
    for raw in (b"\xff\xfe\xfd", "Grüße".encode("latin-1"), b"half \xed\xa0\x80", b"cut \xe2\x82"):
        refused = cli("remember", stdin=raw)
        assert refused.code == 2 and "UTF-" in refused.err
    assert "UTF-8" in cli("remember", b"Gr\xfc\xdfe").err
    cli("remember", stdin="Grüße aus UTF-16\n".encode("utf-16"))
    cli("remember", stdin="\ufeffGrüße mit Marke\r\n".encode())
    texts = [record["text"] for record in cli("list", "--order", "-number", "--json").json]
    assert texts == ["Grüße aus UTF-16", "Grüße mit Marke"]


def test_a_very_long_argument_is_kept_whole_and_shown_short(cli: Cli) -> None:
    text = "word " * 25_000
    assert cli("remember", text.strip()).code == 0
    assert cli("get", "1", "--json").json["text"] == text.strip()
    assert len(cli("list").out) < 1000
    too_long = cli("remember", stdin="x" * 1_000_001)
    assert too_long.code == 2 and "1,000,000" in too_long.err
    assert cli("remember", stdin="x" * 5_000_000).code == 2


def test_many_command_lines_at_once(cli: Cli) -> None:
    started = [cli.start("remember", f"From process {number}") for number in range(6)]
    ended = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 6, ended
    assert cli("count").out == "6\n"
    assert cli("audit").code == 0


def test_the_folder_that_is_gone(cli: Cli) -> None:
    gone = cli.folder / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && {' '.join(PROGRAM)} list"
    env = cli.env({"MEMORIST_PROJECT": None, "PYTHONSAFEPATH": "1"})
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=env, timeout=60)
    assert done.returncode in (0, 1, 2) and b"Traceback" not in done.stderr


def test_a_question_does_not_wait_for_a_writer(cli: Cli) -> None:
    stored(cli, ["A word"])
    other = apsw.Connection(cli.environment["MEMORIST_DB"])
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    asked = cli("recall", "word")
    assert asked.code == 0 and "A word" in asked.out
    assert "recall log" in asked.err  # it says what it could not write
    assert time.monotonic() - started < 15
    other.execute("ROLLBACK")
    other.close()
