"""Settings: the only reader of environment variables and TOML, so that every surface sees the same store and project.

Each value comes from the environment, else the project's `.memorist.toml`, else the user's `config.toml`, else a
default, and `sources` says from which. The project's file arrives with a clone, from somebody else: it may say how the
project is recalled, never which project it is, which file memories go to or who is writing. A wrong key or value is an
error that names its place, because a setting ignored in silence is believed to work. Writing changes one line and keeps
the rest, comments included; the result is parsed and compared before it replaces the old file.
`off_because` runs on every verb: it costs one `stat`, and sees at once what another process switched.
"""

import json
import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memorist.errors import Invalid
from memorist.kinds import Kind, own_kinds
from memorist.project import repository_root, resolve_project
from memorist.records import Scope

LOCAL_NAME = ".memorist.toml"
LARGEST_BUDGET = 1_000_000
_env = os.environ.get
_LARGEST_FILE = 1 << 16  # bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds here and now. `sources` names for each key "default", the variable or the file it came from."""

    store: str | None  # None: no place was given and there is no home folder
    project: str | None
    space: str
    scope: str | None
    design: str
    budget: int
    kinds: Mapping[str, Kind]
    actor: str
    sources: Mapping[str, str]

    @property
    def db(self) -> str:
        """An absolute path, `:memory:` or an address. Asked late: whoever names a file needs no home folder."""
        if self.store is None:
            raise Invalid("there is no home folder to keep memories in; set MEMORIST_DB to a file, or HOME to a folder")
        return self.store


def load(directory: Path | None = None) -> Settings:
    """The settings for work in that directory; without one, no project file is looked for."""
    found = _found(directory)
    del found["off"]  # a switch that may turn at any moment: `off_because` asks each time
    values = {key: value for key, (value, _) in found.items() if key != "db"}
    sources = MappingProxyType({key: source for key, (_, source) in found.items()})
    return Settings(**values, store=found["db"][0], sources=sources)


def off_because() -> str | None:
    """None while memory is on; else who switched it off, and how to switch it on again."""
    word = _off_word()
    if word:
        return f"memory is off: MEMORIST_OFF is {word[:40]!r}; unset it, or set it to 0, to switch memory on"
    file = user_file()
    if file is not None and _checked("off", (_table(file) or {}).get("off", False), str(file), file):
        return f"memory is off: {file} says off = true; `memorist on` switches it on"
    return None


def get_setting(key: str, directory: Path | None = None) -> str | None:
    """One value as text; None where nothing is set."""
    return _shown(_found(directory)[_known(key)][0])


def all_settings(directory: Path | None = None) -> dict[str, tuple[str | None, str]]:
    """Every setting as (text, source)."""
    return {key: (_shown(value), source) for key, (value, source) in _found(directory).items()}


def set_setting(key: str, value: str, directory: Path | None = None) -> Path:
    """Writes one setting into the user's file. A relative `db` is taken from that directory, else the current one."""
    return _write(key, _checked(_one_line(key), _typed(key, value), "not set", directory or Path()))


def unset_setting(key: str) -> Path:
    """Takes one setting out of the user's file, so that the default holds again."""
    return _write(_one_line(key), None)


def switch(off: bool) -> Path:
    """Switches memory off or on in the user's file. MEMORIST_OFF still wins: ask `off_because` afterwards."""
    file = _writable_file()
    return file if (_table(file) or {}).get("off", False) is off else _write("off", off)


# ---------------------------------------------------------------- places


def user_file() -> Path | None:
    """The user's settings file, whether it exists or not; None without MEMORIST_CONFIG and a home folder."""
    given = _env("MEMORIST_CONFIG")
    return _given_file(given) if given else _standard("config.toml", _env("HOME"), _env("XDG_CONFIG_HOME"))


def _writable_file() -> Path:
    file = user_file()
    if file is None:
        raise Invalid("there is no home folder to keep settings in; set MEMORIST_CONFIG to a file, or HOME to a folder")
    return file


@lru_cache(maxsize=32)
def _standard(name: str, *_home: str | None) -> Path | None:
    """Kept for as long as the variables it depends on are the same: asking costs more than a whole verb may."""
    import platformdirs  # 31 ms, and not needed when both places are given

    ask = platformdirs.user_config_dir if name == "config.toml" else platformdirs.user_data_dir
    try:
        folder = Path(ask("memorist", appauthor=False))
    except (RuntimeError, OSError):
        return None
    return folder / name if folder.is_absolute() else None  # an unexpanded `~`: there is no home


@lru_cache(maxsize=32)
def _given_file(given: str) -> Path:
    """Absolute from its first use on, so that a process that changes its folder keeps its settings."""
    return Path(_absolute(given, Path()))


