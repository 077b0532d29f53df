"""Run a peer in an environment of its own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ARQ = ("arq==0.28.0", "redis[hiredis]==5.3.1")
SAQ = ("saq[redis,hiredis]",)
TASKIQ = ("taskiq", "taskiq-redis")


def peer(script: str, packages: tuple[str, ...], *arguments: str) -> Any:
    """The JSON that a script of this folder prints; None if uv or the packages cannot be had."""
    uv = shutil.which("uv") or str(Path(__file__).parent.parent.parent / ".uv" / "bin" / "uv")
    with_packages = [word for package in packages for word in ("--with", package)]
    command = [uv, "run", "--no-project", "--quiet", "--python", sys.executable, *with_packages, "python"]
    path = Path(__file__).with_name(script)
    try:
        found = subprocess.run(
            [*command, str(path), *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
            cwd=path.anchor,  # any folder but the project's
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return json.loads(found.stdout.splitlines()[-1])
