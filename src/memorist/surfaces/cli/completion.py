"""`memorist completion bash`: a script with which a shell completes commands, options and known values.

It is made from the same tables as the help and is self-contained, so that the tab key starts no program. Make it again
after an upgrade to add what is new. bash and zsh share a function that says what may come next; fish has a line for
each option.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from memorist import designs
from memorist.commands import EVENTS
from memorist.design import Inject
from memorist.errors import Invalid
from memorist.kinds import KINDS
from memorist.models.embed import BUILT_IN
from memorist.prompt.modes import MODES, PROFILES
from memorist.prompt.render import CLIENTS, STYLES
from memorist.recall.pipeline import SEARCHES
from memorist.records import LIVING, LinkKind
from memorist.remember.edit import VERDICTS
from memorist.remember.erase import DERIVED
from memorist.remember.review import DECISIONS
from memorist.session.tasks import STEPS
from memorist.surfaces import settings
from memorist.surfaces.cli import app, progress
from memorist.surfaces.cli.arguments import JSON, PLACE, SHORT, Command, Commands, Option
from memorist.surfaces.cli.verbs import Place

BASH_FOLDER = "~/.local/share/bash-completion/completions"
FILES = "@files"  # a file may come next
_LINKS = get_args(LinkKind)
# The values of an option, by its name; those of one command's under both names.
VALUES: Mapping[str, Iterable[str]] = {
    "kind": KINDS, "kinds": KINDS, "link.kind": _LINKS, "unlink.kind": _LINKS, "state": (*LIVING, "erased"),
    "style": STYLES, "export.style": ("jsonl", "markdown"), "mode": MODES, "profile": PROFILES, "client": CLIENTS,
    "inject": get_args(Inject), "search": SEARCHES, "verdict": VERDICTS, "derived": DERIVED, "decide": DECISIONS,
    "verbs": [verb for verb in EVENTS if " " not in verb],
    "config get.key": settings.CHECKS, "config set.key": settings.CHECKS, "config unset.key": settings.CHECKS,
    "design show.name": designs.DESIGNS, "design use.name": designs.DESIGNS, "shell": ("bash", "zsh", "fish"),
    "model use.name": BUILT_IN, "status": STEPS,
}  # fmt: skip


def completion(place: Place, shell: str) -> int:
    if shell not in SCRIPTS:
        raise Invalid(f"there is no completion for {shell[:60]!r}; there is one for {', '.join(SCRIPTS)}")
    script = SCRIPTS[shell]([app.command_named(name) for name in (*app.COMMANDS, *app.SHELL)])
    if place.json:
        return place.screen.answer({"shell": shell, "script": script})
    progress.end()
    sys.stdout.write(script)
    return 0


def _values(command: Command, option: Option) -> str:
    if option.type in ("path", "paths"):
        return FILES
    return " ".join(VALUES.get(f"{command.name}.{option.name}", VALUES.get(option.name, ())))


def _groups(known: Iterable[Command]) -> dict[str, list[str]]:
    """The commands of two words: the first word, and what may follow."""
    groups: dict[str, list[str]] = {}
    for command in known:
        first, _, second = command.name.partition(" ")
        if second:
            groups.setdefault(first, []).append(second)
    return groups


# ---------------------------------------------------------------- bash and zsh


def _offers(known: list[Command]) -> str:
    """A shell function that maps the words before the cursor to what may come next."""
    groups = _groups(known)
    firsts = " ".join(sorted({command.name.partition(" ")[0] for command in known} | {"help"}))
    before = "|".join(option.flag for option in PLACE if option.type != "flag")
    anywhere = Command("", "", PLACE, completion)  # the place may stand before the command
    values = [line for command in (anywhere, *known) for line in _value_lines(command)]
    return f"""_memorist_offers() {{
  local name="" prev="" word
  for word in "$@"; do
    case $word in =) continue ;; esac
    case $prev in {before}) [ -n "$name" ] || {{ prev=""; continue; }} ;; esac
    prev=$word
    case $name in
      "") case $word in -*) ;; *) name=$word ;; esac ;;
      {"|".join(groups)}) name="$name $word" ;;
    esac
  done
  case "$name/$prev" in
{_lines(values, 4)}
  esac
  case $name in
    ""|help) echo "{firsts}" ;;
{_lines([f'{first}) echo "{" ".join(rest)}" ;;' for first, rest in groups.items()], 4)}
{_lines([f'"{each.name}") echo "{_own(each)}" ;;' for each in known], 4)}
  esac
}}
"""


def _value_lines(command: Command) -> list[str]:
    """What may follow each option that takes a value; nothing for free text."""
    by_values: dict[str, list[str]] = {}
    for option in command.options:
        if option.flag and option.type != "flag":
            short = [f"-{SHORT[option.name]}"] if option.name in SHORT else []
            by_values.setdefault(_values(command, option), []).extend([option.flag, *short])
    before = [f'"{command.name}/{word}") echo "{" ".join(words)}"; return ;;' for word, words in _after(command)]
    spelled = {words: "|".join(f'"{command.name}/{flag}"' for flag in flags) for words, flags in by_values.items()}
    return before + [
        f"{pattern}) {f'echo {chr(34)}{words}{chr(34)}; ' if words else ''}return ;;"
        for words, pattern in spelled.items()
    ]


def _after(command: Command) -> Iterable[tuple[str, Iterable[str]]]:
    """What may follow a positional word."""
    return [("design", designs.DESIGNS)] if command.name == "config set" else []


def _own(command: Command) -> str:
    """A command's known positional values, and its options."""
    placed = " ".join(_values(command, option) for option in command.options if not option.flag).split()
    placed.sort(key=lambda word: word != FILES)
    return " ".join([*placed, *(option.flag for option in command.options if option.flag), "--help"])


