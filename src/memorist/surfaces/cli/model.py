"""Models at the command line: list them, show which are used, use another, and try the chat model.

A model is named by what the settings `embed` and `rerank` say, and `use` writes that into the user's own file: no file of a
project may name a model. `use` runs the model once first, so that it sets none that does not work. Upkeep moves the vectors;
`use` says what the store at hand needs.
"""

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, ModelUnavailable, meant
from memorist.models.chat import ChatFailed, ChatPort, about_data, chosen_chat
from memorist.models.embed import BUILT_IN, FOLDER, NONE, checked, chosen, shown
from memorist.models.onnx import NamedReranker, reranker
from memorist.models.remote import LADDER, RemoteChat
from memorist.surfaces import settings
from memorist.surfaces.cli.arguments import PLACE, Commands, Option
from memorist.surfaces.cli.config import store_needs
from memorist.surfaces.cli.screen import aside, one_line
from memorist.surfaces.cli.verbs import Place, opened

USES: Mapping[str, str] = {"embed": "meaning", "rerank": "second opinion", "chat": "judging, extraction, summaries"}
SENTENCE = "Which database does the staging server use?"
TRIAL_TASK = "Answer with the word that you are given."
TRIAL_FORM = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
LEAVES = "every text of the store goes to that server when upkeep moves the store, secrets in known formats excepted"


def list_models(place: Place) -> int:
    found = settings.all_settings(Path.cwd())
    used = {key: str(found[key][0]) for key in USES if key in found}
    size = sum(file.stat().st_size for file in FOLDER.iterdir())
    rows = [_row(name, "embed", 0 if name == NONE else size, costs) for name, costs in BUILT_IN.items()]
    for key, spelled in used.items():
        if spelled not in BUILT_IN:
            files = Path(spelled.removeprefix("onnx:")).rglob("*.onnx*") if spelled.startswith("onnx:") else ()
            costs = "milliseconds a text" if spelled.startswith("onnx:") else "a request for each batch of texts"
            rows.append(_row(spelled, key, sum(file.stat().st_size for file in files), costs))
    for row in rows:
        row["used_for"] = [USES[key] for key, spelled in used.items() if (spelled, key) == (row["name"], row["for"])]
    with opened(place) as memory:
        store = memory._vectors()
    screen = place.screen
    if screen.json:
        return screen.answer({"models": rows, "settings": used, "store": store})
    cells = [
        (", ".join(row["used_for"]), row["name"], f"{row['bytes'] / 1e6:,.0f} MB" if row["bytes"] else "", row["costs"])
        for row in rows
    ]
    screen.rows(("used for", "model", "size", "costs"), cells)
    for name, fact in store.items():
        screen.line(f"{name.replace('_', ' ')}: {one_line(str(fact))}")
    return 0


def _row(name: str, use: str, size: int, costs: str) -> dict[str, Any]:
    return {"name": name, "for": use, "bytes": size, "costs": costs}


def use_model(place: Place, name: str, rerank: bool = False) -> int:
    if name not in BUILT_IN and re.fullmatch(r"[\w.-]+", name):
        hint = f"{meant(name, BUILT_IN)}; `memorist model list` shows them, and onnx:FOLDER or the address of a server is one"
        raise Invalid(f"there is no model {name[:64]!r}{hint}")
    key = "rerank" if rerank else "embed"
    trial = _try_reranker(name) if rerank else _try_embedder(name)
    file = settings.set_setting(key, name, Path.cwd())
    now, source = settings.all_settings(Path.cwd())[key]
    then = "it is asked from the next question on" if rerank else store_needs(place)
    lines = [f"{key} is now {one_line(now or '')} ({one_line(str(file))} was written)"]
    if trial:
        numbers = f"{trial['dimension']:,} numbers a text, " if trial["dimension"] > 1 else ""
        lines.append(f"  it works: {one_line(trial['model'])}, {numbers}{trial['milliseconds']:.1f} ms for a sentence")
    lines += [f"  {one_line(then)}"] if then else []
    lines += [f"  {LEAVES}"] if name.lower().startswith("http") else []
    place.screen.answer({key: now, "from": source, "file": file, "trial": trial, "next": then}, *lines)
    if source != str(file):
        aside(f"{source} names another model, which is used here: {now}")
    return 0


def _try_embedder(name: str) -> dict[str, Any] | None:
    """What using it once showed; None for `none`."""
    embedder = chosen(name, settings.secret).make()
    if embedder is None:
        return None
    took = _milliseconds(lambda: checked(embedder, [SENTENCE]))
    return {"model": shown(embedder.name), "dimension": embedder.dimension, "milliseconds": took}


def _try_reranker(name: str) -> dict[str, Any] | None:
    judge = reranker(name, NONE)
    if not isinstance(judge, NamedReranker):
        return None
    took = _milliseconds(lambda: judge(SENTENCE, [SENTENCE]))
    return {"model": judge.model.name, "dimension": 1, "milliseconds": took}


def _milliseconds(use: Callable[[], object]) -> float:
    """The time of the second call; the first one loads the model."""
    use()
    start = time.perf_counter()
    use()
    return 1000 * (time.perf_counter() - start)


def try_model(place: Place, name: str | None = None) -> int:
    """Makes one call to the chat model that is named, or set, and shows the result."""
    chat = chosen_chat(name, settings.get_setting("chat", Path.cwd()) or NONE, settings.secret)
    if chat is None:
        raise Invalid(
            "no chat model is set: `memorist config set chat http://HOST/v1?model=NAME&key=VARIABLE` sets one"
        )
    port, started = ChatPort(chat), time.perf_counter()
    prompt = about_data(TRIAL_TASK, {"word": "heron"}, TRIAL_FORM, most=100)
    try:
        word = port.ask("trial", prompt, lambda answer: str(answer["word"])[:100])
    except ChatFailed as failed:
        raise ModelUnavailable(f"{failed.outcome}: {failed}") from failed
    took = 1000 * (time.perf_counter() - started)
    way = LADDER[chat.way] if isinstance(chat, RemoteChat) else ""
    return place.screen.answer(
        {"model": chat.name, "outcome": "ran", "way": way, "milliseconds": round(took, 1), "answer": word},
        f"it works: {one_line(chat.name)} answered {one_line(word)!r} in {took:,.0f} ms, by way of {way}",
    )


MODEL = Option("name", "A built-in model, onnx:FOLDER, or the address of a server.", needed=True)
CHAT = Option("name", "The address of a chat model; the one that is set without it.")
RERANK = Option(
    "rerank", "For the second opinion on hits: onnx:FOLDER of a cross-encoder, or none.", "--rerank", "flag"
)
commands: Commands = {
    "model list": (PLACE, list_models),
    "model use": ((MODEL, RERANK, *PLACE), use_model),
    "model try": ((CHAT, *PLACE), try_model),
}
