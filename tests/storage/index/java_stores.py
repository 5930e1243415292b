"""Stores written by Java bookies: their files, what their manifests say, and a disk that holds them."""

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted.testing.disk.sim_disk import SimDisk

FOLDER = Path(__file__).parent.parent.parent / "vectors" / "disk"
STORES = sorted(path.parent.name for path in FOLDER.glob("*/manifest.json"))


@attrs.frozen
class JavaStore:
    """One store; paths are relative to it."""

    manifest: dict[str, Any]
    files: dict[str, bytes]

    def disk(self) -> SimDisk:
        """A new disk with all files of the store below ``/``."""
        disk = SimDisk()
        for path, data in self.files.items():
            disk.make_directories("/" + path.rpartition("/")[0])
            file = disk.open("/" + path, create=True)
            if data:
                file.pwrite(data, 0)
        return disk

    def ledger_directories(self) -> list[str]:
        """The ``current`` of each ledger directory."""
        configured = self.manifest["config"]["ledgerDirectories"].split(",")
        return [f"/{path.rpartition('/')[2]}/current" for path in configured]


@cache
def java_store(name: str) -> JavaStore:
    """The store of a name in ``tests/vectors/disk``."""
    folder = FOLDER / name
    files = {}
    with tarfile.open(folder / "store.tar.xz") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name] = content.read()
    return JavaStore(json.loads((folder / "manifest.json").read_text()), files)
