"""Programs from Debian's packages, for tests that can be skipped where these cannot be had."""

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
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            command = ["apt-get", "download", *packages]
            subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=bool(packages))
            for package in Path(folder).glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, cache], check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            raise SkipTest(hint) from None
    if not (cache / wanted).exists():
        raise SkipTest(hint)
