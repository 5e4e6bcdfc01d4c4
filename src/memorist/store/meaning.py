"""Vectors in a store: `Meaning` reads them and is a tool of every question, `Generations` makes them and is the writer's.

A generation holds the vectors of one model. A process writes and reads those of its own model, and leaves the others alone;
when a store moves from one model to another is decided in `may_move`, by a rule that two processes with different models
cannot turn into a quarrel (docs/why/0010-generations.md). Vectors are derived: they are in no journal, what lacks one is
found by words and waits for upkeep, and no trouble with a model ever keeps a memory from being stored.
"""

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memorist.errors import MemoristError, ModelUnavailable, StoreDamaged
from memorist.models.embed import (
    NO_EMBEDDER,
    NONE,
    Choice,
    Embedder,
    Patience,
    built_in,
    checked,
    dimension_of,
    pack,
    shown,
)
from memorist.records import Record
from memorist.redact import Redactor
from memorist.redact.own import NO_RULES, Own
from memorist.store.index import CHUNKS, embedded_rows
from memorist.store.nouns import Commit, Generation, Piece, Sealed, parts
from memorist.store.protocol import Store

if TYPE_CHECKING:
    from memorist.models.embed import Floats

LEFT = "models left"  # the setting of a store that names the models it has moved away from
LEFT_AT_MOST = 50
REST = 30.0  # seconds in which no question waits for an embedder that has just failed one
LATE = "meaning was left out: the embedder did not answer before the deadline, so words alone answer"
EMBEDDED_AT_ONCE = 500  # rows that get their vectors in one transaction
log = logging.getLogger("memorist")


class Meaning:
    """Which vectors of a store can be read, and a question as vectors for them."""

    def __init__(self, store: Store, choice: Choice = NO_EMBEDDER, own: Own = NO_RULES) -> None:
        self.store = store
        self.choice = choice
        self.problem: str | None = None  # why the embedder cannot be used, if it cannot
        self._redactor = Redactor(secret_of(store), own)  # an endpoint must not see what the store must not hold
        self._lock = threading.Lock()
        self._made: tuple[Embedder | None] | None = None
        self._former: dict[str, Embedder | None] = {}
        self._resting: dict[str, float] = {}  # embedders that failed a question, and until when no other waits for them
        self._warned = False
        self._patience = Patience()

    # ------------------------------------------------------------ embedders

    def embedder(self) -> Embedder | None:
        """This process's embedder; None if it has none, or one that cannot be made, which is tried once."""
        with self._lock:
            if self._made is None:
                self._made = (self._make(),)
        return self._made[0]

    def _make(self) -> Embedder | None:
        try:
            return self.choice.make()
        except MemoristError as problem:
            self.failed(problem)
        except Exception as problem:  # it may be anybody's code
            self.failed(ModelUnavailable(f"the embedder cannot be made ({type(problem).__name__})"))
        return None

    def _of(self, model: str) -> Embedder | None:
        """The embedder of that model: our own, or one that is built in."""
        own = self.embedder()
        if own is not None and own.name == model:
            return own
        if model not in self._former:
            try:
                self._former[model] = built_in(model)
            except Exception:  # then it is read by words, as any other model that cannot be had
                self._former[model] = None
        return self._former[model]

    def failed(self, problem: Exception) -> None:
        """Keeps what was wrong for `status`, and says it once."""
        self.problem = str(problem)
        if not self._warned:
            self._warned = True
            log.warning("what is stored now is found by words until `memorist upkeep`: %s", problem)

    # ------------------------------------------------------------ reading

    def living(self) -> list[Generation]:
        """The generations that are read, the newest last: that is the one the store has, or moves to."""
        return [each for each in self.store.generations() if each.state != "retired"]

    def readers(self, generations: Sequence[Generation]) -> list[tuple[Generation, Embedder]]:
        """Those of them to read now, newest first, each with its embedder: while a store moves these may be two."""
        found = ((each, self._of(each.model)) for each in reversed(generations) if each.state != "retired")
        return [(each, embedder) for each, embedder in found if embedder is not None]

    def in_time(self, text: str, seconds: float | None = None) -> "tuple[list[tuple[Generation, Floats]], str | None]":
        """A question as a vector for each generation to read, and why there is none. A model that fails is left out, and a
        slow one is not waited for beyond these seconds: words answer without it."""
        generations = [] if self.choice.spelled == NONE else self.store.generations()
        if seconds is None or self.choice.cheap or not generations:
            return self._as_vectors(text, generations), None
        found = self._patience.within(seconds, lambda: self._as_vectors(text, generations))
        return (found, None) if found is not None else ([], LATE)

    def _as_vectors(self, text: str, generations: Sequence[Generation]) -> list[tuple[Generation, "Floats"]]:
        found = []
        for generation, embedder in self.readers(generations):
            if self._resting.get(embedder.name, 0) > time.monotonic():
                continue
            try:
                [vector] = checked(embedder, [self._redactor.redact(text)])
                _must_be_one_size(generation, embedder)
                found.append((generation, vector))
                self.problem = None if embedder is self.embedder() else self.problem
            except ModelUnavailable as problem:
                self.failed(problem)
                self._resting[embedder.name] = time.monotonic() + REST
        return found

    def waiting(self, most: int) -> int:
        """How many index rows wait for a vector of this process's model; counted up to `most`. None does in a store that has
        another model and stays with it."""
        embedder, living = self.embedder(), self.living()
        mine = _of_model(embedder.name, living) if embedder else None
        if embedder is None or (mine is None and not self.may_move(living)):
            return 0
        count, after = 0, 0
        while count < most:
            pieces = self.store.unembedded(mine.id if mine else 0, after, min(1000, most - count))
            if not pieces:
                break
            count, after = count + len(pieces), pieces[-1].row
        return count

    # ------------------------------------------------------------ the model the store has

    def is_alive(self, generation: Generation) -> bool:
        """Whether it is still read; another process may have moved the store elsewhere."""
        return any(each.id == generation.id for each in self.living())

    def aim(self, living: Sequence[Generation]) -> str | None:
        """The model the store has, or moves to; None for one that never had any."""
        return living[-1].model if living else NONE if self.left() else None

    def may_move(self, living: Sequence[Generation]) -> bool:
        """Whether this process may move the store to its model: to a first one always, and to another if it was named
        or it is another version of the same, but never back to one that the store has left. So every move is to a model
        that the store never had, and two processes that want different ones cannot take turns."""
        wanted, aim = self.wanted(self.embedder()), self.aim(living)
        if wanted is None or wanted == aim or wanted in self.left():
            return False
        if aim is None:
            return wanted != NONE
        return self.choice.asked or _family(wanted) == _family(aim)

    def advice(self, living: Sequence[Generation]) -> str | None:
        """What to know where this process and the store do not mean the same model."""
        wanted, aim = self.wanted(self.embedder()), self.aim(living)
        if wanted is None or aim is None or wanted == aim:
            return None
        if self.may_move(living):
            return f"`memorist upkeep` moves the store from {shown(aim)} to {shown(wanted)}"
        return (
            f"the store has {shown(aim)}, and this process {shown(wanted)}; `memorist upkeep --switch` moves the store"
        )

    def wanted(self, embedder: Embedder | None) -> str | None:
        """The model this process stands for; None for one that could not be made, which says nothing about the store."""
        if embedder is not None:
            return embedder.name
        return NONE if self.choice.spelled == NONE and self.choice.asked else None

    def left(self) -> list[str]:
        return [str(model) for model in json.loads(self.store.setting(LEFT) or "[]")]