def _lines(lines: Iterable[str], indent: int) -> str:
    return "\n".join(" " * indent + line for line in lines)


def bash(known: list[Command]) -> str:
    return f"""# Completion of memorist for bash. To use it: memorist completion bash > {BASH_FOLDER}/memorist
{_offers(known)}
_memorist() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" offers
  [ "$cur" = "=" ] && cur=""
  offers=$(_memorist_offers "${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
  COMPREPLY=()
  case $offers in {FILES}*) case $cur in -*) ;; *) compopt -o default 2>/dev/null; return ;; esac ;; esac
  COMPREPLY=($(compgen -W "$offers" -- "$cur"))
}}
complete -F _memorist memorist
"""


def zsh(known: list[Command]) -> str:
    return f"""#compdef memorist
# Completion of memorist for zsh. To use it: memorist completion zsh > a folder of your fpath, as the file _memorist
{_offers(known)}
_memorist() {{
  local offers
  offers=$(_memorist_offers "${{(@)words[2,CURRENT-1]}}")
  case $offers in {FILES}*) [[ $PREFIX == -* ]] || {{ _files; return; }} ;; esac
  compadd -- ${{=offers}}
}}
if [ "$funcstack[1]" = "_memorist" ]; then _memorist "$@"; else compdef _memorist memorist; fi
"""


# ---------------------------------------------------------------- fish


def fish(known: list[Command]) -> str:
    head = "# Completion of memorist for fish. To use it: memorist completion fish > ~/.config/fish/completions/memorist.fish\n"
    lines = ["complete -c memorist -f"]
    groups = _groups(known)
    for first in sorted({command.name.partition(" ")[0] for command in known}):
        about = next((command.help for command in known if command.name == first), ", ".join(groups.get(first, ())))
        lines.append(f"complete -c memorist -n __fish_use_subcommand -a {first} -d {_quoted(about)}")
    for first, rest in groups.items():
        none = f"__fish_seen_subcommand_from {first}; and not __fish_seen_subcommand_from {' '.join(rest)}"
        lines.append(f"complete -c memorist -n {_quoted(none)} -a {_quoted(' '.join(rest))}")
    return head + "\n".join([*lines, *(line for command in known for line in _fish_lines(command))]) + "\n"


def _fish_lines(command: Command) -> Iterable[str]:
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.name.split())
    start = f"complete -c memorist -n {_quoted(seen)}"
    for word, known in _after(command):
        after = f"{seen}; and __fish_seen_subcommand_from {word}"
        yield f"complete -c memorist -n {_quoted(after)} -a {_quoted(' '.join(known))}"
    for option in command.options:
        words = _values(command, option)
        taken = " -r -F" if words == FILES else f" -a {_quoted(words)}" if words else ""
        if option.flag:
            yield start + _fish_option(option, taken, words == FILES)
        elif taken:
            yield start + taken


def _fish_option(option: Option, taken: str, files: bool) -> str:
    short = f" -s {SHORT[option.name]}" if option.name in SHORT else ""
    value = "" if option.type == "flag" else taken if files else f" -x{taken}"
    return f" -l {option.flag[2:]}{short}{value} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS: Mapping[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
SHELL_NAME = Option("shell", "The shell: bash, zsh or fish.", needed=True)
commands: Commands = {"completion": ((SHELL_NAME, JSON), completion)}
