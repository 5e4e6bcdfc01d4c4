"""Transcripts and exports of other programs, in the shapes that they are known to have."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import rounds
from memorist import Memory
from memorist.errors import Invalid
from memorist.files.importers import places
from memorist.files.transfer import Imported, import_files
from memorist.records import Record
from memorist.surfaces.cli.app import run

pytestmark = pytest.mark.covers("S1-11", "S2-3", "N2-6")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", project="atlas") as memory:
        yield memory


def as_lines(values: Iterable[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def turns(memory: Memory) -> list[tuple[str | None, str]]:
    return [(turn.provenance.role, turn.text) for turn in all_turns(memory)]


def all_turns(memory: Memory) -> list[Record]:
    return memory.list({"kind": "turn"}, order="-number", limit=1000)


def sessions(memory: Memory) -> list[Record]:
    return memory.list({"kind": "session"}, order="-number")


@pytest.fixture
def brought(memory: Memory, tmp_path: Path) -> Callable[..., Imported]:
    def bring(content: str | bytes, name: str = "transcript.jsonl", **how: Any) -> Imported:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return import_files(memory, [tmp_path / name], **how)

    return bring


# ---------------------------------------------------------------- Claude Code


def claude(kind: str, content: Any, uuid: str, second: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "type": kind, "message": {"role": kind, "content": content}, "uuid": uuid, "parentUuid": None, "sessionId": "c-1",
        "timestamp": f"2026-03-01T10:00:{second:02}.000Z", "cwd": "/work", "gitBranch": "main", "version": "2.1", **more,
    }  # fmt: skip


CLAUDE = [
    {"type": "queue-operation", "operation": "enqueue", "sessionId": "c-1", "timestamp": "2026-03-01T09:59:59Z"},
    claude("user", "<system-reminder>Be brief.</system-reminder>Why does the build fail?", "u1"),
    claude("user", "Caveat: these messages were made by the program", "u2", isMeta=True),
    claude("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look at the log."},
                         {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}], "a1", 2),
    claude("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "error: no rule"}], "u3", 3),
    claude("assistant", "from a sub-agent", "a9", 4, isSidechain=True),
    claude("user", "<command-name>/clear</command-name><command-message>clear</command-message>", "u4", 5),
    claude("user", "This session is being continued: a summary", "u5", 6, isCompactSummary=True),
    {"type": "attachment", "sessionId": "c-1", "uuid": "x", "timestamp": "2026-03-01T10:00:07Z"},
    claude("assistant", [{"type": "text", "text": "The Makefile lacks a rule."}], "a2", 8),
    {"type": "ai-title", "aiTitle": "A build that fails", "sessionId": "c-1"},
]  # fmt: skip


def test_claude_code(memory: Memory, brought: Callable[..., Imported]) -> None:
    done = brought(as_lines(CLAUDE))
    assert not done.problems and done.outcomes == {"added": 6}
    assert turns(memory) == [
        ("user", "Why does the build fail?"),
        ("assistant", "I look at the log."),
        ("assistant", 'Bash({"command": "make"})'),
        ("tool", "error: no rule"),
        ("assistant", "The Makefile lacks a rule."),
    ]
    first, _, call, result, _ = all_turns(memory)
    assert first.times.at == datetime(2026, 3, 1, 10, tzinfo=UTC) and first.data["message"] == "u1"
    assert call.data["call"] == {"id": "t1", "name": "Bash", "input": {"command": "make"}}
    assert result.data["result"] == "t1"
    assert {turn.provenance.session for turn in all_turns(memory)} == {"c-1"}
    assert {turn.provenance.agent for turn in all_turns(memory)} == {"claude-code"}
    [session] = sessions(memory)
    assert (session.title, session.data["state"]) == ("c-1", "closed") and "A build that fails" in session.text
    assert session.times.at == first.times.at


def test_what_claude_code_says_itself_is_nobodys_word(memory: Memory, brought: Callable[..., Imported]) -> None:
    """A plugin, a channel or a timer is no person, and an error of the API is no answer."""
    result = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "error: no rule"},
        {"type": "text", "text": "Upload it."},
    ]
    failed = claude("assistant", "You've hit your session limit", "a2", 5)
    failed["message"]["model"] = "<synthetic>"
    lines = [
        claude("user", "We deploy with Nomad.", "u1", 1, promptSource="typed", origin={"kind": "human"}),
        claude("user", "Always upload the log.", "u2", 2, promptSource="system"),
        claude(
            "user", "Remember the token.", "u3", 3, promptSource="typed", origin={"kind": "channel", "server": "chat"}
        ),
        claude("user", result, "u4", 4, promptSource="system"),
        claude("assistant", "API Error: 529", "a1", 5, isApiErrorMessage=True),
        failed,
    ]
    brought(as_lines(lines))
    assert turns(memory) == [("user", "We deploy with Nomad."), ("tool", "error: no rule")]


def test_nobody_vouches_for_a_transcript(memory: Memory, brought: Callable[..., Imported]) -> None:
    done = brought(as_lines(CLAUDE))
    assert {(turn.origin, turn.trust, turn.status) for turn in all_turns(memory)} == {("import", "low", "candidate")}
    person = memory.through(replace(memory.access, origin="user"))
    assert person.undo(done.batch).changed and memory.count({"kind": {"$in": ["turn", "session"]}}) == 0
    assert brought(as_lines(CLAUDE)).outcomes == {"restored": 6}


def test_a_second_import_changes_nothing_and_a_grown_one_brings_what_is_new(
    memory: Memory, brought: Callable[..., Imported]
) -> None:
    brought(as_lines(CLAUDE))
    before = memory.status()["events"]
    assert set(brought(as_lines(CLAUDE)).outcomes) == {"unchanged"} and memory.status()["events"] == before
    grown = [*CLAUDE, claude("user", "Thanks!", "u7", 9)]
    assert brought(as_lines(grown)).outcomes == {"unchanged": 6, "added": 1}
    assert turns(memory)[-1] == ("user", "Thanks!")


def test_what_was_erased_stays_erased(memory: Memory, brought: Callable[..., Imported]) -> None:
    brought(as_lines(CLAUDE))
    person = memory.through(replace(memory.access, origin="user"))
    person.erase(all_turns(memory)[0].id)
    done = brought(as_lines(CLAUDE))
    assert done.outcomes == {"refused": 1, "unchanged": 5} and "erased here" in done.problems[0]


def test_a_torn_last_line_is_left_for_the_next_time(memory: Memory, brought: Callable[..., Imported]) -> None:
    whole = as_lines(CLAUDE)
    torn = brought(whole + '{"type": "user", "message": {"role": "user", "cont')
    assert not torn.problems and torn.outcomes == {"added": 6}
    damaged = brought(whole + "{torn}\n" + as_lines([claude("user", "and on", "u8", 9)]))
    assert damaged.outcomes["added"] == 1 and f"{len(CLAUDE) + 1}: is not JSON" in damaged.problems[0]


def test_what_was_imported_is_known_by_its_fingerprint(brought: Callable[..., Imported], tmp_path: Path) -> None:
    done = brought(as_lines(CLAUDE))
    content = (tmp_path / "transcript.jsonl").read_bytes()
    assert done.fingerprints == {str(tmp_path / "transcript.jsonl"): hashlib.sha256(content).hexdigest()}


def test_the_name_of_the_file_does_not_matter(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(as_lines(CLAUDE), "history.json").outcomes == {"added": 6}


def test_into_another_scope(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(as_lines(CLAUDE), scope="user/ann").outcomes == {"added": 6}
    assert {turn.scope for turn in all_turns(memory)} == {"user/ann"}
    assert set(brought(as_lines(CLAUDE), scope="user/ann").outcomes) == {"unchanged"}


def test_what_no_store_can_hold_is_replaced(memory: Memory, brought: Callable[..., Imported]) -> None:
    odd = claude("user", "a\x00b\ud800c", "u1")
    assert not brought(as_lines([odd, claude("assistant", "x" * 1_000_001, "a1")])).problems
    assert [text[:5] for _, text in turns(memory)] == ["a\ufffdb\ufffdc", "xxxxx"]


def test_a_page_of_ours_in_a_message_is_not_said_by_its_user(memory: Memory, brought: Callable[..., Imported]) -> None:
    memory.remember("Staging runs Postgres 16")
    pages = [
        memory.context("Which Postgres runs on staging?", style=style).text for style in ("plain", "xml", "markdown")
    ]
    assert all("Postgres 16" in page for page in pages)
    brought(as_lines(claude("user", f"{page}\n\nWhich one is it?", f"u{n}") for n, page in enumerate(pages)))
    assert all("Postgres 16" not in text and text.endswith("Which one is it?") for _, text in turns(memory))


# ---------------------------------------------------------------- Codex


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-02T08:00:00.000Z", "ordinal": 1, "type": kind, "payload": payload}


def words(role: str, text: str) -> dict[str, Any]:
    said = "output_text" if role == "assistant" else "input_text"
    return codex("response_item", type="message", role=role, content=[{"type": said, "text": text}])


CODEX = [
    codex("session_meta", id="x-1", cwd="/work/atlas", cli_version="0.166.0", source="cli"),
    words("developer", "<permissions instructions>"),
    words("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>"),
    words("user", "<skill>\n<name>memorist</name>\nRead it.\n</skill>"),
    words("user", "# AGENTS.md instructions for /work\n\nBe kind."),
    words("user", "Rename the table"),
    codex("event_msg", type="user_message", message="Rename the table"),
    codex("turn_context", cwd="/work", model="gpt"),
    codex("response_item", type="reasoning", summary=[]),
    codex("response_item", type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="k1"),
    codex("response_item", type="function_call_output", call_id="k1", output="schema.sql"),
    words("assistant", "Renamed."),
    codex("compacted", message="summary"),
    codex("world_state", state={}),
]


def test_codex(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(as_lines(CODEX)).outcomes == {"added": 5}
    assert turns(memory) == [
        ("user", "Rename the table"),
        ("assistant", 'shell({"command": ["ls"]})'),
        ("tool", "schema.sql"),
        ("assistant", "Renamed."),
    ]
    assert [session.title for session in sessions(memory)] == ["x-1"]
    assert set(brought(as_lines(CODEX)).outcomes) == {"unchanged"}


def test_a_fork_of_codex_is_a_session_of_its_own(memory: Memory, brought: Callable[..., Imported]) -> None:
    """Codex copies what its parent's file begins with, too."""
    brought(as_lines([codex("session_meta", id="x-2", cwd="/work/fork"), *CODEX]))
    assert [session.title for session in sessions(memory)] == ["x-2"]
    assert {(turn.provenance.session, turn.data["folder"]) for turn in all_turns(memory)} == {("x-2", "/work/fork")}


