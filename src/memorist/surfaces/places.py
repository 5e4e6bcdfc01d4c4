"""Where a user's settings and data lie. Reads no settings and imports none of their readers, for callers in a hurry."""

import os
import sys
from pathlib import Path


def folder(config: bool) -> str:
    """The user's folder for settings or for data, by the conventions of the system."""
    if sys.platform in ("win32", "darwin"):
        import platformdirs  # knows them; where XDG applies, importing it would cost 15 ms for the same result

        found = platformdirs.user_config_dir if config else platformdirs.user_data_dir
        return found("memorist", appauthor=False)
    given = os.environ.get("XDG_CONFIG_HOME" if config else "XDG_DATA_HOME", "")
    return str(Path(given if given.strip() else "~/.config" if config else "~/.local/share").expanduser() / "memorist")
