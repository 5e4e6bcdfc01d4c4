"""Models at the command line: list them, show which are used, use another, and add one of your own.

A name stands for what the settings `embed`, `embed_turns` and `rerank` say, and `use` writes that into the user's own
file: no file of a project may name a model. `use` runs the model once first, so that it sets none that does not work.
Upkeep moves the vectors; `use` says what the store at hand needs.
"""

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memorist.errors import Invalid, ModelUnavailable, meant
from memorist.models.added import AddedModel, AddedModels, Trial, Use, tried
from memorist.models.chat import ChatFailed, ChatPort, about_data, checked_chat, chosen_chat
from memorist.models.completions import LADDER, RemoteChat
from memorist.models.embed import BUILT_IN, DEFAULT_TURNS, FOLDER, NONE
from memorist.models.onnx import graph_in
from memorist.surfaces import settings
from memorist.surfaces.cli.arguments import JSON, PLACE, Commands, Option
from memorist.surfaces.cli.config import store_needs
from memorist.surfaces.cli.screen import aside, one_line
from memorist.surfaces.cli.verbs import Place, opened

FOR: Mapping[str, str] = {
    "embed": "memories",
    "embed_turns": "turns",
    "rerank": "second opinion",
    "chat": "judging, extraction, summaries",
}
GIVES: Mapping[Use, str] = {
    "rerank": "is a cross-encoder, which gives a second opinion and no vectors; leave --turns out",
    "embed": "gives vectors, and no second opinion on a question; leave --rerank out",
}
ASKED = "it is asked from the next question on"
TRIAL_TASK = "Answer with the word that you are given."
TRIAL_FORM = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
LEAVES = "every text of the store goes to that server when upkeep moves the store, secrets in known formats excepted"


def _added() -> AddedModels:
    file, folder = settings.models_file(), settings.models_folder()
    if file is None or folder is None:
        raise Invalid("there is no home folder to keep models in; set HOME to a folder")
    return AddedModels(file, folder)


# ---------------------------------------------------------------- which there are


def list_models(place: Place) -> int:
    used, added = _used(), _added().all()
    rows = [*_built_in(), *(_row(each) for each in added.values()), *_others(used, added)]
    for row in rows:
        row["used_for"] = [FOR[key] for key, spelled in used.items() if spelled == row["spelled"] and _fits(key, row)]
    with opened(place) as memory:
        store = memory._vectors()
    screen = place.screen
    if screen.json:
        return screen.answer({"models": rows, "settings": used, "store": store})
    screen.rows(("used for", "model", "size", "costs", "from"), [_cells(row) for row in rows])
    for name, fact in store.items():
        screen.line(f"{name.replace('_', ' ')}: {one_line(str(fact))}")
    return 0


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    size = f"{row['bytes'] / 1_000_000:,.0f} MB" if row["bytes"] else ""
    return ", ".join(row["used_for"]), row["name"], size, row["costs"], row["from"]


def _used() -> dict[str, str | None]:
    """What each setting says; turns use the model for memories, unless they have their own."""
    found = settings.all_settings(Path.cwd())
    said = {key: found[key][0] for key in FOR if key in found}
    turns = DEFAULT_TURNS if found["embed"][1] == "default" else said["embed"]
    return {**said, "embed_turns": said.get("embed_turns") or turns}


def _fits(key: str, row: Mapping[str, Any]) -> bool:
    return bool(row["for"] == (key if key in ("rerank", "chat") else "embed"))


def _built_in() -> Iterator[dict[str, Any]]:
    size = sum(file.stat().st_size for file in FOLDER.iterdir())
    for name, costs in BUILT_IN.items():
        yield _told(name, "embed", name, 0 if name == NONE else size, costs, "built in")


def _row(model: AddedModel) -> dict[str, Any]:
    folder = model.folder
    if folder is None:
        return _told(model.name, model.use, model.spelled, 0, "a request for each batch of texts", model.spelled)
    graph = graph_in(folder)
    costs = "milliseconds a text" if model.use == "embed" else "milliseconds for each of 15 hits a question"
    if graph is None:
        costs = "cannot be used: its graph is gone"
    return _told(model.name, model.use, model.spelled, graph.stat().st_size if graph else 0, costs, str(folder))


def _others(used: Mapping[str, str | None], added: Mapping[str, AddedModel]) -> Iterator[dict[str, Any]]:
    """Settings whose model has no name here."""
    known = {*BUILT_IN, *(each.spelled for each in added.values())}
    for key, spelled in used.items():
        if key == "chat" and spelled and spelled != NONE:
            yield _told(spelled, "chat", spelled, 0, "a request for each use, which `status` counts", "settings")
        elif spelled and spelled not in known:
            known.add(spelled)
            use: Use = "rerank" if key == "rerank" else "embed"
            yield _row(AddedModel(spelled, use, spelled)) | {"from": "settings"}


def _told(name: str, use: str, spelled: str, size: int, costs: str, where: str) -> dict[str, Any]:
    return {"name": name, "for": use, "spelled": spelled, "bytes": size, "costs": costs, "from": where}


# ---------------------------------------------------------------- using one


