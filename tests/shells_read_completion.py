"""`make test-shells`: zsh and fish read the completion scripts made for them, and must be installed."""

import subprocess
import sys
import tempfile
from pathlib import Path

for shell in ("zsh", "fish"):
    script = subprocess.run([sys.executable, "-m", "memorist", "completion", shell], capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, shell)
        file.write_bytes(script.stdout)
        said = subprocess.run([shell, "-n", file], capture_output=True, text=True, timeout=60)
    if said.returncode or said.stderr:
        raise SystemExit(f"{shell} cannot read its script: {said.stderr}")
    print(f"{shell} reads its script")
