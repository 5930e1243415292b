"""``python -m tests.first_hour``: see the package's docstring."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .reader import Reader, Unexpected
from .steps import STEPS, Place, Skipped

SHOWN = 40
"""Lines of what went wrong."""


def main(arguments: Sequence[str]) -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.first_hour", description="The first hour of a new user.")
    parser.add_argument("--keep", metavar="DIR", help="work here, and leave everything behind")
    options = parser.parse_args(arguments)
    if options.keep:
        return run(Path(options.keep).absolute())
    with tempfile.TemporaryDirectory(prefix="first-hour-") as directory:
        return run(Path(directory))


def run(base: Path) -> int:
    """Take all steps, the rest as well if one fails for itself."""
    work, dist = base / "work", base / "dist"
    for directory in (work, dist):
        directory.mkdir(parents=True)
    environ = {
        "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", str(base)), "LANG": "C.UTF-8",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1",
        "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    place = Place(base, Reader(work, environ))
    failed, began = 0, time.monotonic()
    for name, step in STEPS.items():
        at = time.monotonic()
        detail = ""
        try:
            detail, outcome = step(place), "passed"
        except Skipped as reason:
            detail, outcome = str(reason), "skipped"
        except Unexpected as reason:
            detail, outcome = _shortened(str(reason)), "FAILED"
            failed += 1
        print(f"{name:32} {outcome:8} {time.monotonic() - at:5.1f} s  {detail}", flush=True)
        if outcome == "FAILED" and "venv" not in os.listdir(work):
            break  # nothing is installed, so nothing else can work
    try:
        place.reader.leave()
    except Unexpected as reason:
        print(reason)
        failed += 1
    print(f"{len(STEPS)} steps, {failed} failed, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if failed else 0


def _shortened(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= SHOWN else [*lines[: SHOWN // 2], "...", *lines[-SHOWN // 2 :]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
