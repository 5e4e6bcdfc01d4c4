"""Which scopes a query reads: those that its design names, as far as access permits, and those that the caller names."""

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from memorist.access import GLOBAL, Access, family_of
from memorist.design import Design, Tools
from memorist.errors import Invalid, MemoristError
from memorist.kinds import MEMORY
from memorist.records import Scope
from memorist.store.nouns import Shelf
from memorist.store.protocol import Store
from memorist.store.talk import users_of
from memorist.store.where import Order, Where
from memorist.text.question import question_of, small_talk
from memorist.text.visible import quoted

if TYPE_CHECKING:
    from memorist.recall.pipeline import Query

OF_USERS = "user-scoped memories exist; pass user= to include them"


def scopes_of(query: "Query", who: Access, homes: tuple[str, ...], design: Design, store: Store) -> tuple[str, ...]:
    """The scopes a query reads. Those the caller names are always read, or refused with an error; the design adds others, as
    far as access permits. A session held for a user is read only in a query for that user."""
    named = dict[str, str]()
    for family, given in (("session", query.session), ("user", query.user), ("task", query.task)):
        if given is not None and not isinstance(given, str):
            raise Invalid(f"{family} must be text, not {quoted(given)}")
        if given is not None:
            named[family] = Scope(f"{family}/{given}")
    if query.scope is not None:
        return (who.must_read(query.scope, who.home_of(query.scope)),)
    usual = {"project": homes, GLOBAL: (GLOBAL,)}
    usual |= {family: (who.must_read(scope, who.home_of(scope)),) for family, scope in named.items()}
    families = (*(family for family in named if family not in design.reads), *design.reads)
    wanted = dict.fromkeys(scope for family in families for scope in usual.get(family, ()))
    if query.session is not None and _is_anothers(query.session, wanted, who, store):
        del wanted[named["session"]]
    return tuple(scope for scope in wanted if who.may_read(scope, who.home_of(scope)))


def _is_anothers(session: str, read: Container[str], who: Access, store: Store) -> bool:
    """Whether the session was held for a user for whom this query is not asked. Also true if the store cannot say: a later
    step will report why."""
    try:
        return any(user not in read for user in users_of(session, who.home, who.space, store))
    except MemoristError:
        return True


def shelves_in(scopes: Iterable[str], layers: Iterable[str], who: Access) -> tuple[Shelf, ...]:
    """The shelves with these layers of these scopes, in each home whose memories of a scope may be read."""
    return tuple(
        Shelf(who.space, scope, layer, home) for scope in scopes for home in who.homes_of(scope) for layer in layers
    )


def of_users(query: "Query", who: Access, tools: Tools) -> list[str]:
    """A hint that memories in user scopes were not read because the query names no user. It neither names nor counts the
    users, because one of them may be reading the answer."""
    if query.user is not None or query.scope is not None or small_talk(question_of(query.text)):
        return []
    grants = ("user/*" if grant == "*" else grant for grant in who.reads)
    users = tuple(grant for grant in grants if family_of(grant) == "user")
    kinds = tuple(kind.name for kind in tools.kinds.values() if kind.layer == MEMORY and kind.recalled)
    here = Where(replace(who, reads=users)).also("state", "eq", "active").also("kind", "in", kinds)
    return [OF_USERS] if users and tools.store.find(here, Order("at"), 1) else []
