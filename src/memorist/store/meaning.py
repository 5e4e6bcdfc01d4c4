"""Vectors in a store: `Meaning` reads them and is a tool of every query; `Generations` makes them and belongs to the writer.

A generation holds the vectors of one model for some layers. A process has one model for all layers, or one for memories and
another for turns, documents and the archive; it writes and reads the vectors of its own models and leaves others alone.
`may_move` decides when a layer moves from one model to another, by a rule that keeps two processes with different models from
moving it back and forth (docs/why/0010-generations.md). Vectors are derived data: they are not journalled, a row without one
is found by words and waits for upkeep, and trouble with a model never prevents a memory from being stored.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from memorist.errors import MemoristError, ModelUnavailable, StoreDamaged
from memorist.kinds import ARCHIVE, DOCUMENTS, LAYERS, TURNS
from memorist.lazy import dataclass
from memorist.models.embed import (
    NO_EMBEDDER,
    NONE,
    Choice,
    Embedder,
    built_in,
    checked,
    dimension_of,
    shown,
)
from memorist.patience import Patience
from memorist.records import Record
from memorist.redact import Redactor, nothing_but_marks
from memorist.redact.own import NO_RULES, Own
from memorist.store.index import CHUNKS, embedded_rows
from memorist.store.nouns import Commit, Generation, Piece, Sealed, layer_of, parts
from memorist.store.packing import pack
from memorist.store.protocol import Store

if TYPE_CHECKING:
    from memorist.models.embed import Floats

# The layers of `turns`. Forgotten memories arrive there by the thousand and are seldom searched; documents are long, and
# for long texts the built-in table finds as much (docs/why/0032).
OF_TURNS = (TURNS, DOCUMENTS, ARCHIVE)
LEFT = "models left"  # the setting that names the models that a layer of this store has moved away from
LEFT_AT_MOST = 50
REST = 30.0  # seconds during which no query waits for an embedder that has just failed
LATE = "meaning was left out: the embedder did not answer before the deadline, so words alone answer"
EMBEDDED_AT_ONCE = 500  # rows that get their vectors in one transaction
A_FEW = 8  # the same, while somebody waits
SOON = 8  # records of one write that a local model embeds right away, even if it is not cheap
SOON_IN = 0.05  # seconds a row; slower models are not used for that
MOST_TOLD = 100  # waiting rows mentioned in an answer; more are not counted
log = logging.getLogger("memorist")


class OwnModel:
    """A model of this process, and the layers it is for."""

    def __init__(self, choice: Choice, layers: tuple[str, ...], failed: Callable[[Exception], None]) -> None:
        self.choice = choice
        self.layers = layers
        self.pace = 0.0  # seconds per row when some were last embedded right after their write
        self._failed = failed
        self._lock = threading.Lock()
        self._made: tuple[Embedder | None] | None = None

    def embedder(self) -> Embedder | None:
        """None if there is none or it cannot be made, which is tried only once."""
        with self._lock:
            if self._made is None:
                self._made = (self._make(),)
        return self._made[0]

    def _make(self) -> Embedder | None:
        try:
            return self.choice.make()
        except MemoristError as problem:
            self._failed(problem)
        except Exception as problem:  # it may be anybody's code
            self._failed(ModelUnavailable(f"the embedder cannot be made ({type(problem).__name__})"))
        return None

    @property
    def wanted(self) -> str | None:
        """Its name; None if it could not be made, which says nothing about the store."""
        embedder = self.embedder()
        if embedder is not None:
            return embedder.name
        return NONE if self.choice.spelled == NONE and self.choice.asked else None

    def among(self, layers: Collection[str]) -> tuple[str, ...]:
        return tuple(layer for layer in self.layers if layer in layers)

    def reads(self, layers: Collection[str]) -> tuple[str, ...]:
        """The layers among these for which it embeds a query. A process without an embedder reads no vectors."""
        return () if self.choice.spelled == NONE else self.among(layers)


class Meaning:
    """Tells which vectors of a store can be read, and turns a query into vectors for them."""

    def __init__(
        self, store: Store, choice: Choice = NO_EMBEDDER, turns: Choice | None = None, own: Own = NO_RULES
    ) -> None:
        self.store = store
        self.problem: str | None = None  # why an embedder cannot be used, if so
        self.redactor = Redactor(secret_of(store), own)  # an endpoint must not see what the store must not hold
        self._former: dict[str, Embedder | None] = {}
        self._resting: dict[str, float] = {}  # embedders that failed a question, and until when no other waits for them
        self._warned = False
        self._patience = Patience()
        given: dict[tuple[str, ...], Choice] = {LAYERS: choice}
        if turns is not None and (turns.spelled, turns.asked) != (choice.spelled, choice.asked):
            given = {tuple(each for each in LAYERS if each not in OF_TURNS): choice, OF_TURNS: turns}
        self.models = tuple(OwnModel(each, layers, self.failed) for layers, each in given.items())

    # ------------------------------------------------------------ embedders

    @property
    def choice(self) -> Choice:
        """The model chosen for memories."""
        return self.models[0].choice

    def embedder(self) -> Embedder | None:
        return self.models[0].embedder()

    def own(self, model: str, layers: Collection[str] = LAYERS) -> Embedder | None:
        """This process's embedder for that model. Those for `layers` are tried first, so that the others need not be made."""
        embedders = (each.embedder() for each in sorted(self.models, key=lambda each: not each.among(layers)))
        return next((embedder for embedder in embedders if embedder is not None and embedder.name == model), None)

    def layers_of(self, model: str) -> tuple[str, ...]:
        """The layers that should have that model according to this process."""
        return tuple(layer for each in self.models if each.wanted == model for layer in each.layers)

    def _of(self, generation: Generation) -> Embedder | None:
        """The embedder that made those vectors, if it is one of this process or built in."""
        model = generation.model
        own = self.own(model, generation.layers)
        if own is not None:
            return own
        if model not in self._former:
            try:
                self._former[model] = built_in(model)
            except Exception:  # then search by words, as with any other unavailable model
                self._former[model] = None
        return self._former[model]

    def failed(self, problem: Exception) -> None:
        """Keeps the problem for `status` and logs it once."""
        self.problem = str(problem)
        if not self._warned:
            self._warned = True
            log.warning("what is stored now is found by words until `memorist upkeep`: %s", problem)

    # ------------------------------------------------------------ reading

    def living(self) -> list[Generation]:
        """The generations that are read. The last one for a layer is the newest: the one it has or is moving to."""
        return [each for each in self.store.generations() if each.state != "retired"]

    def readers(self, generations: Sequence[Generation]) -> list[tuple[Generation, Embedder]]:
        """The generations to read now, newest first, each with its embedder; two for a layer that is moving."""
        found = ((each, self._of(each)) for each in reversed(generations) if each.state != "retired")
        return [(each, embedder) for each, embedder in found if embedder is not None]

    def in_time(
        self, text: str, seconds: float | None = None, layers: Collection[str] = LAYERS
    ) -> "tuple[list[tuple[Generation, Floats]], str | None]":
        """A query to these layers as a vector for each generation to read, and a remark for the answer. A failing model is
        left out, and a slow one is not waited for beyond `seconds`: then words alone answer."""
        asked = {each: read for each in self.models if (read := each.reads(layers))}
        generations = _those(self.store.generations(), list(chain.from_iterable(asked.values())))
        if seconds is None or not generations or all(each.choice.cheap for each in asked):
            return self._as_vectors(text, generations), self._told(asked, generations)
        found = self._patience.within(seconds, lambda: self._as_vectors(text, generations))
        return ([], LATE) if found is None else (found, self._told(asked, generations))

    def _as_vectors(self, text: str, generations: Sequence[Generation]) -> "list[tuple[Generation, Floats]]":
        found: list[tuple[Generation, Floats]] = []
        made: dict[str, Floats] = {}
        clean = self.redactor.redact(text)
        if nothing_but_marks(clean):  # else a secret would find the memory that it was taken out of
            return found
        for generation, embedder in self.readers(generations):
            if self._resting.get(embedder.name, 0) > time.monotonic():
                continue
            try:
                if embedder.name not in made:
                    [made[embedder.name]] = checked(embedder, [clean])
                _must_be_one_size(generation, embedder)
                found.append((generation, made[embedder.name]))
                self.problem = None if embedder is self.own(embedder.name, generation.layers) else self.problem
            except ModelUnavailable as problem:
                self.failed(problem)
                self._resting[embedder.name] = time.monotonic() + REST
        return found

    # ------------------------------------------------------------ what waits

    def _told(self, asked: Mapping[OwnModel, Sequence[str]], known: Sequence[Generation]) -> str | None:
        """If a chosen model does not answer alone, or vectors of a layer cannot be read here: what is the case, and what to
        do. A default model that works says nothing."""
        doubtful = [each for each, here in asked.items() if each.choice.asked or self._is_blind(here, known)]
        return "; ".join(filter(None, (self._not_yet(each, asked[each]) for each in doubtful))) or None

    def _is_blind(self, layers: Sequence[str], known: Sequence[Generation]) -> bool:
        """Whether one of these layers has vectors of a model that this process does not have."""
        return any(self._of(each) is None for each in _those(known, layers, state="current"))

    def _not_yet(self, model: OwnModel, layers: Sequence[str]) -> str | None:
        wanted, living = model.wanted, self.living()
        if wanted is None or self._resting.get(wanted, 0) > time.monotonic():
            return f"{shown(wanted or model.choice.spelled)} is not used: {self.problem}"
        mine, former = _those(living, layers, wanted), _those(living, layers, but=wanted, state="current")
        if former and not mine and not self.may_move(model, living):
            return self.advice(_those(living, layers))
        if mine and not former and model.choice.cheap:  # its rows do not wait
            return None
        return self._waits(wanted, layers, former)

    def _waits(self, wanted: str, layers: Sequence[str], former: Sequence[Generation]) -> str | None:
        count = self._bare(wanted, layers, MOST_TOLD + 1)
        if not count:
            return None
        many = str(count) if count <= MOST_TOLD else f"over {MOST_TOLD}"
        rows = "1 row waits" if count == 1 else f"{many} rows wait"
        old = " and ".join(shown(each.model) for each in former if self._of(each))
        until = f"{old} answers" if old else "words alone find them"
        return f"the vectors of {shown(wanted)} are made by `memorist upkeep`: {rows}; until then {until}"

    def waiting(self, most: int, models: Sequence[OwnModel] | None = None) -> int:
        """How many index rows wait for a vector of one of these models, or of all models of this process; counted up to
        `most`. Rows on a layer that has another model and keeps it do not count."""
        count, living = 0, self.living()
        for each in self.models if models is None else models:
            wanted = each.wanted or NONE
            had = {layer for mine in _those(living, each.layers, wanted) for layer in mine.layers}
            layers = each.among(had.union(self.may_move(each, living)))
            count += self._bare(wanted, layers, most - count) if wanted != NONE else 0
        return count

    def _bare(self, model: str, layers: Sequence[str], most: int) -> int:
        """How many index rows on these layers have no vector of that model; counted up to `most`."""
        mine = _those(self.living(), layers, model)
        none = [layer for layer in layers if not _those(mine, [layer])]
        count = 0
        for id, some in [*((each.id, layers) for each in mine), (0, none)]:
            count += self._count(id, some, most - count)
        return count

    def _count(self, generation: int, layers: Sequence[str], most: int) -> int:
        count, after = 0, 0
        while count < most:
            pieces = self.store.unembedded(generation, after, min(1000, most - count), layers=layers)
            if not pieces:
                break
            count, after = count + len(pieces), pieces[-1].row
        return count

    # ------------------------------------------------------------ the models the store has

    def is_alive(self, generation: Generation) -> bool:
        """Whether it is still read; another process may have moved the store to another model."""
        return any(each.id == generation.id for each in self.living())

    def aim(self, layer: str, living: Sequence[Generation]) -> str | None:
        """The model that the layer has or is moving to; None if it never had any."""
        mine = _those(living, [layer])
        return mine[-1].model if mine else NONE if self.left() else None

    def otherwise(self, model: OwnModel, living: Sequence[Generation]) -> dict[str, str | None]:
        """The layers that should have this model but do not, with the model they have."""
        aims = {layer: self.aim(layer, living) for layer in model.layers if model.wanted is not None}
        return {layer: aim for layer, aim in aims.items() if (aim or NONE) != model.wanted}

    def may_move(self, model: OwnModel, living: Sequence[Generation], switch: bool = False) -> tuple[str, ...]:
        """The layers that this process may move to its model. Allowed is always a first model, and another one if it was named
        or succeeds the present one; but never a model that a layer has left, unless `switch` demands it. So every move is to a
        model the layer never had, and two processes that want different models cannot take turns."""
        aims, wanted = self.otherwise(model, living), str(model.wanted)
        if not aims or (wanted in self.left() and not switch):
            return ()
        named = switch or model.choice.asked
        return tuple(layer for layer, aim in aims.items() if named or aim is None or _follows(wanted, aim))

    def must_move(self) -> bool:
        """Whether a layer that has vectors is to move to another model."""
        living = self.living()
        moving = (layer for each in self.models for layer in self.may_move(each, living))
        return any(self.aim(layer, living) is not None for layer in moving)

    def advice(self, living: Sequence[Generation]) -> str | None:
        """What to tell the user if this process and the store are set to different models."""
        return "; ".join(told for each in self.models for told in self._advice(each, living)) or None

    def _advice(self, model: OwnModel, living: Sequence[Generation]) -> Iterator[str]:
        moving, told = self.may_move(model, living), dict[tuple[str, bool], list[str]]()
        for layer, aim in self.otherwise(model, living).items():
            if aim is not None:
                told.setdefault((aim, layer in moving), []).append(layer)
        for (aim, moves), layers in told.items():
            what, has = ("the store", "has") if len(layers) == len(LAYERS) else (" and ".join(layers), "have")
            old, new = shown(aim), shown(str(model.wanted))
            if moves:
                yield f"`memorist upkeep` moves {what} from {old} to {new}"
            else:
                yield f"{what} {has} {old}, and this process {new}; `memorist upkeep --switch` moves {what}"

    def left(self) -> list[str]:
        return [str(model) for model in json.loads(self.store.setting(LEFT) or "[]")]


