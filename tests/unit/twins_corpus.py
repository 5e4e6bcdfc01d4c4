"""Pairs of memories for the merger of twins, made before it was: some say the same in other words, some only look alike.

Every sentence is our own. A template is one thing that somebody may want to remember, said in several ways, with what may
change in it as slots. A pair is of one class, so that a failure says what kind of mistake it is. The templates are split in
two halves by their place: the merger is made with the first half (`DEV`), and its figures are those of the other (`HELD`).

Twins:        case, wrapped, reordered, reworded, synonym, detail
Near-misses:  number, name, negation, opposite, unit, time, place, both_hold, order, condition, swapped
"""

# ruff: noqa: E501

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

TWINS = ("case", "wrapped", "reordered", "reworded", "synonym", "detail")
NEAR_MISSES = (
    "number", "name", "negation", "opposite", "unit", "time", "place", "both_hold", "order", "condition",
    "swapped",
)  # fmt: skip

SLOTS = {
    "who": "Amara Bjorn Chiara Dmitri Elif Fatou Gustav Hideko Ines Jarek Kalinda Luca Mirela Noor Oskar Pilar".split(),
    "svc": "billing search checkout ledger gateway mailer catalogue inventory profile reporting metering pricing".split(),
    "tool": "Redis Postgres Kafka Terraform Nginx Celery MongoDB RabbitMQ Grafana Vault Consul Memcached".split(),
    "city": "Lisbon Oslo Nairobi Lima Kyoto Tbilisi Porto Ghent Bergen Turin Gdansk Leeds".split(),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday".split(),
    "month": "January March April June August October November".split(),
    "env": "staging production preview sandbox".split(),
    "lang": "Python Rust Kotlin Elixir Haskell Swift".split(),
    "n": [str(n) for n in (3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 20, 24, 30, 45, 60, 90, 120, 250, 400, 8080, 9200)],
}
WRAPPED = (
    (
        "We decided: {}", "Note: {}", "Please remember that {}", "As agreed, {}", "For the record: {}",
        "Just so you know, {}",
    ),
    (
        "Remember: {}", "It turned out that {}", "To be clear, {}", "Important: {}", "As I said before, {}",
        "Keep in mind that {}",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Saying:
    """One thing to remember. `base` and what says the same; then what only looks alike, by its class."""

    base: str
    reordered: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    synonym: tuple[str, ...] = ()
    detail: tuple[str, ...] = ()
    misses: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Twins:
    """Two memories, whether they say the same, and how the pair was made."""

    kind: str
    first: str
    second: str
    template: int

    @property
    def same(self) -> bool:
        return self.kind in TWINS


SAYINGS = (
    Saying(
        "The {svc} service keeps its sessions in {tool}",
        ("In {tool} the {svc} service keeps its sessions",),
        ("Sessions of the {svc} service are kept in {tool}", "{tool} is where the {svc} service keeps its sessions"),
        ("The {svc} service stores its sessions in {tool}",),
        ("The {svc} service keeps its sessions in {tool}, on the shared cluster",),
        {
            "negation": ("The {svc} service does not keep its sessions in {tool}",),
            "both_hold": ("The {svc} service keeps its audit trail in {tool}",),
            "condition": ("The {svc} service keeps its sessions in {tool} only when the cache is warm",),
        },
    ),
    Saying(
        "Backups of {svc} run every {n} hours",
        ("Every {n} hours backups of {svc} run",),
        ("The {svc} backups run every {n} hours", "{svc} is backed up every {n} hours"),
        ("Backups of {svc} start every {n} hours",),
        ("Backups of {svc} run every {n} hours and go to cold storage",),
        {
            "unit": ("Backups of {svc} run every {n} minutes", "Backups of {svc} run every {n} days"),
            "negation": ("Backups of {svc} no longer run every {n} hours",),
            "both_hold": ("Backups of {svc} are kept for {n} months",),
        },
    ),
    Saying(
        "{who} prefers short emails without attachments",
        ("Short emails without attachments are what {who} prefers",),
        ("{who} likes emails short and without attachments",),
        ("{who} likes short mails without attachments", "{who} prefers brief emails without attachments"),
        ("{who} prefers short emails without attachments, in the morning",),
        {
            "negation": ("{who} does not prefer short emails without attachments",),
            "opposite": ("{who} prefers long emails without attachments", "{who} prefers short emails with attachments"),
            "both_hold": ("{who} prefers short meetings without slides",),
        },
    ),
    Saying(
        "Deployments to {env} happen on {day} at {n} o'clock",
        ("On {day} at {n} o'clock deployments to {env} happen",),
        ("We deploy to {env} on {day} at {n} o'clock", "{env} is deployed to on {day} at {n} o'clock"),
        ("Releases to {env} happen on {day} at {n} o'clock",),
        ("Deployments to {env} happen on {day} at {n} o'clock, after the review",),
        {
            "negation": ("Deployments to {env} never happen on {day} at {n} o'clock",),
            "both_hold": ("Deployments to {env} are announced on {day} at {n} o'clock",),
        },
    ),
    Saying(
        "The API limit for {svc} is {n} requests per minute",
        ("For {svc} the API limit is {n} requests per minute",),
        ("{svc} allows {n} API requests per minute at most", "At most {n} API requests per minute are allowed for {svc}"),
        ("The API quota for {svc} is {n} requests per minute", "The API limit for {svc} is {n} calls per minute"),
        ("The API limit for {svc} is {n} requests per minute for each key",),
        {
            "unit": ("The API limit for {svc} is {n} requests per hour", "The API limit for {svc} is {n} requests per day"),
            "negation": ("The API limit for {svc} is not {n} requests per minute",),
            "both_hold": ("The API page size for {svc} is {n} entries per request",),
        },
    ),
    Saying(
        "{who} moved from {city} to Madrid in {month}",
        ("In {month} {who} moved from {city} to Madrid",),
        ("{who} left {city} in {month} and moved to Madrid",),
        ("{who} relocated from {city} to Madrid in {month}",),
        ("{who} moved from {city} to Madrid in {month} for a new job",),
        {
            "order": ("{who} moved from Madrid to {city} in {month}",),
            "negation": ("{who} did not move from {city} to Madrid in {month}",),
            "both_hold": ("{who} travelled from {city} to Madrid in {month}",),
        },
    ),
    Saying(
        "Use {tool} instead of cron for the nightly jobs of {svc}",
        ("For the nightly jobs of {svc} use {tool} instead of cron",),
        ("The nightly jobs of {svc} use {tool} instead of cron",),
        ("Prefer {tool} over cron for the nightly jobs of {svc}",),
        ("Use {tool} instead of cron for the nightly jobs of {svc}, with alerts on",),
        {
            "order": ("Use cron instead of {tool} for the nightly jobs of {svc}",),
            "negation": ("Do not use {tool} instead of cron for the nightly jobs of {svc}",),
            "both_hold": ("Use {tool} instead of polling for the webhooks of {svc}",),
        },
    ),
    Saying(
        "The test suite of {svc} takes about {n} minutes on the old runners",
        ("On the old runners the test suite of {svc} takes about {n} minutes",),
        ("The {svc} test suite takes about {n} minutes on the old runners",),
        ("The test suite of {svc} needs about {n} minutes on the old runners",),
        ("The test suite of {svc} takes about {n} minutes on the old runners, mostly for the browser tests",),
        {
            "unit": ("The test suite of {svc} takes about {n} seconds on the old runners",),
            "opposite": ("The test suite of {svc} takes about {n} minutes on the new runners",),
            "both_hold": ("The image build of {svc} takes about {n} minutes on the old runners",),
        },
    ),
    Saying(
        "{who} is allergic to peanuts",
        (),
        ("{who} has a peanut allergy", "Peanuts cause {who} an allergic reaction"),
        ("{who} is allergic to groundnuts",),
        ("{who} is allergic to peanuts and carries an injector",),
        {
            "negation": ("{who} is not allergic to peanuts",),
            "both_hold": ("{who} is allergic to shellfish", "{who}'s brother is allergic to peanuts"),
        },
    ),
    Saying(
        "The {svc} database must be migrated before the {env} rollout",
        ("Before the {env} rollout the {svc} database must be migrated",),
        ("Migrate the {svc} database before the {env} rollout",),
        ("The {svc} db must be migrated before the {env} rollout", "The {svc} database must be migrated before the {env} release"),
        ("The {svc} database must be migrated before the {env} rollout, with the site in read-only mode",),
        {
            "order": ("The {env} rollout must be done before the {svc} database is migrated",),
            "opposite": ("The {svc} database must be migrated after the {env} rollout",),
            "negation": ("The {svc} database must not be migrated before the {env} rollout",),
        },
    ),
    Saying(
        "Invoices are sent on the {n} of each month by {who}",
        ("On the {n} of each month invoices are sent by {who}",),
        ("{who} sends invoices on the {n} of each month", "{who} sends the invoices each month on the {n}"),
        ("Bills are sent on the {n} of each month by {who}", "Invoices are sent on the {n} of every month by {who}"),
        ("Invoices are sent on the {n} of each month by {who}, as encrypted files",),
        {
            "unit": ("Invoices are sent on the {n} of each quarter by {who}",),
            "negation": ("Invoices are not sent on the {n} of each month by {who}",),
            "both_hold": ("Reminders are sent on the {n} of each month by {who}",),
        },
    ),
    Saying(
        "Feature flags for {svc} are enabled by default in {env}",
        ("In {env} feature flags for {svc} are enabled by default",),
        ("{env} enables feature flags for {svc} by default", "By default {env} has the feature flags for {svc} enabled"),
        ("Feature flags for {svc} are on by default in {env}", "Feature flags for {svc} are switched on by default in {env}"),
        ("Feature flags for {svc} are enabled by default in {env}, in all regions",),
        {
            "opposite": ("Feature flags for {svc} are disabled by default in {env}",),
            "negation": ("Feature flags for {svc} are never enabled by default in {env}",),
            "both_hold": ("Feature flags for {svc} are documented by hand in {env}",),
            "condition": ("Feature flags for {svc} are enabled by default in {env} unless the user is a guest",),
        },
    ),
    Saying(
        "{who} leads the {svc} team and reports to the head of platform",
        ("The {svc} team is led by {who}, who reports to the head of platform",),
        ("{who}, who reports to the head of platform, leads the {svc} team",),
        ("{who} heads the {svc} team and reports to the head of platform",),
        ("{who} leads the {svc} team and reports to the head of platform since spring",),
        {
            "negation": ("{who} does not lead the {svc} team and reports to the head of platform",),
            "opposite": ("{who} left the {svc} team and reports to the head of platform",),
            "both_hold": ("{who} leads the {svc} guild and reports to the head of research",),
        },
    ),
    Saying(
        "Logs of {svc} are deleted after {n} days",
        ("After {n} days logs of {svc} are deleted",),
        ("{svc} logs are deleted after {n} days", "We delete the logs of {svc} after {n} days"),
        ("Logs of {svc} are removed after {n} days", "Logs of {svc} are purged after {n} days"),
        ("Logs of {svc} are deleted after {n} days, to save disk space",),
        {
            "unit": ("Logs of {svc} are deleted after {n} weeks", "Logs of {svc} are deleted after {n} hours"),
            "opposite": ("Logs of {svc} are compressed after {n} days", "Logs of {svc} are kept for {n} days after an incident"),
            "negation": ("Logs of {svc} are not deleted after {n} days",),
            "condition": ("Logs of {svc} are deleted after {n} days only if the disk is full",),
        },
    ),
    Saying(
        "Port {n} is reserved for the {svc} proxy in {env}",
        ("In {env} port {n} is reserved for the {svc} proxy",),
        ("The {svc} proxy in {env} has port {n} reserved", "We reserved port {n} for the {svc} proxy in {env}"),
        ("Port {n} is set aside for the {svc} proxy in {env}",),
        ("Port {n} is reserved for the {svc} proxy in {env}, on both hosts",),
        {
            "negation": ("Port {n} is not reserved for the {svc} proxy in {env}",),
            "both_hold": ("Port {n} is blocked for the {svc} worker in {env}",),
            "opposite": ("Port {n} is free for the {svc} proxy in {env}",),
        },
    ),
    Saying(
        "{who} drinks green tea in the afternoon",
        ("In the afternoon {who} drinks green tea",),
        ("Green tea is what {who} drinks in the afternoon", "{who}'s drink in the afternoon is green tea"),
        ("{who} has green tea in the afternoon",),
        ("{who} drinks green tea in the afternoon, without sugar",),
        {
            "opposite": ("{who} drinks black tea in the afternoon",),
            "time": ("{who} drinks green tea in the morning",),
            "negation": ("{who} never drinks green tea in the afternoon",),
            "both_hold": ("{who} buys green tea in the afternoon",),
        },
    ),
    Saying(
        "New code for {svc} is written in {lang} with strict types",
        ("With strict types new code for {svc} is written in {lang}",),
        ("We write new code for {svc} in {lang} with strict types", "{lang} with strict types is what new code for {svc} is written in"),
        ("New {svc} code is developed in {lang} with strict types",),
        ("New code for {svc} is written in {lang} with strict types and no globals",),
        {
            "negation": ("New code for {svc} is not written in {lang} with strict types",),
            "opposite": ("Old code for {svc} is written in {lang} with strict types",),
            "condition": ("New code for {svc} is written in {lang} with strict types unless it is a script",),
        },
    ),
    Saying(
        "The lease of the {city} office ends in {month}",
        ("In {month} the lease of the {city} office ends",),
        ("The {city} office lease ends in {month}", "The lease for the office in {city} ends in {month}"),
        ("The lease of the {city} office expires in {month}", "The lease of the {city} office finishes in {month}"),
        ("The lease of the {city} office ends in {month} and will be renewed",),
        {
            "opposite": ("The lease of the {city} office starts in {month}",),
            "negation": ("The lease of the {city} office does not end in {month}",),
            "both_hold": ("The renovation of the {city} office ends in {month}",),
        },
    ),
    Saying(
        "Retry failed payments {n} times before alerting {who}",
        ("Before alerting {who} retry failed payments {n} times",),
        ("Failed payments are retried {n} times before {who} is alerted",),
        ("Retry failed payments {n} times before notifying {who}", "Repeat failed payments {n} times before alerting {who}"),
        ("Retry failed payments {n} times before alerting {who}, with a growing pause",),
        {
            "order": ("Alert {who} before retrying failed payments {n} times",),
            "opposite": ("Retry failed payments {n} times after alerting {who}",),
            "negation": ("Do not retry failed payments {n} times before alerting {who}",),
        },
    ),
    Saying(
        "Only {who} may approve changes to the {svc} schema",
        ("Changes to the {svc} schema only {who} may approve",),
        ("Changes to the {svc} schema may be approved by {who} only",),
        ("Only {who} may sign off changes to the {svc} schema", "Only {who} can approve changes to the {svc} schema"),
        ("Only {who} may approve changes to the {svc} schema, in writing",),
        {
            "negation": ("{who} may not approve changes to the {svc} schema",),
            "opposite": ("Everybody but {who} may approve changes to the {svc} schema",),
            "both_hold": ("Only {who} may approve access to the {svc} console",),
        },
    ),
    Saying(
        "The {svc} build breaks when {tool} is older than version {n}",
        ("When {tool} is older than version {n} the {svc} build breaks",),
        ("With {tool} older than version {n} the {svc} build breaks", "A {tool} older than version {n} breaks the {svc} build"),
        ("The {svc} build fails when {tool} is older than version {n}",),
        ("The {svc} build breaks when {tool} is older than version {n}, with a linker error",),
        {
            "opposite": ("The {svc} build breaks when {tool} is newer than version {n}",),
            "negation": ("The {svc} build does not break when {tool} is older than version {n}",),
            "both_hold": ("The {svc} monitor breaks when {tool} is older than version {n}",),
        },
    ),
    Saying(
        "{who}'s daughter plays the cello in the youth orchestra of {city}",
        ("In the youth orchestra of {city} {who}'s daughter plays the cello",),
        ("The daughter of {who} plays the cello in the youth orchestra of {city}",),
        ("{who}'s daughter plays the cello in the junior orchestra of {city}",),
        ("{who}'s daughter plays the cello in the youth orchestra of {city} since last year",),
        {
            "opposite": ("{who}'s son plays the cello in the youth orchestra of {city}", "{who}'s daughter plays the flute in the youth orchestra of {city}"),
            "negation": ("{who}'s daughter no longer plays the cello in the youth orchestra of {city}",),
        },
    ),
    Saying(
        "Traffic from {city} goes through {tool} to the {svc} service",
        ("To the {svc} service traffic from {city} goes through {tool}",),
        ("{tool} carries the traffic from {city} to the {svc} service", "The {svc} service gets its traffic from {city} through {tool}"),
        ("Traffic from {city} is routed through {tool} to the {svc} service", "Traffic from {city} passes through {tool} to the {svc} service"),
        ("Traffic from {city} goes through {tool} to the {svc} service, since the cable was cut",),
        {
            "order": ("Traffic from {tool} goes through {city} to the {svc} service",),
            "negation": ("Traffic from {city} does not go through {tool} to the {svc} service",),
            "opposite": ("Traffic from {city} goes around {tool} to the {svc} service",),
        },
    ),
    Saying(
        "The standup of the {svc} team is at {n} past nine on {day}",
        ("On {day} the standup of the {svc} team is at {n} past nine",),
        ("The {svc} team has its standup at {n} past nine on {day}", "The {svc} standup is at {n} past nine on {day}"),
        ("The standup of the {svc} team starts at {n} past nine on {day}",),
        ("The standup of the {svc} team is at {n} past nine on {day}, in the big room",),
        {
            "opposite": ("The standup of the {svc} team is at {n} to nine on {day}",),
            "time": ("The standup of the {svc} team is at {n} past ten on {day}",),
            "negation": ("The standup of the {svc} team is not at {n} past nine on {day}",),
            "both_hold": ("The retrospective of the {svc} team is at {n} past nine on {day}",),
        },
    ),
    Saying(
        "Secrets for {env} live in {tool}, and {who} rotates them every {n} days",
        ("{who} rotates the secrets for {env}, which live in {tool}, every {n} days",),
        ("The {env} secrets live in {tool}, and every {n} days {who} rotates them",),
        ("Secrets for {env} are kept in {tool}, and {who} rotates them every {n} days",),
        ("Secrets for {env} live in {tool}, and {who} rotates them every {n} days by script",),
        {
            "unit": ("Secrets for {env} live in {tool}, and {who} rotates them every {n} weeks",),
            "negation": ("Secrets for {env} do not live in {tool}, and {who} rotates them every {n} days",),
            "both_hold": ("Certificates for {env} live in {tool}, and {who} renews them every {n} days",),
        },
    ),
    Saying(
        "{who} learned to swim at the age of {n} in {city}",
        ("At the age of {n} {who} learned to swim in {city}",),
        ("{who} was {n} and in {city} when learning to swim", "In {city}, aged {n}, {who} learned to swim"),
        ("{who} learnt swimming at the age of {n} in {city}",),
        ("{who} learned to swim at the age of {n} in {city}, with an uncle",),
        {
            "opposite": ("{who} learned to sail at the age of {n} in {city}",),
            "negation": ("{who} had not learned to swim at the age of {n} in {city}",),
            "order": ("At the age of {n} {who} taught swimming in {city}",),
        },
    ),
    Saying(
        "Cache entries of {svc} expire after {n} seconds of no use",
        ("After {n} seconds of no use cache entries of {svc} expire",),
        ("The cache entries of {svc} expire when not used for {n} seconds", "{svc} cache entries expire after {n} seconds of no use"),
        ("Cache entries of {svc} lapse after {n} seconds of no use", "Cache entries of {svc} expire after {n} seconds of idleness"),
        ("Cache entries of {svc} expire after {n} seconds of no use, on every node",),
        {
            "unit": ("Cache entries of {svc} expire after {n} minutes of no use",),
            "opposite": ("Cache entries of {svc} are refreshed after {n} seconds of no use",),
            "negation": ("Cache entries of {svc} never expire after {n} seconds of no use",),
        },
    ),
    Saying(
        "The contract with the supplier in {city} covers {n} seats",
        ("With the supplier in {city} the contract covers {n} seats",),
        ("The {city} supplier's contract covers {n} seats", "{n} seats are covered by the contract with the supplier in {city}"),
        ("The agreement with the supplier in {city} covers {n} seats", "The contract with the vendor in {city} covers {n} seats"),
        ("The contract with the supplier in {city} covers {n} seats and phone support",),
        {
            "unit": ("The contract with the supplier in {city} covers {n} sites",),
            "negation": ("The contract with the supplier in {city} does not cover {n} seats",),
            "opposite": ("The contract with the customer in {city} covers {n} seats",),
        },
    ),
    Saying(
        "Never restart {tool} on {env} while an import of {svc} is running",
        ("While an import of {svc} is running never restart {tool} on {env}",),
        ("{tool} on {env} must not be restarted while an import of {svc} is running", "Do not restart {tool} on {env} while an import of {svc} is running"),
        ("Never reboot {tool} on {env} while an import of {svc} is running",),
        ("Never restart {tool} on {env} while an import of {svc} is running: it loses rows",),
        {
            "negation": ("Always restart {tool} on {env} while an import of {svc} is running", "Restart {tool} on {env} while an import of {svc} is running"),
            "opposite": ("Never restart {tool} on {env} while an export of {svc} is running",),
        },
    ),
    Saying(
        "{who} wants code review comments in {lang} projects to be friendly and short",
        ("In {lang} projects {who} wants code review comments to be friendly and short",),
        ("{who} wants friendly and short code review comments in {lang} projects",),
        ("{who} wants code review remarks in {lang} projects to be friendly and short", "{who} wants code review comments in {lang} projects to be kind and short"),
        ("{who} wants code review comments in {lang} projects to be friendly and short, with an example",),
        {
            "opposite": ("{who} wants code review comments in {lang} projects to be strict and short", "{who} wants code review comments in {lang} projects to be friendly and thorough"),
            "negation": ("{who} does not want code review comments in {lang} projects to be friendly and short",),
        },
    ),
    Saying(
        "The {svc} queue is drained by {n} workers at night",
        ("At night the {svc} queue is drained by {n} workers",),
        ("{n} workers drain the {svc} queue at night", "At night {n} workers drain the queue of {svc}"),
        ("The {svc} queue is emptied by {n} workers at night",),
        ("The {svc} queue is drained by {n} workers at night, one per shard",),
        {
            "time": ("The {svc} queue is drained by {n} workers at noon",),
            "opposite": ("The {svc} queue is filled by {n} workers at night",),
            "negation": ("The {svc} queue is not drained by {n} workers at night",),
            "unit": ("The {svc} queue is drained by {n} batches at night",),
        },
    ),
    Saying(
        "The meeting room in {city} seats {n} people and has no projector",
        ("In {city} the meeting room seats {n} people and has no projector",),
        ("The {city} meeting room seats {n} people and has no projector", "The meeting room in {city} has no projector and seats {n} people"),
        ("The conference room in {city} seats {n} people and has no projector",),
        ("The meeting room in {city} seats {n} people and has no projector, only a screen",),
        {
            "negation": ("The meeting room in {city} seats {n} people and has a projector",),
            "both_hold": ("The dining room in {city} seats {n} people and has no window",),
        },
    ),
)  # fmt: skip
SWAPPED = (  # the same words, each said of the other thing
    ("The {svc} cache is enabled in dev and disabled in prod", "The {svc} cache is disabled in dev and enabled in prod"),
    ("The frontend of {svc} is in {city} and the backend is in Rome", "The backend of {svc} is in {city} and the frontend is in Rome"),
    ("Logs of {svc} go to loki and metrics to mimir", "Metrics of {svc} go to loki and logs to mimir"),
    ("Tests run on linux and builds on mac since {month}", "Builds run on linux and tests on mac since {month}"),
    ("The api of the shop uses the {tool} of the bank", "The {tool} of the shop uses the api of the bank"),
    ("The owner of the {svc} repo pays the owner of the wiki", "The owner of the wiki pays the owner of the {svc} repo"),
    ("Only admins can delete {svc} projects", "Admins can only delete {svc} projects"),
    ("Just guests may see the {city} floor plan", "Guests may see just the {city} floor plan"),
    ("Alerts of {svc} are off at night and on at day", "Alerts of {svc} are on at night and off at day"),
    ("On {day} the gate is open at noon and closed at six", "On {day} the gate is closed at noon and open at six"),
    ("Bill pays the rent in {city}", "The invoice pays the rent in {city}"),
    ("{who} met Bill at the station", "{who} met the invoice at the station"),
    ("All admins of {svc} may edit some files", "Some admins of {svc} may edit all files"),
    ("Most nodes in {city} have few disks", "Few nodes in {city} have most disks"),
    ("He likes tea and she likes coffee in {city}", "She likes tea and he likes coffee in {city}"),
    ("My desk is in {city}, and her desk is in Rome", "Her desk is in {city}, and my desk is in Rome"),
    ("Admins must sign and users can read {svc} reports", "Admins can sign and users must read {svc} reports"),
    ("{who} should drive, but the guests may walk", "{who} may drive, but the guests should walk"),
    ("{tool} is not cached in dev but cached in prod", "{tool} is cached in dev but not cached in prod"),
    ("{svc} is never paged on {day}; search is paged", "{svc} is paged on {day}; search is never paged"),
    ("The server in {city} is backed by the server in Rome", "The server in Rome is backed by the server in {city}"),
    ("The key for the lab is with the guard for the {city} cellar", "The key for the {city} cellar is with the guard for the lab"),
    ("The worker on alpha is slower than the worker on {env}", "The worker on {env} is slower than the worker on alpha"),
    ("Orders for shops in {city} are packed with labels for banks", "Orders for banks in {city} are packed with labels for shops"),
    ("Der Cache von {svc} ist in dev an und in prod aus", "Der Cache von {svc} ist in prod an und in dev aus"),
    ("{who} wohnt in Bonn, aber die Firma sitzt in {city}", "Die Firma wohnt in Bonn, aber {who} sitzt in {city}"),
    ("Nur {who} darf Rechnungen löschen", "{who} darf nur Rechnungen löschen"),
    ("Der alte Schlüssel öffnet {city} und der neue das Lager", "Der neue Schlüssel öffnet {city} und der alte das Lager"),
    ("The {svc} service calls search", "The {svc} service is what search calls"),
    ("Reads of {svc} hit the replica while writes hit the primary", "Writes of {svc} hit the replica while reads hit the primary"),
    ("{tool} holds {n} queues, the gateway holds {n} routes", "{tool} holds {n} routes, the gateway holds {n} queues"),
    ("The red badge opens the lab. The green badge opens the {city} hall.", "The green badge opens the lab. The red badge opens the {city} hall."),
)  # fmt: skip
DEV = tuple(range(0, len(SAYINGS), 2))
HELD = tuple(range(1, len(SAYINGS), 2))


def pairs(templates: tuple[int, ...], rounds: int = 5, seed: str = "twins") -> list[Twins]:
    """The pairs of these templates, every form of each with so many fillings; the same for the same arguments."""
    made: dict[tuple[str, str, str], Twins] = {}
    for place in templates:
        pick = random.Random(f"{seed} {place}")
        for _ in range(rounds):
            for kind, first, second in _of(SAYINGS[place], place, pick):
                if first != second:
                    made.setdefault((kind, first, second), Twins(kind, first, second, place))
    return list(made.values())


def _of(saying: Saying, place: int, pick: random.Random) -> Iterator[tuple[str, str, str]]:
    values = {slot: pick.choice(said) for slot, said in SLOTS.items()}
    base = _filled(saying.base, values)
    yield (
        "case",
        base,
        pick.choice((base.lower(), base.upper(), f"{base}.", f"  {base.replace(',', ' ,')} !", f'"{base}"')),
    )
    yield "wrapped", base, pick.choice(WRAPPED[place % 2]).format(base)
    for kind in ("reordered", "reworded", "synonym", "detail"):
        for form in getattr(saying, kind):
            yield kind, base, _filled(form, values)
    forms = (saying.base, *saying.reordered, *saying.reworded)
    for slot, kind in (("n", "number"), ("who", "name"), ("svc", "name"), ("tool", "name"), ("lang", "name")):
        yield from _changed(saying, forms, slot, kind, values, pick)
    for slot, kind in (("city", "place"), ("env", "place"), ("day", "time"), ("month", "time")):
        yield from _changed(saying, forms, slot, kind, values, pick)
    yield "swapped", *(_filled(form, values) for form in SWAPPED[place])
    for kind, said in saying.misses.items():
        for form in said:
            yield kind, base, _filled(form, values)


def _changed(
    saying: Saying, forms: tuple[str, ...], slot: str, kind: str, values: dict[str, str], pick: random.Random
) -> Iterator[tuple[str, str, str]]:
    """The same thing said with another number, name, place or time, in the same words or in others."""
    if "{" + slot + "}" not in saying.base:
        return
    other = pick.choice([value for value in SLOTS[slot] if value != values[slot]])
    yield kind, _filled(saying.base, values), _filled(saying.base, {**values, slot: other})
    yield kind, _filled(saying.base, values), _filled(pick.choice(forms), {**values, slot: other})


def _filled(form: str, values: dict[str, str]) -> str:
    said = form.format(**values)
    return said[0].upper() + said[1:]
