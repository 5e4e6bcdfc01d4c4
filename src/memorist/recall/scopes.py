"""Which scopes a query reads: those that its design names, as far as access permits, and those that the caller names."""

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memorist.access import GLOBAL, Access, family_of
from memorist.design import Design, Tools
from memorist.errors import Invalid, MemoristError
from memorist.kinds import MEMORY
from memorist.records import Scope
from memorist.scoring import TYPED
from memorist.store.protocol import Store
from memorist.store.talk import users_of
from memorist.store.where import Order, Where
from memorist.text.question import question_of, small_talk
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.recall.pipeline import Query

OF_USERS = "user-scoped memories exist; pass user= (--user) to include them"
MOST_TYPED = 20  # the latest things typed in earlier sessions


def scopes_of(query: "Query", who: Access, homes: tuple[str, ...], design: Design, store: Store) -> tuple[str, ...]:
    """The scopes a query reads. Those the caller names are always read, or refused with an error; the design adds others, as
    far as access permits. A session held for a user is read only in a query for that user."""
    named = dict(_named(query))
    if query.scope is not None:
        return (_must_read(query.scope, who),)
    usual = {"project": homes, GLOBAL: (GLOBAL,)}
    usual |= {family: (_must_read(scope, who),) for family, scope in named.items()}
    usual[TYPED] = _typed_in(who, store, design)
    families = (*(family for family in named if family not in design.reads), *design.reads)
    wanted = dict.fromkeys(scope for family in families for scope in usual.get(family, ()))
    if _is_anothers(query.session, wanted, who, store):
        del wanted[named["session"]]
    return tuple(scope for scope in wanted if who.may_read(scope, who.home_of(scope)))


def _typed_in(who: Access, store: Store, design: Design) -> tuple[str, ...]:
    """The sessions of this project in which a person lately typed something to keep that nobody has agreed to yet; empty
    unless the design reads these."""
    if TYPED not in design.reads:
        return ()
    where = Where(who).also("home", "eq", who.home).also("data.home", "eq", who.home).also("state", "eq", "active")
    where = where.also("status", "eq", "candidate").also("origin", "eq", "recorded").also(f"data.{TYPED}", "eq", True)
    return tuple(dict.fromkeys(record.scope for record in store.find(where, Order("created"), MOST_TYPED)))


def _is_anothers(session: str | None, read: Container[str], who: Access, store: Store) -> bool:
    """Whether the session was held for a user for whom this query is not asked. Also true if the store cannot say: a later
    step will report why."""
    try:
        users = [] if session is None else users_of(session, who.home, who.space, store)
        return any(user not in read for user in users)
    except MemoristError:
        return True


def of_users(query: "Query", who: Access, tools: Tools) -> list[str]:
    """A hint that memories in user scopes were not read because the query names no user. It neither names nor counts the
    users, because one of them may be reading the answer."""
    if query.user is not None or query.scope is not None or small_talk(question_of(query.text)):
        return []
    users = _users_granted(who)
    kinds = tuple(kind.name for kind in tools.kinds.values() if kind.layer == MEMORY and kind.recalled)
    here = Where(replace(who, reads=users)).also("state", "eq", "active").also("kind", "in", kinds)
    there = users and tools.store.find(here, Order("at"), 1)
    return [OF_USERS] if there else []


def _users_granted(who: Access) -> tuple[str, ...]:
    grants = ("user/*" if grant == "*" else grant for grant in who.reads)
    return tuple(grant for grant in grants if family_of(grant) == "user")


def _named(query: "Query") -> Iterator[tuple[str, Scope]]:
    """The session, user and task that the caller names, as scopes by family."""
    for family, given in (("session", query.session), ("user", query.user), ("task", query.task)):
        if given is not None and not isinstance(given, str):
            raise Invalid(f"{family} must be text, not {quoted(given)}")
        if given is not None:
            yield family, Scope(f"{family}/{given}")


def _must_read(scope: str, who: Access) -> Scope:
    return who.must_read(scope, who.home_of(scope))