@dataclass(frozen=True, slots=True)
class Ahead:
    """The vectors of a record about to be written, and what they were made from."""

    text: str
    title: str | None
    model: str
    vectors: Sequence[bytes]

    def fits(self, record: Record) -> bool:
        return self.text == record.text and self.title == record.title


class Generations:
    """Gives rows their vectors. Rows that a transaction leaves without one are embedded afterwards, so that no model runs
    while others wait for the store."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.store = meaning.store
        self.later = False  # cheap vectors are left to `catch_up_later`, so that no model is loaded for them
        # The living generations when every layer had its model, and those that are ours; most writes find this unchanged.
        self._settled: tuple[list[Generation] | None, list[Generation]] = (None, [])

    # ------------------------------------------------------------ with a write

    def ahead(self, records: Sequence[Record]) -> Mapping[str, Ahead]:
        """The vectors of records about to be written, if they are cheap, made before the store is locked."""
        found: dict[str, Ahead] = {}
        for model in self.meaning.models if self.store.writable and not self.later else ():
            some = [record for record in records if layer_of(record.kind, record.state) in model.layers]
            embedder = model.embedder() if some and model.choice.cheap else None
            found |= self._ahead(embedder, some) if embedder is not None else {}
        return found

    def _ahead(self, embedder: Embedder, records: Sequence[Record]) -> dict[str, Ahead]:
        texts = [list(embedded_rows(record).values()) for record in records]
        try:
            packed = iter(self._packed(embedder, [text for own in texts for text in own]))
        except ModelUnavailable as problem:
            self.meaning.failed(problem)
            return {}
        return {
            record.id: Ahead(record.text, record.title, embedder.name, [next(packed) for _ in own])
            for record, own in zip(records, texts, strict=True)
        }

    def join(
        self, written: Sequence[Sealed], ahead: Mapping[str, Ahead]
    ) -> tuple[dict[int, dict[str, Sequence[bytes]]], list[str]]:
        """Inside a transaction: the vectors made ahead, by generation, and the ids of the records that have none yet and may
        get them right afterwards."""
        ready: dict[int, dict[str, Sequence[bytes]]] = {}
        bare, ours = list[str](), self._ours_to_write() if ahead else []
        for each in written:
            known = ahead.get(each.record.id) if each.new else None
            if known is None or not known.fits(each.record):
                bare.append(each.record.id)
                continue
            for mine in _those(ours, [layer_of(each.record.kind, each.record.state)], known.model)[-1:]:
                ready.setdefault(mine.id, {})[each.record.id] = known.vectors
        return ready, bare

    def _ours_to_write(self) -> list[Generation]:
        if self.meaning.living() == self._settled[0]:
            return self._settled[1]
        try:
            found = self.ours()
        except ModelUnavailable as problem:
            self.meaning.failed(problem)
            return []
        living = self.meaning.living()
        if not any(self.meaning.otherwise(model, living) for model in self.meaning.models):
            self._settled = (living, found)
        return found

    def catch_up(self, numbers: Sequence[int]) -> None:
        """Embeds the rows of these records that a transaction left without vectors, in transactions of its own. Most changes
        leave none, and then no model is even loaded. A local model that is not cheap is used for a few rows only."""
        few = 0 < len(numbers) <= SOON
        for model in self.meaning.models:
            if (model.choice.cheap and not self.later) or (few and model.choice.local and model.pace <= SOON_IN):
                for some in parts(numbers, EMBEDDED_AT_ONCE):
                    try:
                        self._catch_up(model, some)
                    except MemoristError as problem:  # a busy store, a full disk, a failing model: it waits for upkeep
                        self.meaning.failed(problem)

    def _catch_up(self, model: OwnModel, numbers: Sequence[int]) -> None:
        known = [each.id for each in _those(self.meaning.living(), model.layers)]
        first = [] if known or model.choice.cheap else [0]
        bare = (self.store.unembedded(id, numbers=numbers, layers=model.layers) for id in (*known, *first))
        embedder = model.embedder() if any(bare) else None
        if embedder is None:
            return
        if not model.choice.cheap:
            dimension_of(embedder)  # finding out the dimension may call the model, so not inside the transaction
            with self.store.transaction():
                self.ours(soon=model)
        for each in _those(self.meaning.living(), model.layers, embedder.name):
            begun, rows = time.perf_counter(), self.store.unembedded(each.id, numbers=numbers, layers=model.layers)
            self.fill(each, rows)
            model.pace = (time.perf_counter() - begun) / max(1, len(rows))

    def catch_up_later(self, seconds: float) -> None:
        """Spends up to `seconds` embedding what was written with `later`."""
        until = time.monotonic() + seconds
        try:
            for mine in self._cheap_that_wait():
                for _ in self.filling(mine, A_FEW):
                    if time.monotonic() >= until:
                        return
        except MemoristError as problem:  # the rows keep waiting
            self.meaning.failed(problem)

    def _cheap_that_wait(self) -> list[Generation]:
        cheap = [model for model in self.meaning.models if model.choice.cheap]
        if not self.store.writable or not self.meaning.waiting(1, cheap):
            return []
        with self.store.transaction():
            ours = self.ours()
        return [mine for each in cheap for mine in _those(ours, each.layers, each.wanted or NONE, state="current")]

    def _packed(self, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
        packed = pack(checked(embedder, texts)) if texts else []
        self.meaning.problem = None
        return packed

    # ------------------------------------------------------------ moving to another model

    def ours(self, upkeep: bool = False, switch: bool = False, soon: OwnModel | None = None) -> list[Generation]:
        """Inside a transaction: the living generations of this process's models. Begins a new one where layers may move to a
        model, or must because of `switch`. Outside of upkeep, it does so only for a model that is cheap or `soon`: any other
        would have to be called to learn its dimension."""
        living, ours = self.meaning.living(), dict[int, Generation]()
        for model in reversed(self.meaning.models):  # so that the model of memories is the newest, and read first
            if (upkeep or model.choice.cheap or model is soon) and self._begin(model, living, upkeep, switch):
                living = self.meaning.living()
        for model in self.meaning.models:
            for mine in _those(living, model.layers, model.wanted or NONE):
                _must_be_one_size(mine, model.embedder())
                ours[mine.id] = mine
        return [ours[id] for id in sorted(ours)]

    def _begin(self, model: OwnModel, living: Sequence[Generation], upkeep: bool, switch: bool) -> bool:
        """Begins a move if one is due, and says whether. Only upkeep, which runs once at a time, may break off a move that is
        under way: a write must not waste what another process is paying for."""
        layers = self.meaning.may_move(model, living, switch)
        if not layers or (_those(living, layers, state="filling") and not upkeep):
            return False
        wanted, embedder = str(model.wanted), model.embedder()
        self._leave(wanted, layers, living)
        bare = tuple(layer for layer in layers if not _those(living, [layer], wanted))
        if embedder is not None and bare:
            state = "filling" if _those(living, bare, state="current") else "current"
            self.store.save_generation(Generation(0, wanted, dimension_of(embedder), state, bare))
        return True

    def _leave(self, wanted: str, layers: Sequence[str], living: Sequence[Generation]) -> None:
        """Moves these layers away from their models. A current generation stays current until the new one is full, unless
        there will be none."""
        others = _those(living, layers, but=wanted)
        for each in others:
            if each.state == "filling" or wanted == NONE:
                self.store.save_generation(each.without(layers))
        if any(self.meaning.aim(layer, living) is not None for layer in layers):
            left = [*self.meaning.left(), *([each.model for each in others] or [NONE])]
            kept = [model for model in dict.fromkeys(left) if model != wanted]
            self.store.write(Commit(settings={LEFT: json.dumps(kept[-LEFT_AT_MOST:])}))

    # ------------------------------------------------------------ what waits

    def filling(self, generation: Generation, most: int) -> Iterator[int]:
        """One pass over the rows without a vector, `most` at a time; yields how many got one. Rows that change meanwhile are
        left to the next pass. Stops if another process has moved the store to another model: the remaining vectors would never
        be read, and may cost money."""
        after, layers = 0, self.meaning.layers_of(generation.model)
        while self.meaning.is_alive(generation) and (
            pieces := self.store.unembedded(generation.id, after, most, layers=layers)
        ):
            after = pieces[-1].row
            yield self.fill(generation, pieces)

    def fill(self, generation: Generation, pieces: Sequence[Piece]) -> int:
        """Embeds these rows and stores the vectors of those whose text has not changed; returns how many."""
        embedder = self.meaning.own(generation.model, generation.layers) if pieces else None
        if embedder is None:
            return 0
        packed = self._packed(embedder, [piece.text for piece in pieces])
        numbers = list(dict.fromkeys(piece.row // CHUNKS for piece in pieces))
        with self.store.transaction(durable=False):
            now = {piece.row: piece.text for piece in self.store.unembedded(generation.id, numbers=numbers)}
            alive = self.meaning.is_alive(generation)
            same = ((p.row, each) for p, each in zip(pieces, packed, strict=True) if alive and now.get(p.row) == p.text)
            if vectors := dict(same):
                self.store.put_vectors(generation.id, vectors)
        return len(vectors)

    def cut_over(self, generation: Generation) -> bool:
        """Makes a full generation the current one. False if a row without a vector was added meanwhile."""
        before = self.store.head()
        if self.store.unembedded(generation.id, 0, 1):
            return False
        with self.store.transaction():
            touched = self.store.head() != before  # if not, the check above still holds, and nobody waits for another
            if generation not in self.meaning.living() or (touched and self.store.unembedded(generation.id, 0, 1)):
                return False
            self.store.save_generation(replace(generation, state="current"))
        return True

    def drop(self, most: int) -> int | None:
        """Removes some vectors that nobody reads any more, and returns how many; None if there are none."""
        unread = next((each for each in self.store.generations() if each.lost or each.state == "retired"), None)
        if unread is None:
            return None
        with self.store.transaction(durable=False):
            return self.store.drop_vectors(unread.id, most)


def secret_of(store: Store) -> bytes:
    """The store's own key, created with it. Without it, twins, keys and marks would silently stop working."""
    try:
        secret = bytes.fromhex(store.setting("secret") or "")
    except ValueError:
        secret = b""
    if len(secret) != 32:
        raise StoreDamaged("the store has lost its secret; it was left as it is. Restore a backup")
    return secret


def _those(
    generations: Iterable[Generation],
    layers: Collection[str],
    model: str | None = None,
    but: str | None = None,
    state: str | None = None,
) -> list[Generation]:
    """The generations for one of these layers: of `model`, of any but `but`, and in `state`."""
    here = [each for each in generations if each.has(layers) and each.model != but]
    return [each for each in here if model in (None, each.model) and state in (None, each.state)]


def _follows(wanted: str, aim: str) -> bool:
    """Whether a store may move on although nobody named the model: to another version of the one it has (same name, other
    digest)."""
    return aim.partition("@")[0] == wanted.partition("@")[0]


def _must_be_one_size(generation: Generation, embedder: Embedder | None) -> None:
    if embedder is not None and dimension_of(embedder) != generation.dimension:
        raise ModelUnavailable(
            f"the embedder {shown(embedder.name)} gives vectors of dimension {embedder.dimension:,}, and under that name "
            f"the store has some of dimension {generation.dimension:,}; give another model another name"
        )