# ---------------------------------------------------------------- Gemini


def gemini(id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-03-03T08:00:00.000Z", "type": kind, "content": content, **more}


GEMINI = [
    {"sessionId": "g-1", "projectHash": "0a", "startTime": "2026-03-03T08:00:00.000Z"},
    gemini("1", "user", "Which port?"),
    gemini("2", "gemini", "8080", thoughts=[{"subject": "x"}]),
    gemini("2", "gemini", "8080, I think", tokens={"total": 3}),
    gemini("3", "user", [{"text": "No, look again"}]),
    gemini("4", "gemini", "", toolCalls=[{"id": "c1", "name": "grep", "args": {"q": "port"},
           "result": [{"functionResponse": {"response": {"output": "port = 9090"}}}]}]),
    {"$rewindTo": "3"},
    gemini("5", "user", "Look into the settings"),
    {"$set": {"summary": "About a port", "messages": [gemini("6", "gemini", "9090")]}},
    gemini("7", "info", "logged in"),
]  # fmt: skip


def test_gemini_is_replayed(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(as_lines(GEMINI)).outcomes == {"added": 5}
    assert turns(memory) == [
        ("user", "Which port?"),
        ("assistant", "8080, I think"),
        ("user", "Look into the settings"),
        ("assistant", "9090"),
    ]


def test_gemini_takes_all_back_where_it_rewinds_to_what_is_not_there(
    memory: Memory, brought: Callable[..., Imported]
) -> None:
    brought(as_lines([*GEMINI[:3], {"$rewindTo": "gone"}, gemini("9", "user", "Anew")]))
    assert turns(memory) == [("user", "Anew")]


def test_gemini_calls_tools_and_is_one_object_in_older_files(memory: Memory, brought: Callable[..., Imported]) -> None:
    whole = {**GEMINI[0], "messages": [GEMINI[1], GEMINI[5]]}
    brought(json.dumps(whole, indent=2), "session-1.json")
    assert turns(memory) == [("user", "Which port?"), ("assistant", 'grep({"q": "port"})'), ("tool", "port = 9090")]


# ---------------------------------------------------------------- exports of chat programs


def node(id: str, parent: str | None, role: str, content: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    message = {
        "id": id,
        "author": {"role": role},
        "create_time": 1772500000.5,
        "content": content,
        "metadata": {},
        **more,
    }
    return {"id": id, "parent": parent, "children": [], "message": message}


def text_of(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


CHATGPT = {
    "conversation_id": "o-1", "title": "Bread", "create_time": 1772500000.0, "current_node": "f",
    "mapping": {
        "r": {"id": "r", "parent": None, "children": ["a"], "message": None},
        "a": node("a", "r", "system", text_of("You are helpful")),
        "b": node("b", "a", "user", text_of("How long does bread rise?")),
        "c": node("c", "b", "assistant", text_of("Two hours.")),
        "d": node("d", "b", "assistant", {"content_type": "thoughts", "thoughts": []}),
        "e": node("e", "d", "assistant", text_of("One hour, in the warm.")),
        "x": node("x", "e", "user", text_of("hidden"), metadata={"is_visually_hidden_from_conversation": True}),
        "f": node("f", "x", "user", {"content_type": "multimodal_text",
                  "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://p"}, "This?"]}),
    },
}  # fmt: skip
CLAUDE_AI = {
    "uuid": "d-1", "name": "Tea", "created_at": "2026-03-04T08:00:00Z", "account": {"uuid": "me"},
    "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "How hot?", "created_at": "2026-03-04T08:00:00.000000Z",
         "content": [{"type": "text", "text": "How hot?"}], "attachments": [{"file_name": "t.txt", "extracted_content": "80"}]},
        {"uuid": "2", "sender": "assistant", "text": "80 degrees.", "created_at": "2026-03-04T08:00:05Z", "content": []},
    ],
}  # fmt: skip


