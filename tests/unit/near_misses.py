"""Pairs of statements for the conflict detector, made before it was: some hundred that look like a conflict and are none,
and some hundred that are one. Seeded templates of our own; each pair carries the name of its family, so that a failure
says what kind of mistake it is.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

PEOPLE = "Anna Bruno Carla Deniz Emil Farida Goran Hanna Ivo Jamila Kofi Lena Mateo Nadia Otto Priya".split()
CITIES = [*"Rome Lisbon Oslo Nairobi Lima Kyoto Tbilisi Porto Ghent Bergen".split(), "New York", "São Paulo"]
SERVICES = "billing search checkout ledger gateway mailer catalog inventory profile reporting".split()
TOOLS = "Redis Postgres Kafka pnpm Terraform pytest Docker Celery GraphQL Nginx".split()
DRINKS = "tea coffee cocoa lemonade juice water milk cider".split()
JOBS = ["nurse", "welder", "translator", "baker", "data engineer", "teacher", "pilot", "sound designer"]
HABITS = [
    "log request bodies", "merge on Fridays", "squash commits", "mock the database in tests", "commit generated files",
    "catch bare exceptions", "retry failed payments", "share test fixtures", "deploy without a review", "rebase main",
]  # fmt: skip
FEATURES = ["dark mode", "the audit log", "two-factor login", "telemetry", "the beta banner", "guest checkout"]
MONTHS = "January February March April May June July August September October November December".split()


@dataclass(frozen=True, slots=True)
class Pair:
    family: str
    first: str
    second: str


Make = Callable[[random.Random], tuple[str, str]]


def _two(pick: random.Random, values: list[str]) -> tuple[str, str]:
    a, b = pick.sample(values, 2)
    return a, b


# ---------------------------------------------------------------- near-misses


def _same_words_other_subject(pick: random.Random) -> tuple[str, str]:
    a, b = _two(pick, SERVICES)
    first, second = pick.sample(range(3000, 9999), 2)
    return pick.choice(
        [
            (f"The {a} service listens on port {first}", f"The {b} service listens on port {second}"),
            (f"The owner of the {a} service is Anna", f"The owner of the {b} service is Bruno"),
            (f"The {a} service's database is Postgres", f"The {b} service's database is MySQL"),
            (f"Use Redis for the {a} service", f"Don't use Redis for the {b} service"),
            (f"Enable tracing in {a}", f"Disable tracing in {b}"),
            (f"The timeout of {a} is 30 seconds", f"The timeout of {b} is 60 seconds"),
        ]
    )


def _same_act_other_object(pick: random.Random) -> tuple[str, str]:
    a, b = _two(pick, TOOLS)
    habit, other = _two(pick, HABITS)
    return pick.choice(
        [
            (f"Use {a} here", f"Don't use {b} here"),
            (f"Always {habit}", f"Never {other}"),
            (f"You must {habit}", f"You must not {other}"),
            (f"Prefer {a}", f"Avoid {b}"),
            (f"Include {a} in the image", f"Exclude {b} from the image"),
            (f"Add {a} to the stack", f"Remove {b} from the stack"),
        ]
    )


def _both_negative(pick: random.Random) -> tuple[str, str]:
    habit, tool = pick.choice(HABITS), pick.choice(TOOLS)
    return pick.choice(
        [
            (f"Never {habit}", f"Don't {habit}"),
            (f"Never {habit}", f"We must not {habit}, it broke the release"),
            (f"Don't use {tool}", f"Avoid {tool}"),
            (f"Disallow {tool} in production", f"{tool} is disallowed in production"),
            (f"Don't use {tool} in tests", f"Never use {tool} in tests"),
            (f"Disable {pick.choice(FEATURES)} by default", f"{pick.choice(FEATURES)} stays disabled by default"),
        ]
    )


def _both_positive(pick: random.Random) -> tuple[str, str]:
    habit, tool = pick.choice(HABITS), pick.choice(TOOLS)
    return pick.choice(
        [
            (f"Always {habit}", f"You should {habit}"),
            (f"Use {tool} for caching", f"Prefer {tool} for caching"),
            (f"Never disable {tool}", f"Enable {tool}"),
            (f"Don't forget to {habit}", f"Always {habit}"),
            (f"Allow {tool} in the build", f"{tool} is allowed in the build"),
        ]
    )


def _inside_a_word(pick: random.Random) -> tuple[str, str]:
    tool = pick.choice(TOOLS)
    return pick.choice(
        [
            (f"The job failed because {tool} was full", f"Don't use {tool} snapshots at night"),
            (f"The {tool} user guide is useful", f"Do not use the {tool} sandbox"),
            (f"{tool} was disallowed last year, the reason is in the wiki", f"Disallow {tool} on laptops"),
            (f"Reuse the {tool} client", f"Don't use the {tool} shell"),
            (f"The additive index of {tool} is small", f"Remove {tool} from the index page"),
            (f"The house rules mention {tool}", f"Never mention {tool} houses"),
        ]
    )


def _other_slot(pick: random.Random) -> tuple[str, str]:
    who, (a, b), (job, other) = pick.choice(PEOPLE), _two(pick, CITIES), _two(pick, JOBS)
    return pick.choice(
        [
            (f"{who}'s home city is {a}", f"{who}'s birth city is {b}"),
            (f"{who} lives in {a}", f"{who} was born in {b}"),
            (f"{who} works in {a}", f"{who} lives in {b}"),
            (f"{who} works as a {job}", f"{who} trained as a {other}"),
            (f"{who}'s first employer is {a} Foods", f"{who}'s current employer is {b} Rail"),
            ("The default port of the proxy is 8080", "The admin port of the proxy is 9090"),
            (f"{who}'s mother is from {a}", f"{who}'s father is from {b}"),
            (f"The start date of the lease is 3 {pick.choice(MONTHS)}", "The end date of the lease is 9 May"),
            ("The minimum version of Node is 18", "The maximum version of Node is 22"),
            (f"{who} was born in {a}", f"{who} died in {b}"),
        ]
    )


def _other_number_of_things(pick: random.Random) -> tuple[str, str]:
    service = pick.choice(SERVICES)
    return pick.choice(
        [
            (f"The {service} server runs on port 8080", f"The {service} servers run on port 9090"),
            (f"The {service} worker's queue is fast-lane", f"The {service} workers' queue is slow-lane"),
            (f"The {service} test's timeout is 5 seconds", f"The {service} tests' timeout is 50 seconds"),
            (f"Enable the {service} flag", f"Disable the {service} flags"),
        ]
    )


def _other_person(pick: random.Random) -> tuple[str, str]:
    (who, other), (a, b), (job, another) = _two(pick, PEOPLE), _two(pick, CITIES), _two(pick, JOBS)
    return pick.choice(
        [
            (f"{who} lives in {a}", f"{other} lives in {b}"),
            (f"{who} works as a {job}", f"{other} works as a {another}"),
            (f"{who}'s birthday is 4 May", f"{other}'s birthday is 5 May"),
            (f"{who} Winter lives in {a}", f"{who} Summer lives in {b}"),
            (f"{who}'s brother lives in {a}", f"{who} lives in {b}"),
            (f"{who} allows photos", f"{other} does not allow photos"),
            (f"{who}'s manager is {other}", f"{other}'s manager is {who}"),
        ]
    )


def _additive(pick: random.Random) -> tuple[str, str]:
    who, (a, b), (x, y), (c, d) = pick.choice(PEOPLE), _two(pick, DRINKS), _two(pick, TOOLS), _two(pick, CITIES)
    p, q = _two(pick, PEOPLE)
    return pick.choice(
        [
            (f"{who} likes {a}", f"{who} likes {b}"),
            (f"{who} speaks Spanish", f"{who} speaks Dutch"),
            (f"We use {x}", f"We use {y}"),
            (f"The stack includes {x}", f"The stack includes {y}"),
            (f"{who} visited {c}", f"{who} visited {d}"),
            (f"{who} is friends with {p}", f"{who} is friends with {q}"),
            (f"{who}'s sister is {p}", f"{who}'s sister is {q}"),
            (f"A feature of {x} is speed", f"A feature of {x} is safety"),
            (f"{x} supports arm64", f"{x} supports x86"),
            (f"One of {who}'s hobbies is chess", f"One of {who}'s hobbies is rowing"),
            (f"{who} is tall", f"{who} is a {pick.choice(JOBS)}"),
            (f"{who} has a cat", f"{who} has a dog"),
            (f"The members of the guild are {p} and {who}", "The members of the guild are paid"),
            (f"{who} prefers {a}", f"{who} prefers the window seat"),
            (f"{x} is fast", f"{x} is written in C"),
        ]
    )


def _history(pick: random.Random) -> tuple[str, str]:
    who, (a, b), (x, y) = pick.choice(PEOPLE), _two(pick, CITIES), _two(pick, TOOLS)
    return pick.choice(
        [
            (f"{who} used to live in {a}", f"{who} lives in {b}"),
            (f"{who} lives in {b}", f"{who} lived in {a} as a child"),
            (f"{who} previously worked at {a} Foods", f"{who} works at {b} Rail"),
            (f"Until 2019 the capital office was in {a}", f"The capital office is in {b}"),
            (f"The port was 8080 before the move, said {who}", "The port is 9090"),
            (f"In 2015 {who}'s employer was {x} Inc", f"{who}'s employer is {y} Inc"),
            (f"{who} formerly used {x}", f"{who} does not use {x}"),
            (f"The former owner of the garage is {who}", f"The owner of the garage is {pick.choice(CITIES)} Motors"),
        ]
    )


def _questions(pick: random.Random) -> tuple[str, str]:
    who, tool, (a, b) = pick.choice(PEOPLE), pick.choice(TOOLS), _two(pick, CITIES)
    return pick.choice(
        [
            (f"Should we use {tool}?", f"Don't use {tool}"),
            (f"Does {who} live in {a}?", f"{who} lives in {b}"),
            (f"Why don't we use {tool}?", f"Use {tool}"),
            (f"Is the port 8080 or 9090? {who} wants to know", "The port is 9091"),
            (f"If we use {tool} one day, tell {who}", f"Don't use {tool}"),
            (f"Maybe {who} lives in {a}", f"{who} lives in {b}"),
            (f"{who} might not use {tool}", f"{who} uses {tool}"),
        ]
    )


def _quotes(pick: random.Random) -> tuple[str, str]:
    (who, other), tool, (a, b) = _two(pick, PEOPLE), pick.choice(TOOLS), _two(pick, CITIES)
    return pick.choice(
        [
            (f'{who} said: "never use {tool}"', f"Use {tool}"),
            (f"The sign reads 'do not use {tool}'", f"Use {tool}"),
            (f"{other} thinks that {who} lives in {a}", f"{who} lives in {b}"),
            (f"According to {other}, the port is 8080", "The port is 9090"),
            (f'The error message is "{who} does not use {tool}"', f"{who} uses {tool}"),
            (f"In the novel {who} lives in {a}", f"{who} lives in {b}"),
        ]
    )


def _numbers_that_name(pick: random.Random) -> tuple[str, str]:
    who, (a, b) = pick.choice(PEOPLE), pick.sample(range(10, 99), 2)
    return pick.choice(
        [
            (f"{who} fixed issue {a}", f"{who} fixed issue {b}"),
            (f"Room {a} is booked by {who}", f"Room {b} is booked by {who}"),
            (f"The owner of ticket {a} is {who}", f"The owner of ticket {b} is Zoe"),
            (f"Chapter {a} is about rivers", f"Chapter {b} is about rivers"),
            (f"We support Python 3.{a}", f"We support Python 3.{b}"),
            (f"On 3 May the build took {a} minutes", f"On 4 May the build took {b} minutes"),
            (f"{who} scored {a} points on Monday", f"{who} scored {b} points on Friday"),
            (f"Release 1.{a} is out", f"Release 1.{b} is out"),
        ]
    )


def _same_value(pick: random.Random) -> tuple[str, str]:
    who, city, port = pick.choice(PEOPLE), pick.choice(CITIES), pick.randint(1000, 9999)
    return pick.choice(
        [
            (f"{who} lives in {city}", f"{who}'s home city is {city}"),
            (f"{who} lives in {city}", f"{who} lives in {city}, near the river"),
            (f"The proxy's port is {port}", f"The port of the proxy is {port}"),
            (f"The proxy listens on port {port}", f"The proxy listens on port {port}."),
            (f"{who} works at Ferro Ltd", f"{who} works at Ferro"),
            (f"The owner of the docs is {who}", f"the owner of the docs is {who.lower()}"),
        ]
    )


def _other_qualifier(pick: random.Random) -> tuple[str, str]:
    tool, (a, b), service = pick.choice(TOOLS), _two(pick, SERVICES), pick.choice(SERVICES)
    return pick.choice(
        [
            (f"Use {tool} for {a}", f"Don't use {tool} for {b}"),
            (f"The timeout of {service} in staging is 30", f"The timeout of {service} in production is 10"),
            (f"The {service} port on Linux is 8080", f"The {service} port on Windows is 9090"),
            (f"Always run {tool} in CI", f"Never run {tool} on laptops"),
            (f"The Monday meeting of {a} is at 10:00", f"The Friday meeting of {a} is at 11:00"),
            ("The deadline of the first draft is 3 May", "The deadline of the second draft is 9 May"),
            (f"The name of the {a} team is Falcon", f"The name of the {b} team is Osprey"),
        ]
    )


NEAR_MISSES: dict[str, Make] = {
    "same words, other subject": _same_words_other_subject,
    "same act, other object": _same_act_other_object,
    "both negative": _both_negative,
    "both positive": _both_positive,
    "inside a word": _inside_a_word,
    "other slot": _other_slot,
    "one and many": _other_number_of_things,
    "other person": _other_person,
    "additive": _additive,
    "history": _history,
    "question": _questions,
    "quote": _quotes,
    "numbers that name": _numbers_that_name,
    "same value": _same_value,
    "other qualifier": _other_qualifier,
}


# ---------------------------------------------------------------- conflicts


def _opposite(pick: random.Random) -> tuple[str, str]:
    tool, habit, feature = pick.choice(TOOLS), pick.choice(HABITS), pick.choice(FEATURES)
    return pick.choice(
        [
            (f"Use {tool}", f"Don't use {tool}"),
            (f"We chose the big cluster because we use {tool}", f"Don't use {tool}"),
            (f"Always {habit}", f"Never {habit}"),
            (f"Enable {feature}", f"Disable {feature}"),
            (f"Add {tool} to the image", f"Remove {tool} from the image"),
            (f"We should {habit}", f"We shouldn't {habit}"),
            (f"You must {habit}", f"You must not {habit}"),
            (f"Allow {tool} in the build", f"Disallow {tool} in the build"),
            (f"Prefer {tool} for new code", f"Avoid {tool} for new code"),
            (f"Include {tool} in the bundle", f"Exclude {tool} from the bundle"),
        ]
    )


def _denied(pick: random.Random) -> tuple[str, str]:
    who, tool, service = pick.choice(PEOPLE), pick.choice(TOOLS), pick.choice(SERVICES)
    return pick.choice(
        [
            (f"The {service} API supports paging", f"The {service} API does not support paging"),
            (f"The {service} page is public", f"The {service} page is not public"),
            (f"{who} eats meat", f"{who} doesn't eat meat"),
            (f"{tool} is allowed on laptops", f"{tool} is not allowed on laptops"),
            (f"{who} can read the {service} logs", f"{who} cannot read the {service} logs"),
            (f"The {service} cache is enabled", f"The {service} cache is disabled"),
            (f"We use {tool} for {service}", f"We no longer use {tool} for {service}"),
            (f"{who} drinks coffee", f"{who} never drinks coffee"),
        ]
    )


def _changed_number(pick: random.Random) -> tuple[str, str]:
    service, (a, b) = pick.choice(SERVICES), pick.sample(range(1000, 9999), 2)
    small, more = pick.sample(range(11, 40), 2)
    return pick.choice(
        [
            (f"The {service} service listens on port {a}", f"The {service} service listens on port {b}"),
            (f"The port of {service} is {a}", f"The port of {service} is {b}"),
            (f"The port of the {service} service is {a}", f"The {service} service runs on port {b}"),
            (f"{service.title()} runs Postgres {small}", f"{service.title()} runs Postgres {more}"),
            (f"The version of the {service} client is 2.{small}", f"The version of the {service} client is 2.{more}"),
            (f"The {service} service uses version 3.{small}", f"The {service} service now uses version 3.{more}"),
            (f"The timeout of {service} is {small} seconds", f"The timeout of {service} is {more} seconds"),
            (f"The {service} plan costs {small} euros a month", f"The {service} plan costs {more} euros a month"),
            (f"The {service} quota is {a}", f"The {service} quota is {b}"),
            (f"The {service} cluster has {small} nodes", f"The {service} cluster has {more} nodes"),
        ]
    )


def _changed_place(pick: random.Random) -> tuple[str, str]:
    who, (a, b), service = pick.choice(PEOPLE), _two(pick, CITIES), pick.choice(SERVICES)
    return pick.choice(
        [
            (f"{who} lives in {a}", f"{who} lives in {b}"),
            (f"{who} lives in {a}", f"{who} now lives in {b}"),
            (f"{who}'s home city is {a}", f"{who} lives in {b}"),
            (f"I live in {a}", f"I live in {b}"),
            (f"My home town is {a}", f"My home town is {b}"),
            (f"The {service} team is based in {a}", f"The {service} team is based in {b}"),
            (
                f"The headquarters of {service.title()} Ltd is in {a}",
                f"The headquarters of {service.title()} Ltd is in {b}",
            ),
            (f"{who} was born in {a}", f"{who} was born in {b}"),
        ]
    )


def _changed_person(pick: random.Random) -> tuple[str, str]:
    who, a, b = pick.sample(PEOPLE, 3)
    service, (job, other) = pick.choice(SERVICES), _two(pick, JOBS)
    return pick.choice(
        [
            (f"The owner of {service} is {a}", f"The owner of {service} is {b}"),
            (f"{service.title()} is owned by {a}", f"{service.title()} is owned by {b}"),
            (f"{who}'s manager is {a}", f"{who}'s manager is {b}"),
            (f"{who} reports to {a}", f"{who} reports to {b}"),
            (f"{who} works as a {job}", f"{who} works as a {other}"),
            (f"{who}'s job is {job}", f"{who} works as a {other}"),
            (f"{who} works for {a} & Sons", f"{who} works for {b} & Sons"),
            (f"{who} is married to {a}", f"{who} is married to {b}"),
            (f"The on-call lead is {a}", f"The on-call lead is {b}"),
            (f"The author of the {service} guide is {a}", f"The author of the {service} guide is {b}"),
        ]
    )


def _changed_date(pick: random.Random) -> tuple[str, str]:
    service, who, (m, n) = pick.choice(SERVICES), pick.choice(PEOPLE), _two(pick, MONTHS)
    a, b = pick.sample(range(1, 28), 2)
    return pick.choice(
        [
            (f"The {service} deadline is {a} {m}", f"The {service} deadline is {b} {n}"),
            (f"The deadline of {service} is {m} {a}", f"The deadline of {service} is {n} {b}"),
            (f"{who}'s birthday is {a} {m}", f"{who}'s birthday is {b} {n}"),
            (f"The {service} release is due on {a} {m}", f"The {service} release is due on {b} {n}"),
            (f"The {service} meeting starts at {a % 12 + 1}:00", f"The {service} meeting starts at {b % 12 + 1}:30"),
            (f"The trial of {service} ends on {a} {m}", f"The trial of {service} ends on {b} {n}"),
        ]
    )


CONFLICTS: dict[str, Make] = {
    "opposite": _opposite,
    "denied": _denied,
    "changed number": _changed_number,
    "changed place": _changed_place,
    "changed person": _changed_person,
    "changed date": _changed_date,
}


def _pairs(table: dict[str, Make], each: int, seed: int) -> Iterator[Pair]:
    for family, make in table.items():
        pick = random.Random(f"{seed} {family}")
        made = {make(pick): None for _ in range(each)}
        yield from (Pair(family, first, second) for first, second in made)


near_misses = partial(_pairs, NEAR_MISSES)
conflicts = partial(_pairs, CONFLICTS)
