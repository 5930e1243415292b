"""``python -m tests.floors``: tests of what depends on the version of Twisted, with the oldest and the newest one.

Each version is installed into a virtual environment of its own below ``.floors/``, made on first use; the oldest is the
floor in ``setup.cfg``.  The last line of each run is that of the test runner.
"""

import argparse
import configparser
import os
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent

MODULES = (
    "tests.protocol.test_direct_transport", "tests.protocol.server.test_direct_server",
    "tests.protocol.client.test_direct_client", "tests.integration.test_bookie_service",
)  # fmt: skip
"""Tests over real sockets and reactors, and of what is borrowed from Twisted."""


def requirements(setup_cfg: str, library: str = "Twisted", oldest: bool = False) -> list[str]:
    """Return what ``setup.cfg`` requires, one library of it at its floor or without a limit.

    :param setup_cfg: the text of the file.
    :param oldest: whether ``library`` is wanted at its floor; else the newest is.
    :raises ValueError: the file has no floor for ``library``.
    """
    parser = configparser.ConfigParser()
    parser.read_string(setup_cfg)
    lines = parser["options"]["install_requires"].split("\n")
    required = [line.replace(" ", "") for line in lines if line.strip()]
    for index, line in enumerate(required):
        match = re.fullmatch(rf"{library}>=([\d.]+).*", line)
        if match:
            required[index] = f"{library}=={match[1]}" if oldest else library
            return required
    raise ValueError(f"no floor for {library}")


def environment_of(folder: Path, required: Sequence[str]) -> Path:
    """Make a virtual environment with some libraries, unless it is there; return its interpreter."""
    python = folder / "bin" / "python"
    stamp = folder / "installed"
    wanted = "\n".join(required)
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        subprocess.run([*pip, *required], check=True)
        stamp.write_text(wanted)
    return python


def main(arguments: Sequence[str]) -> int:
    """Run the tests with both versions; return 0 if all passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.floors", description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="test modules, instead of those of the transports")
    options = parser.parse_args(arguments)
    setup_cfg = (ROOT / "setup.cfg").read_text()
    failed = 0
    for name in ("oldest", "newest"):
        required = requirements(setup_cfg, oldest=name == "oldest")
        python = str(environment_of(ROOT / ".floors" / name, [*required, "hypothesis"]))
        shown = "import sys, twisted; print(f'Twisted {twisted.__version__}, Python {sys.version.split()[0]}')"
        subprocess.run([python, "-c", shown], check=True)
        # Old versions of Twisted leave a socket to the garbage collector when an address is taken.
        strict = ("-W", "error", "-W", "ignore::ResourceWarning")
        run = subprocess.run(
            [python, *strict, "-m", "tests", *options.modules], cwd=ROOT, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        print("\n".join(run.stdout.splitlines()[-1 if run.returncode == 0 else -100 :]), flush=True)
        failed += run.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
