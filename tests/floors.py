"""Installs the package with the oldest and with the newest versions it says it works with, and runs tests on both.

``python -m tests.floors [--only oldest|newest] [MODULE ...]``.  The oldest are the floors of ``setup.cfg``: what is
written there is what is installed.  Environments are kept in ``.floors`` and made anew when ``setup.cfg`` changes.
``python -m tests.floors --pin`` installs and tests nothing: it writes the newest versions to ``constraints.txt``, with
those of the tools, for the commands of the Makefile to install.  Needs the package index.
"""

import argparse
import configparser
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".floors"
CONSTRAINTS = ROOT / "constraints.txt"
NAMES = ("oldest", "newest")
EXTRAS = ("zookeeper", "tools", "arrow", "tls", "jwt", "otel")
"""Their floors count, too."""

MODULES = (
    "tests.codec", "tests.protocol", "tests.client.connections", "tests.metadata", "tests.config", "tests.http",
    "tests.security", "tests.authentication", "tests.cli.test_tap", "tests.cli.test_main", "tests.cli.test_tokens",
    "tests.doors", "tests.test_aio", "tests.test_blocking", "tests.test_instruments", "tests.test_metrics",
    "tests.tracing", "tests.integration.test_bookie_service",
    "tests.test_examples.ExamplesTests.test_write_read", "tests.test_examples.ExamplesTests.test_asyncio_client",
    "tests.test_examples.ExamplesTests.test_standalone_cluster",
)  # fmt: skip
"""What touches a library of others, and what is borrowed from Twisted."""


_HEADER = """\
# What the Makefile, and so CI, installs: the newest versions that setup.cfg allowed when "make constraints" wrote this.
"""
UNPINNED_EXTRAS = ("kerberos",)
"""Extras whose libraries are compiled with those of the system, without which pip cannot say what they need."""
_UNPINNED = ("bookkeeper-twisted", "pip")
"""The package itself, and the program that reads the file."""


def requirements(text: str) -> Iterator[str]:
    """The requirements of a ``setup.cfg``, those of :data:`EXTRAS` included."""
    parser = configparser.ConfigParser()
    parser.read_string(text)
    blocks = [parser["options"]["install_requires"], *(parser["options.extras_require"][name] for name in EXTRAS)]
    for block in blocks:
        yield from filter(None, (line.strip() for line in block.splitlines()))


def floors(text: str) -> list[str]:
    """What is to be installed for the oldest versions.

    :raises ValueError: a requirement names no floor.
    """
    found = []
    for requirement in requirements(text):
        match = re.match(r"([\w.\[\]-]+)\s*>=\s*([\w.]+)", requirement)
        if match is None:
            raise ValueError(f"no floor: {requirement}")
        found.append(f"{match[1]}=={match[2]}")
    return found


def all_extras(text: str) -> list[str]:
    """The names of the extras of a ``setup.cfg``."""
    parser = configparser.ConfigParser()
    parser.read_string(text)
    return list(parser["options.extras_require"])


def canonical(name: str) -> str:
    """The name of a library as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(report: dict[str, Any]) -> str:
    """The constraints file for what pip would install.

    :param report: pip's installation report.
    """
    found = {canonical(each["metadata"]["name"]): each["metadata"]["version"] for each in report["install"]}
    lines = [f"{name}=={version}\n" for name, version in sorted(found.items()) if name not in _UNPINNED]
    return _HEADER + "".join(lines)


def pin() -> int:
    """Write the constraints file; return the exit status."""
    extras = [name for name in all_extras((ROOT / "setup.cfg").read_text()) if name not in UNPINNED_EXTRAS]
    wanted = f"{ROOT}[{','.join(extras)}]"
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report.json")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--dry-run", "--ignore-installed", "--report", str(report), wanted])
        if done.returncode:
            return done.returncode
        text = pinned(json.loads(report.read_text()))
    before = set(CONSTRAINTS.read_text().splitlines()) if CONSTRAINTS.exists() else set()
    CONSTRAINTS.write_text(text)
    new = [line for line in text.splitlines() if "==" in line and line not in before]
    print(f"{CONSTRAINTS.name}: {len(text.splitlines()) - 1} versions; changed: {', '.join(new) or 'none'}")
    return 0


def environment(name: str, pins: Sequence[str]) -> Path:
    """Make the environment, unless it is there; return its Python."""
    place = PLACE / name
    python, stamp = place / "bin" / "python", place / "stamp"
    wanted = (ROOT / "setup.cfg").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(place, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "setuptools>=77", "hypothesis", *pins], check=True)
        package = ["--no-build-isolation", "--config-settings", "editable_mode=compat", "--editable"]
        subprocess.run([*pip, *package, f"{ROOT}[{','.join(EXTRAS)}]"], check=True)
        stamp.write_text(wanted)
    return python


def run(name: str, modules: Sequence[str]) -> bool:
    """Install and test; print a line with the versions that matter; return whether all went well."""
    began = time.perf_counter()
    pins = floors((ROOT / "setup.cfg").read_text()) if name == "oldest" else []
    python = environment(name, pins)
    installed = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    ours = {re.split(r"[=\[ ]", p)[0].lower() for p in requirements((ROOT / "setup.cfg").read_text())}
    versions = [line for line in installed.splitlines() if line.partition("==")[0].lower() in ours]
    print(f"{name}: {', '.join(versions)}", flush=True)
    # Old versions of Twisted leave a socket to the garbage collector when an address is taken.
    strict = ("-W", "error", "-W", "ignore::ResourceWarning")
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), *strict, "-m", "tests", *modules]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    last = (done.stdout.splitlines() or ["no tests ran"])[-1]
    print(f"{name}: {last} in {time.perf_counter() - began:.0f} s", flush=True)
    if done.returncode:
        print(done.stdout[-10_000:], done.stderr[-5000:])
    return not done.returncode


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.floors", description=__doc__)
    parser.add_argument("--only", choices=NAMES, help="one of them instead of both")
    parser.add_argument("--pin", action="store_true", help="write constraints.txt, and do nothing else")
    parser.add_argument("modules", nargs="*", default=MODULES, help="test modules, instead of those of the rooms below")
    options = parser.parse_args(arguments)
    if options.pin:
        return pin()
    names = [options.only] if options.only else NAMES
    results = [run(name, options.modules) for name in names]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
