"""Where a user's settings and data lie: without any setting, and without what reads them, for those who have no time for it."""

import os
import sys
from pathlib import Path


def folder(config: bool) -> str:
    """The user's folder for settings, or for data, as the system has it."""
    if sys.platform in ("win32", "darwin"):
        import platformdirs  # knows them; where XDG holds it would cost 15 ms to say the same

        found = platformdirs.user_config_dir if config else platformdirs.user_data_dir
        return found("memorist", appauthor=False)
    given = os.environ.get("XDG_CONFIG_HOME" if config else "XDG_DATA_HOME", "")
    return str(Path(given if given.strip() else "~/.config" if config else "~/.local/share").expanduser() / "memorist")