def _absolute(value: str, base: Path) -> str:
    if value == ":memory:" or "://" in value:
        return value
    try:
        return str((base / Path(value).expanduser()).absolute())
    except (RuntimeError, OSError) as problem:
        raise Invalid(f"the path {value!r} cannot be used: {problem}; give a full path") from problem


def _local_file(directory: Path) -> Path | None:
    """The nearest `.memorist.toml` upward, never above the repository; outside one, only the folder's own."""
    root = repository_root(directory)
    here = directory.resolve()
    for folder in (here, *here.parents):
        with suppress(OSError):  # a folder that may not be looked into
            if (folder / LOCAL_NAME).is_file():
                return folder / LOCAL_NAME
        if folder == (root or here):
            break
    return None


# ---------------------------------------------------------------- what a value may be

_YES = ("1", "true", "yes", "on")
_NO = ("", "0", "false", "no", "off")


def _off_word() -> str:
    """MEMORIST_OFF, or nothing while it leaves memory on. An unknown word switches off: that is the safe side."""
    word = _env("MEMORIST_OFF", "").strip()
    return "" if word.lower() in _NO else word


def _text(key: str, value: object) -> str:
    """One short line, by the rules of scopes, since these words stand beside scopes in the store."""
    if isinstance(value, str):
        plain = unicodedata.normalize("NFC", value)
        with suppress(Invalid):
            return Scope(f"{key}/{plain}").removeprefix(f"{key}/")
    raise Invalid(f"{key} must be a short text without '*', line breaks or blanks around it, not {_quoted(value)}")