def test_chatgpt_follows_the_way_to_the_last_message(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(json.dumps([CHATGPT]), "conversations.json").outcomes == {"added": 4}
    assert turns(memory) == [
        ("user", "How long does bread rise?"), ("assistant", "One hour, in the warm."), ("user", "This?"),
    ]  # fmt: skip
    assert all_turns(memory)[-1].data["images"] == ["file-service://p"]
    assert all_turns(memory)[0].times.at == datetime.fromtimestamp(1772500000.5, UTC)
    assert sessions(memory)[0].text == "Session o-1 of chatgpt: Bread"
    assert set(brought(json.dumps([CHATGPT]), "conversations.json").outcomes) == {"unchanged"}


def test_a_circle_in_a_conversation_ends(memory: Memory, brought: Callable[..., Imported]) -> None:
    odd = {"a": node("a", "b", "user", text_of("one")), "b": node("b", "a", "user", text_of("two"))}
    assert brought(json.dumps([{**CHATGPT, "mapping": odd, "current_node": "b"}]), "c.json").outcomes == {"added": 3}
    assert {text for _, text in turns(memory)} == {"one", "two"}


def test_claude_ai(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(json.dumps([CLAUDE_AI]), "conversations.json").outcomes == {"added": 3}
    assert turns(memory) == [("user", "How hot?\nt.txt:\n80"), ("assistant", "80 degrees.")]
    assert sessions(memory)[0].text.endswith("Tea")


@pytest.mark.parametrize("conversation", [CHATGPT, CLAUDE_AI], ids=["chatgpt", "claude.ai"])
def test_also_inside_their_zip(memory: Memory, tmp_path: Path, conversation: Any) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
        archive.writestr("users.json", "[]")
        archive.writestr("pictures/p.png", b"\x89PNG")
    done = import_files(memory, [tmp_path / "export.zip"])
    assert done.outcomes["added"] >= 3 and done.files == (f"{tmp_path}/export.zip/conversations.json",)


# ---------------------------------------------------------------- memories of other programs

SERVER = [
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["prefers tabs", "lives in Lyon"]},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"},
]


def test_server_memory(memory: Memory, brought: Callable[..., Imported]) -> None:
    done = brought(as_lines(SERVER), "memory.jsonl")
    assert done.outcomes == {"added": 5, "linked": 1} and not done.problems
    ann = memory.list({"kind": "entity", "title": "Ann"})[0]
    assert {record.text for record in memory.list({"kind": "fact"})} == {
        "Ann: prefers tabs", "Ann: lives in Lyon", "Ann works at Acme",
    }  # fmt: skip
    [link] = [each for each in memory.links(ann.id) if each.a == ann.id]
    assert (link.kind, link.evidence, memory.get(link.b).title) == ("relates_to", "works_at", "Acme")
    assert brought(as_lines(SERVER), "memory.jsonl").outcomes == {"unchanged": 5}


MEM0 = [
    {"id": "5f1", "memory": "Likes green tea", "hash": "h", "user_id": "ann", "created_at": "2025-07-01T10:00:00-07:00",
     "updated_at": None, "metadata": {"mood": "calm"}, "categories": ["food"]},
    {"id": "5f2", "memory": "The build needs Go 1.24", "agent_id": "coder", "run_id": "r1", "created_at": None},
]  # fmt: skip


@pytest.mark.parametrize(
    "shape",
    [lambda found: found, lambda found: {"results": found}, lambda found: {"memories": found, "count": 2}],
    ids=["list", "results", "memories"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_mem0(
    memory: Memory, brought: Callable[..., Imported], shape: Callable[[Any], Any], indent: int | None
) -> None:
    content = json.dumps(shape(MEM0), indent=indent)
    assert brought(content, "mem0.json").outcomes == {"added": 2}
    tea = memory.list({"scope": "user/ann"})[0]
    assert (tea.text, tea.tags, tea.data["said"]) == ("Likes green tea", ("food",), {"mood": "calm"})
    assert tea.times.at == datetime(2025, 7, 1, 17, tzinfo=UTC)
    assert memory.list({"agent": "coder"})[0].provenance.session == "r1"
    assert brought(content, "mem0.json").outcomes == {"unchanged": 2}


def test_an_import_says_whose_its_memories_are_and_an_empty_answer_that_users_have_some(
    memory: Memory, brought: Callable[..., Imported]
) -> None:
    done = brought(json.dumps(MEM0[:1]), "mem0.json")
    assert done.notes == ("1 belongs to user/ann: ask with --user ann, in Python with user='ann'",)
    empty = memory.recall("who likes green tea?")
    assert not empty and "; user-scoped memories exist; pass user=" in str(empty.empty_because)
    assert "ann" not in str(empty.empty_because), "one user is not told of another"
    assert memory.recall("who likes green tea?", user="ann")[0].record.text == "Likes green tea"
    assert "user-scoped" not in str(memory.recall("thanks!").empty_because), "nothing was asked"
    for told in (memory.recall("zebra", user="ann"), memory.recall("zebra", scope="project/atlas")):
        assert "user-scoped" not in str(told.empty_because)
    narrow = memory.through(replace(memory.access, reads=("project/atlas",)))
    assert "user-scoped" not in str(narrow.recall("who likes green tea?").empty_because)


def test_what_users_said_is_not_told_of_as_memories(memory: Memory) -> None:
    memory.ingest([{"role": "user", "content": "I like green tea"}], session="s1", user="ann")
    assert "user-scoped" not in str(memory.recall("zebra").empty_because)


def test_of_many_users_the_first_are_named_and_the_rest_is_counted(
    memory: Memory, brought: Callable[..., Imported], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.files.transfer.MOST_USERS", 8)
    many = [{"id": f"x{n}", "memory": f"Fact {n}", "user_id": f"user{n}"} for n in range(20)]
    done = brought(json.dumps(many), "mem0.json")
    assert len(done.notes) == 6 and done.notes[-1].startswith("15 more belong to other users")


OWN = [
    {"id": "1", "role": "user", "content": "List the files", "timestamp": "2026-03-05T08:00:00Z"},
    {"id": "k", "role": "tool_call", "name": "ls", "input": {"path": "."}, "timestamp": "2026-03-05T08:00:01Z"},
    {"id": "k", "role": "tool_result", "content": "a.py", "timestamp": "2026-03-05T08:00:02Z"},
    {"id": "2", "role": "assistant", "content": "One: a.py", "timestamp": "2026-03-05T08:00:03Z"},
]


def test_transcripts_of_our_own(memory: Memory, brought: Callable[..., Imported]) -> None:
    assert brought(as_lines(OWN), "monday.jsonl").outcomes == {"added": 5}
    assert [role for role, _ in turns(memory)] == ["user", "assistant", "tool", "assistant"]
    assert turns(memory)[1] == ("assistant", 'ls({"path": "."})')
    assert [session.title for session in sessions(memory)] == ["monday"]


def test_a_line_that_a_store_wrote_is_known_there_and_keeps_its_id_elsewhere(
    memory: Memory, brought: Callable[..., Imported]
) -> None:
    said = memory.remember("List the files", kind="turn", role="user", session="monday")
    line = {"memory": said.id, **OWN[0], "speaker": "Ann"}
    assert brought(as_lines([line]), "monday.jsonl").outcomes == {"unchanged": 1, "added": 1}, "and the session"
    with Memory(":memory:", project="atlas") as other:
        import_files(other, [brought(as_lines([line]), "monday.jsonl").files[0]])
        assert (other.get(str(said.id)).text, other.get(str(said.id)).provenance.speaker) == ("List the files", "Ann")


def test_a_note_of_basic_memory_keeps_its_facts_and_relations(memory: Memory, tmp_path: Path) -> None:
    note = "---\ntitle: Coffee\ntype: note\ntags: [drinks]\npermalink: coffee\ncreated: 2025-05-01\n---\n"
    note += "## Observations\n- [method] Pour over takes four minutes #brewing (at home)\n"
    note += "- [decision] We buy beans in May\n- plain words\n\n## Relations\n- relates_to [[Tea]]\n"
    (tmp_path / "coffee.md").write_text(note)
    import_files(memory, [tmp_path / "coffee.md"])
    found = {record.text: record for record in memory.list(limit=10)}
    assert set(found) == {
        "Pour over takes four minutes  (at home)", "We buy beans in May", "plain words", "Coffee relates to [[Tea]]",
    }  # fmt: skip
    assert found["Pour over takes four minutes  (at home)"].tags == ("drinks", "method", "brewing")
    assert found["We buy beans in May"].kind == "decision"
    assert all(record.times.at.year == 2025 for record in found.values())
    (tmp_path / "plain.md").write_text(note.replace("permalink: coffee\n", "").replace("[method]", "[mode]"))
    import_files(memory, [tmp_path / "plain.md"])
    assert any(record.text.startswith("[mode] Pour") for record in memory.list(limit=10)), "no note of that sort"


@pytest.mark.parametrize("mark", [".obsidian", "permalink"])
def test_a_vault_is_read_whole_and_any_other_folder_of_markdown_is_not(
    memory: Memory, tmp_path: Path, mark: str
) -> None:
    vault = tmp_path / "vault"
    (vault / "drinks").mkdir(parents=True)
    (vault / ".trash").mkdir()
    (vault / "drinks" / "tea.md").write_text("- Tea is hot\n")
    (vault / ".trash" / "old.md").write_text("- Thrown away\n")
    with pytest.raises(Invalid, match=r"holds no MEMORY\.md"):
        import_files(memory, [vault])
    if mark == ".obsidian":
        (vault / mark).mkdir()
    else:
        (vault / "a.md").write_text("---\ntitle: A\npermalink: a\n---\n- Alpha\n")
    import_files(memory, [vault])
    assert {record.text for record in memory.list()} - {"Alpha"} == {"Tea is hot"}


# ---------------------------------------------------------------- whatever they hold

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SHAPES: dict[str, list[Any]] = {
    "claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "server": SERVER, "own": OWN, "mem0": MEM0,
    "chatgpt": [CHATGPT], "claude.ai": [CLAUDE_AI],
}  # fmt: skip


def changed(value: Any, way: list[int], new: Any) -> Any:
    """The value with something else somewhere inside."""
    if not way or not isinstance(value, dict | list) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[way[0] % len(keys)]
    if isinstance(value, dict):
        return {**value, key: changed(value[key], way[1:], new)}
    return [changed(each, way[1:], new) if place == key else each for place, each in enumerate(value)]


@settings(max_examples=rounds(2000), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    ways=st.lists(st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=5), ANY), max_size=3),
    listed=st.booleans(),
)
def test_nonsense_inside_never_ends_an_import(shape: str, ways: list[Any], listed: bool, tmp_path: Path) -> None:
    found: Any = SHAPES[shape]
    for way, new in ways:
        found = changed(found, way, new)
    content = json.dumps(found) if listed or not isinstance(found, list) else as_lines(found)
    (tmp_path / "x.json").write_text(content)
    with Memory(":memory:", project="atlas") as memory:
        try:
            done = import_files(memory, [tmp_path / "x.json"])
        except Invalid as problem:
            assert str(tmp_path) in str(problem) and memory.count() == 0
            return
        assert all(problem.startswith(str(tmp_path)) for problem in done.problems)
        again = import_files(memory, [tmp_path / "x.json"])
        assert set(again.outcomes) <= {"unchanged", "refused"} and memory.audit().ok


# ---------------------------------------------------------------- where they lie


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, folder in (("CLAUDE_CONFIG_DIR", "claude"), ("CODEX_HOME", "codex"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    (tmp_path / "work").mkdir()
    return tmp_path


def put(path: Path, values: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_lines(values))
    return path


def test_transcripts_of_this_project_are_found_and_no_others(home: Path) -> None:
    root, named = home / "work", str(home / "work").replace("/", "-").replace("_", "-")
    mine = put(home / "claude" / "projects" / named / "c-1.jsonl", CLAUDE)
    put(home / "claude" / "projects" / named / "c-1" / "subagents" / "s.jsonl", CLAUDE)
    put(home / "claude" / "projects" / "-elsewhere" / "c-2.jsonl", CLAUDE)
    assert [source.path for source in places.transcripts("claude-code", None, root, home / "claude")] == [mine]
    meta = codex("session_meta", id="x-2", cwd=str(root / "sub"))
    here = put(home / "codex" / "sessions" / "2026" / "03" / "02" / "rollout-1.jsonl", [meta, *CODEX[1:]])
    put(home / "codex" / "sessions" / "2026" / "03" / "02" / "rollout-2.jsonl", CODEX)
    assert [source.path for source in places.transcripts("codex", None, root, home / "codex")] == [here]
    chats = put(home / "home" / ".gemini" / "tmp" / "atlas" / "chats" / "session-1.jsonl", GEMINI)
    put(home / "home" / ".gemini" / "tmp" / "other" / "chats" / "session-1.jsonl", GEMINI)
    (home / "home" / ".gemini" / "projects.json").write_text(json.dumps({"projects": {str(root): "atlas"}}))
    assert [source.path for source in places.transcripts("gemini", None, root, home / "home" / ".gemini")] == [chats]
    for name in ("claude-code", "codex", "gemini"):
        with pytest.raises(Invalid, match="holds no transcripts of"):
            places.transcripts(name, None, home / "nowhere", home / "claude")


def test_a_folder_that_is_named_is_read_and_nothing_outside_it(home: Path) -> None:
    outside = put(home / "secret" / "s.jsonl", CLAUDE)
    folder = home / "all"
    inside = put(folder / "a" / "one.jsonl", CLAUDE)
    put(folder / "a" / "subagents" / "two.jsonl", CLAUDE)
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "way").symlink_to(outside.parent)
    assert [source.path for source in places.transcripts("claude-code", folder, home, home)] == [inside]
    (home / "home" / ".gemini").mkdir(parents=True)
    (home / "home" / ".gemini" / "projects.json").write_text(json.dumps({"projects": {str(home): "../../secret"}}))
    with pytest.raises(Invalid, match="holds no transcripts"):
        places.transcripts("gemini", None, home, home / "home" / ".gemini")


def test_from_the_command_line(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(home / "work")
    named = str(home / "work").replace("/", "-").replace("_", "-")
    put(home / "claude" / "projects" / named / "c-1.jsonl", CLAUDE)
    assert run(["import", "claude-code"]) == 0
    assert "imported 1 file: 6 added" in capsys.readouterr().out
    assert run(["import", "claude-code"]) == 0 and "6 unchanged" in capsys.readouterr().out
    file = put(home / "elsewhere.jsonl", CODEX)
    assert run(["import", "codex", str(file)]) == 0 and "5 added" in capsys.readouterr().out
    assert run(["import", str(put(home / "again.jsonl", GEMINI))]) == 0 and "5 added" in capsys.readouterr().out
    assert run(["import", "gemini"]) != 0 and "name a folder" in capsys.readouterr().err
    (home / "work" / "codex").write_text("a document that is called so")
    assert run(["import", "codex"]) == 0, "a file of that name is meant"


def test_packed_transcripts_of_codex_are_named_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose they are cannot be told, so they are no problem of this import."""
    monkeypatch.chdir(home / "work")
    day = home / "codex" / "sessions" / "2026" / "03" / "02"
    put(day / "rollout-1.jsonl", [codex("session_meta", id="x-2", cwd=str(home / "work")), *CODEX[1:]])
    for name in ("rollout-2.jsonl.zst", "rollout-3.jsonl.zst"):
        (day / name).write_bytes(b"\x28\xb5\x2f\xfd")
    assert run(["import", "codex"]) == 0
    said = capsys.readouterr()
    assert "5 added" in said.out and said.err.count("2 transcripts are packed, and not read: ") == 1
    assert "rollout-2.jsonl.zst and others; unpack" in said.err
    (day / "rollout-1.jsonl").unlink()
    (day / "rollout-2.jsonl.zst").unlink()
    assert run(["import", "codex"]) != 0
    said = capsys.readouterr()
    assert "1 transcript is packed, and not read: " in said.err and "holds no transcripts of codex" in said.err
