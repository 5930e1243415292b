"""Prometheus's ``promtool``: that of the system, or else from Debian's package, fetched once into a cache folder."""

import json
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..debian import CACHE, unpack

_HINT = "no promtool: apt-get install prometheus"
_CACHE = CACHE / "prometheus"


@lru_cache(maxsize=1)
def _program() -> str:
    """The path of the program.

    :raises SkipTest: it cannot be had.
    """
    found = shutil.which("promtool")
    if found is not None:
        return found
    path = _CACHE / "usr/bin/promtool"
    if not path.exists():
        unpack(["prometheus"], _CACHE, "usr/bin/promtool", _HINT)
    return str(path)


def promtool(*arguments: str | Path) -> tuple[int, str]:
    """Runs it; returns its exit status and what it prints.

    :raises SkipTest: it cannot be had.
    """
    done = subprocess.run([_program(), *arguments], capture_output=True, text=True, timeout=110)
    return done.returncode, done.stdout + done.stderr


def as_yaml(path: Path, content: Any) -> Path:
    """Writes JSON, which is YAML, too."""
    path.write_text(json.dumps(content))
    return path