def _path(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or any(unicodedata.category(char) == "Cc" for char in value):
        raise Invalid(f"{key} must be the path of a file, or ':memory:', not {_quoted(value)}")
    return value


def _budget(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_BUDGET:
        raise Invalid(f"{key} must be a whole number of tokens from 1 to {LARGEST_BUDGET:,}, not {_quoted(value)}")
    return value


def _off(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{key} must be true or false, not {_quoted(value)}")
    return value


def _kinds(key: str, value: object) -> Mapping[str, Kind]:
    if not isinstance(value, Mapping) or not all(isinstance(kind, Mapping) for kind in value.values()):
        raise Invalid("kinds must be a table of tables, such as [kinds.recipe]")
    return MappingProxyType(own_kinds(value))


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "db": _path,
    "project": lambda _, value: resolve_project(value, None).name,
    "space": _text,
    "scope": lambda _, value: Scope(value),
    "design": _text,
    "budget": _budget,
    "actor": _text,
    "off": _off,
    "kinds": _kinds,
}
_ENVIRONMENT = {key: f"MEMORIST_{key.upper()}" for key in _CHECKS if key not in ("off", "kinds")}
_LOCAL = ("scope", "design", "budget")
_DEFAULTS = {"space": "default", "design": "balanced", "budget": 1500, "off": False, "kinds": MappingProxyType({})}


def _checked(key: str, value: object, where: str, base: Path) -> Any:
    """The value as the engine takes it, or an error that names the place. A relative `db` begins at `base`."""
    try:
        checked = _CHECKS[key](key, value)
        return _absolute(checked, base) if key == "db" else checked
    except Invalid as problem:
        raise Invalid(f"{where}: {problem}") from problem


def _typed(key: str, text: str) -> object:
    """What a text from outside stands for. What cannot be read stays text, and the check of its key refuses it."""
    if key == "off" and text.strip().lower() in _YES + _NO:
        return text.strip().lower() in _YES
    if key == "budget" and re.fullmatch(r"\s*\d{1,9}\s*", text, re.ASCII):
        return int(text)
    return text


def _known(key: str) -> str:
    if key not in _CHECKS:
        raise Invalid(f"there is no setting {_quoted(key)}; settings are {', '.join(_CHECKS)}")
    return key


def _one_line(key: str) -> str:
    if _known(key) == "kinds":
        raise Invalid(f"kinds is a table: edit [kinds.NAME] in {_writable_file()} by hand")
    return key


def _quoted(value: object) -> str:
    return repr(value)[:60]


def _shown(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(value)
    return None if value is None else str(value)


# ---------------------------------------------------------------- the layers


def _found(directory: Path | None) -> dict[str, tuple[Any, str]]:
    """Each setting as (value, source); the later layer covers the earlier."""
    local = None if directory is None else _local_file(directory)
    given = _from_file(user_file(), tuple(_CHECKS)) | _from_file(local, _LOCAL) | _from_environment()
    return {key: given[key] if key in given else (_default(key), "default") for key in _CHECKS}


def _from_environment() -> dict[str, tuple[Any, str]]:
    found: dict[str, tuple[Any, str]] = {"off": (True, "MEMORIST_OFF")} if _off_word() else {}
    for key, variable in _ENVIRONMENT.items():
        text = _env(variable)
        if text:  # an empty variable is how a shell unsets one for a single command
            found[key] = _checked(key, _typed(key, text), variable, Path()), variable
    return found


def _from_file(file: Path | None, allowed: tuple[str, ...]) -> dict[str, tuple[Any, str]]:
    if file is None:
        return {}
    table = _table(file) or {}
    for key in table:
        if key not in allowed:
            aside = f"; {key} belongs into {user_file()}" if key in _CHECKS else ""
            raise Invalid(f"{file} may not set {_quoted(key)}: allowed there are {', '.join(allowed)}{aside}")
    if allowed == _LOCAL and table.get("scope") == "global":
        raise Invalid(f"{file} may not send memories to the global scope, where every project recalls them; remove it")
    return {key: (_checked(key, value, str(file), file.parent), str(file)) for key, value in table.items()}


def _default(key: str) -> Any:
    if key == "db":
        place = _standard("memory.db", _env("HOME"), _env("XDG_DATA_HOME"))
        return None if place is None else str(place)
    return _login() if key == "actor" else _DEFAULTS.get(key)


def _login() -> str:
    import getpass

    try:
        return _text("actor", getpass.getuser())
    except (Invalid, OSError, KeyError, ImportError):  # a container's user without a name
        return "unknown"


# ---------------------------------------------------------------- files

_parsed: dict[Path, tuple[tuple[int, int, int], dict[str, Any]]] = {}


def _table(file: Path) -> Mapping[str, Any] | None:
    """The parsed file; None where there is none. Parsed once per change: size, time and inode tell."""
    try:
        seen = file.stat()
        stamp = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        known = _parsed.get(file)
        if known is not None and known[0] == stamp:
            return known[1]
        table = _parse(_read(file, seen.st_size), file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise Invalid(f"{file} cannot be read: {problem}; make it a readable UTF-8 file, or remove it") from problem
    _parsed[file] = (stamp, table)
    return table


def _read(file: Path, size: int) -> str:
    if size > _LARGEST_FILE:
        raise Invalid(f"{file} has {size:,} bytes, {_LARGEST_FILE:,} are allowed; it cannot be a settings file")
    return file.read_text(encoding="utf-8-sig")  # Windows editors put a byte order mark first


def _parse(text: str, file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        flaw = str(problem).replace("end of document", f"the end, line {text.rstrip().count(chr(10)) + 1}")
        raise Invalid(f"{file} is not valid TOML: {flaw}; correct it") from problem


def _write(key: str, value: str | int | bool | None) -> Path:
    """Sets the key, or takes it out for None; nothing is written where nothing changes."""
    file = _writable_file()
    old = dict(_table(file) or {})
    if type(old.get(key)) is type(value) and old.get(key) == value:
        return file
    if file.exists() and not file.is_file():
        raise Invalid(f"{file} is no regular file and is not replaced; name another with MEMORIST_CONFIG")
    wanted = {name: kept for name, kept in old.items() if name != key} | ({} if value is None else {key: value})
    text = _edited(_read(file, 0) if file.exists() else "", key, None if value is None else _toml(value))
    try:
        faithful = _parse(text, file) == wanted
    except Invalid:
        faithful = False
    if not faithful:
        raise Invalid(f"{file} writes {key} in a way that cannot be changed line by line; change it by hand")
    return _replace(file, text)


def _replace(file: Path, text: str) -> Path:
    from memorist.store.files import replace_private

    try:
        replace_private(file.resolve(), text)  # resolved: a link into somebody's dotfiles stays a link
    except (OSError, UnicodeEncodeError) as problem:
        raise Invalid(f"{file} cannot be written: {problem}; name another place with MEMORIST_CONFIG") from problem
    return file


def _toml(value: str | int | bool) -> str:
    """JSON's strings, whole numbers and booleans are TOML's too, but for the one control character JSON leaves bare."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _edited(text: str, key: str, value: str | None) -> str:
    """The text with that key of its top part set, or gone. Everything else stays as it was, to the letter."""
    lines = text.split("\n")
    tables = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    spelled = rf"""(\s*(?:{key}|"{key}"|'{key}')\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^#"']*?)(\s*(?:#.*)?)"""
    for at, line in enumerate(lines[:tables]):
        found = re.fullmatch(spelled, line)
        if found:
            lines[at : at + 1] = [] if value is None else [f"{found[1]}{value}{found[3]}"]
            return "\n".join(lines)
    if value is not None:
        keys = [at for at, line in enumerate(lines[:tables]) if re.match(r"\s*[^#\s]", line)]
        lines.insert(keys[-1] + 1 if keys else 0, f"{key} = {value}")
    return "\n".join(lines)