@dataclass(frozen=True, slots=True)
class Ahead:
    """The vectors of a record that is about to be written, and what they were made from."""

    text: str
    title: str | None
    vectors: Sequence[bytes]

    def fits(self, record: Record) -> bool:
        return self.text == record.text and self.title == record.title


class Generations:
    """How rows come to their vectors. What a transaction leaves without one is embedded after it: no model runs while others
    wait for the store."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.store = meaning.store

    # ------------------------------------------------------------ with a write

    def ahead(self, records: Sequence[Record]) -> Mapping[str, Ahead]:
        """The vectors of what is about to be written, if they come cheap, before anybody has to wait for the store."""
        embedder = self.meaning.embedder() if self.meaning.choice.cheap and self.store.writable else None
        if embedder is None:
            return {}
        texts = [list(embedded_rows(record).values()) for record in records]
        try:
            packed = iter(self._packed(embedder, [text for own in texts for text in own]))
        except ModelUnavailable as problem:
            self.meaning.failed(problem)
            return {}
        return {
            record.id: Ahead(record.text, record.title, [next(packed) for _ in own])
            for record, own in zip(records, texts, strict=True)
        }

    def join(
        self, written: Sequence[Sealed], ahead: Mapping[str, Ahead]
    ) -> tuple[int, dict[str, Sequence[bytes]], list[str]]:
        """Inside a transaction: the vectors that were made ahead, which generation they are of, and which records have none
        yet."""
        if not self.meaning.choice.cheap:
            return 0, {}, []
        ready: dict[str, Sequence[bytes]] = {}
        for each in written:
            known = ahead.get(each.record.id) if each.new else None
            if known is not None and known.fits(each.record):
                ready[each.record.id] = known.vectors
        bare = [each.record.id for each in written if each.record.id not in ready]
        generation = self._ours_to_write() if ready else None
        return (generation.id, ready, bare) if generation else (0, {}, bare)

    def _ours_to_write(self) -> Generation | None:
        try:
            return self.ours()
        except ModelUnavailable as problem:
            self.meaning.failed(problem)
            return None

    def catch_up(self, numbers: Sequence[int]) -> None:
        """Embeds the rows of these records that a transaction left bare, in transactions of its own. Most changes leave none,
        and then no model is even loaded."""
        for some in parts(numbers, EMBEDDED_AT_ONCE):
            try:
                living = self.meaning.living()
                bare = {each.model: (each, self.store.unembedded(each.id, numbers=some)) for each in living}
                embedder = self.meaning.embedder() if any(pieces for _, pieces in bare.values()) else None
                if embedder is not None and embedder.name in bare:
                    self.fill(*bare[embedder.name])
            except MemoristError as problem:  # a busy store, a full disk or a failing model: it waits for upkeep
                self.meaning.failed(problem)

    def _packed(self, embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
        packed = pack(checked(embedder, texts)) if texts else []
        self.meaning.problem = None
        return packed

    # ------------------------------------------------------------ moving to another model

    def ours(self, upkeep: bool = False, switch: bool = False) -> Generation | None:
        """Inside a transaction: the living generation of this process's model. It is begun here if the store may move to it,
        or must because of `switch`. A move that is under way is broken off by upkeep alone, which only one does at a time:
        a write must not make waste what another process is paying for."""
        embedder, living = self.meaning.embedder(), self.meaning.living()
        wanted = self.meaning.wanted(embedder)
        mine = _of_model(wanted, living)
        if mine is not None and embedder is not None:
            _must_be_one_size(mine, embedder)
        if wanted is None or wanted == self.meaning.aim(living) or not (switch or self.meaning.may_move(living)):
            return mine
        if not upkeep and any(each.state == "filling" for each in living):
            return mine
        return self._moved(wanted, embedder, mine, living)

    def _moved(
        self, wanted: str, embedder: Embedder | None, mine: Generation | None, living: Sequence[Generation]
    ) -> Generation | None:
        """Begins the move. What is current stays so until the new generation is full, unless there is to be none."""
        for each in living:
            if each != mine and (each.state == "filling" or embedder is None):
                self.store.save_generation(replace(each, state="retired"))
        left = [*self.meaning.left(), *(each.model for each in living)] if living else [*self.meaning.left(), NONE]
        if self.meaning.aim(living) is not None:
            kept = [model for model in dict.fromkeys(left) if model != wanted]
            self.store.write(Commit(settings={LEFT: json.dumps(kept[-LEFT_AT_MOST:])}))
        if embedder is None or mine is not None:
            return mine
        state = "filling" if any(each.state == "current" for each in living) else "current"
        return self.store.save_generation(Generation(0, wanted, dimension_of(embedder), state))

    # ------------------------------------------------------------ for upkeep

    def fill(self, generation: Generation, pieces: Sequence[Piece]) -> int:
        """Embeds these rows, then puts the vectors of those whose text is still the same; how many they were."""
        embedder = self.meaning.embedder()
        if embedder is None or not pieces:
            return 0
        packed = self._packed(embedder, [piece.text for piece in pieces])
        numbers = list(dict.fromkeys(piece.row // CHUNKS for piece in pieces))
        with self.store.transaction(durable=False):
            now = {piece.row: piece.text for piece in self.store.unembedded(generation.id, numbers=numbers)}
            alive = self.meaning.is_alive(generation)
            vectors = {
                p.row: each for p, each in zip(pieces, packed, strict=True) if alive and now.get(p.row) == p.text
            }
            if vectors:
                self.store.put_vectors(generation.id, vectors)
        return len(vectors)

    def cut_over(self, generation: Generation) -> bool:
        """Makes a full generation the current one. False if a row came meanwhile that has no vector yet."""
        before = self.store.head()
        if self.store.unembedded(generation.id, 0, 1):
            return False
        with self.store.transaction():
            untouched = self.store.head() == before  # then what was just seen still holds, and nobody waits for a look
            if generation not in self.meaning.living() or not (
                untouched or not self.store.unembedded(generation.id, 0, 1)
            ):
                return False
            self.store.save_generation(replace(generation, state="current"))
        return True

    def drop(self, most: int) -> int | None:
        """Takes away some vectors of a generation that nobody reads any more; how many. None if there is none such."""
        retired = next((each for each in self.store.generations() if each.state == "retired"), None)
        if retired is None:
            return None
        with self.store.transaction(durable=False):
            return self.store.drop_vectors(retired.id, most)


def secret_of(store: Store) -> bytes:
    """The store's own key, made with it. Without it twins, keys and marks would silently stop working."""
    try:
        secret = bytes.fromhex(store.setting("secret") or "")
    except ValueError:
        secret = b""
    if len(secret) != 32:
        raise StoreDamaged("the store has lost its secret; it was left as it is. Restore a backup")
    return secret


def _of_model(model: str | None, living: Sequence[Generation]) -> Generation | None:
    return next((each for each in reversed(living) if each.model == model), None)


def _family(model: str) -> str:
    """The model without its digest: another version of the same is no other model."""
    return model.partition("@")[0]


def _must_be_one_size(generation: Generation, embedder: Embedder) -> None:
    if dimension_of(embedder) != generation.dimension:
        raise ModelUnavailable(
            f"the embedder {shown(embedder.name)} gives vectors of dimension {embedder.dimension:,}, and under that name "
            f"the store has some of dimension {generation.dimension:,}; give another model another name"
        )