def use_model(place: Place, name: str, turns: bool = False, rerank: bool = False) -> int:
    key, spelled = _meant(name, turns, rerank)
    trial = tried("rerank" if key == "rerank" else "embed", spelled, settings.secret)
    file = settings.set_setting(key, spelled, Path.cwd())
    now, source = settings.all_settings(Path.cwd())[key]
    then = ASKED if key == "rerank" else store_needs(place)
    document = {key: now, "from": source, "file": file, "trial": trial, "next": then}
    told = [f"{key} is now {one_line(now or '')} ({one_line(str(file))} was written)", *_shown(trial)]
    told += [f"  {one_line(then)}"] if then else []
    told += [f"  {LEAVES}"] if spelled.lower().startswith("http") else []
    place.screen.answer(document, *told)
    if source != str(file):
        aside(f"{source} names another model, which holds here: {now}")
    return 0


def _meant(name: str, turns: bool, rerank: bool) -> tuple[str, str]:
    """The setting that is meant, and its new value."""
    if turns and rerank:
        raise Invalid("a model is used for turns or as a second opinion; give --turns or --rerank, not both")
    added = _added().all()
    key = "embed_turns" if turns else "rerank" if rerank else "embed"
    if name not in added:
        return key, _spelled(name, added)
    known = added[name]
    if {"rerank": turns, "embed": rerank}[known.use]:
        raise Invalid(f"{name} {GIVES[known.use]}")
    return key if turns else known.use, known.spelled


def _spelled(name: str, added: Mapping[str, AddedModel]) -> str:
    """A name that is its own value: a built-in model, a folder, an address."""
    if name in BUILT_IN or not re.fullmatch(r"[\w.-]+", name):
        return name
    raise Invalid(
        f"there is no model {name[:64]!r}{meant(name, [*BUILT_IN, *added])}; `memorist model list` shows them, "
        "`memorist model add FOLDER` adds one"
    )


def _shown(trial: Trial | None) -> list[str]:
    if trial is None:
        return []
    numbers = f"{trial.dimension:,} numbers a text, " if trial.dimension > 1 else ""
    return [f"  it works: {one_line(trial.model)}, {numbers}{trial.milliseconds:.1f} ms for a sentence"]


def try_model(place: Place, name: str | None = None) -> int:
    """Makes one call to the chat model that is named, or set, and shows the result."""
    spelled = settings.get_setting("chat", Path.cwd()) if name is None else checked_chat(name)
    chat = chosen_chat(spelled or NONE, NONE, settings.secret)
    if chat is None:
        raise Invalid(
            "no chat model is set: `memorist config set chat http://HOST/v1?model=NAME&key=VARIABLE` sets one"
        )
    port, started = ChatPort(chat), time.perf_counter()
    try:
        said = port.ask(
            "trial", about_data(TRIAL_TASK, {"word": "heron"}, TRIAL_FORM, most=100), lambda told: str(told["word"])
        )
    except ChatFailed as failed:
        raise ModelUnavailable(f"{failed.outcome}: {failed}") from failed
    took = 1000 * (time.perf_counter() - started)
    way = LADDER[chat.way] if isinstance(chat, RemoteChat) else ""
    document = {"model": chat.name, "outcome": "ran", "way": way, "milliseconds": round(took, 1), "answer": said[:100]}
    return place.screen.answer(
        document,
        f"it works: {one_line(chat.name)} answered {one_line(said[:100])!r} in {took:,.0f} ms, by way of {way}",
    )


# ---------------------------------------------------------------- adding and removing


def add_model(place: Place, folder: str, name: str | None = None) -> int:
    models = _added()
    added, trial = models.add(folder, name, settings.secret)
    what = "a cross-encoder for a second opinion" if added.use == "rerank" else "an embedder"
    where = "converted into" if models.made_here(added) else "it stays in" if added.folder else "it is asked at"
    return place.screen.answer(
        {"name": added.name, "for": added.use, "spelled": added.spelled, "converted": models.made_here(added), "trial": trial},
        f"{added.name} is added: {what}; {where} {one_line(str(added.folder or added.spelled))}",
        *_shown(trial),
        f"  `memorist model use {added.name}` uses it",
    )  # fmt: skip


def remove_model(place: Place, name: str) -> int:
    models = _added()
    known = models.all().get(name)
    for key, spelled in _used().items():
        if known is not None and spelled == known.spelled and (key == "rerank") == (known.use == "rerank"):
            another = "none --rerank" if key == "rerank" else "static"
            raise Invalid(f"{name} is used for {FOR[key]}; use another first, such as `memorist model use {another}`")
    gone = models.remove(name)
    kept = "" if models.made_here(gone) or gone.folder is None else f"; its folder stays: {gone.folder}"
    return place.screen.answer(
        {"name": name, "spelled": gone.spelled}, f"{name} is no longer a name of a model{one_line(kept)}"
    )


# ---------------------------------------------------------------- the table

MODEL = Option("name", "A name that `model list` shows, onnx:FOLDER, or the address of a server.", needed=True)
CHAT = Option("name", "The address of a chat model; the one that is set without it.")
TURNS = Option("turns", "Only for the turns of conversations.", "--turns", "flag")
RERANK = Option("rerank", "For the second opinion on hits; needed with onnx:FOLDER and none.", "--rerank", "flag")
CALLED = Option("name", "What it is called; the folder's own name without it.", "--name", placeholder="NAME")
SOURCE = Option(
    "folder", "A folder with an ONNX graph or with weights (model.safetensors), or the address of a server.", type="path",
    needed=True,
)  # fmt: skip
commands: Commands = {
    "model list": (PLACE, list_models),
    "model use": ((MODEL, TURNS, RERANK, *PLACE), use_model),
    "model try": ((CHAT, *PLACE), try_model),
    "model add": ((SOURCE, CALLED, JSON), add_model),
    "model remove": ((Option("name", "A name that was added.", needed=True), JSON), remove_model),
}
