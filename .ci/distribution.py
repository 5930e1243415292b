"""Builds the source distribution and, from it, the wheel: the same bytes each time.

``python .ci/distribution.py DIRECTORY``.  The times of all files in both are ``SOURCE_DATE_EPOCH``; where that is not
set, the time of the last commit, or, in an unpacked source distribution, that of its files.
"""

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PINNED = {"PIP_CONSTRAINT": "constraints.txt", "PIP_BUILD_CONSTRAINT": "constraints.txt"}
"""Has pip build with these versions; no whole paths, as pip takes a space for the end of one."""


def epoch() -> int:
    """Return the time of all files, in seconds."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    if (ROOT / ".git").exists():
        git = ["git", "log", "-1", "--format=%ct"]
        return int(subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return int((ROOT / "setup.cfg").stat().st_mtime)


def repack(sdist: Path, seconds: int) -> None:
    """Write an archive anew without what differs from machine to machine: order, times, owners and permissions."""
    content = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=content, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, seconds
            entry.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(member))
    with sdist.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as packed:
        packed.write(content.getvalue())


def main(directory: str) -> None:
    """Build both into a directory, which has neither."""
    seconds, place = epoch(), Path(directory).absolute()
    os.umask(0o022)
    environ = {**os.environ, **_PINNED, "SOURCE_DATE_EPOCH": str(seconds)}
    python = [os.path.abspath(sys.executable), "-m"]
    subprocess.run([*python, "build", "--sdist", "--outdir", str(place)], check=True, env=environ, cwd=ROOT)
    (sdist,) = place.glob("*.tar.gz")
    repack(sdist, seconds)
    pip = [*python, "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-cache-dir"]
    subprocess.run([*pip, "--wheel-dir", str(place), str(sdist)], check=True, env=environ, cwd=ROOT)


if __name__ == "__main__":
    main(*sys.argv[1:])
