"""Programs from Debian's packages, for tests that can be skipped where these cannot be had."""

import contextlib
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from twisted.trial.unittest import SkipTest

CACHE = Path.home() / ".cache" / "bookkeeper-twisted"
"""The folder below which packages are unpacked once; ``apt-get`` needs no ``root`` for that."""


def unpack(packages: Sequence[str], cache: Path, wanted: str, hint: str) -> None:
    """Fetch packages and unpack them into a folder, where a path has to be afterwards.

    :param hint: why tests are skipped.
    :raises SkipTest: they cannot be fetched.
    """
    cache.parent.mkdir(parents=True, exist_ok=True)
    # Another process of the tests may do the same: it must find the whole folder, or none.
    with tempfile.TemporaryDirectory(dir=cache.parent) as folder:
        fetched, unpacked = Path(folder, "fetched"), Path(folder, "unpacked")
        fetched.mkdir()
        unpacked.mkdir()
        try:
            command = ["apt-get", "download", *packages]
            subprocess.run(command, cwd=fetched, capture_output=True, timeout=300, check=bool(packages))
            for package in fetched.glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, unpacked], check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            raise SkipTest(hint) from None
        with contextlib.suppress(OSError):  # the other process was faster
            unpacked.rename(cache)
    if not (cache / wanted).exists():
        raise SkipTest(hint)
