"""Stores written by Java bookies: their files, what their manifests say, and a disk that holds them."""

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from ...simulated_disk.sim_disk import SimDisk

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

    def write(self, folder: Path) -> None:
        """Put all files of the store below a real folder."""
        for path, data in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)

    def directories(self, key: str) -> list[str]:
        """The names of the directories of a key of the configuration, beside each other."""
        configured = self.manifest["config"].get(key) or self.manifest["config"]["ledgerDirectories"]
        return [path.rpartition("/")[2] for path in configured.split(",")]

    def ledger_directories(self) -> list[str]:
        """The ``current`` of each ledger directory."""
        return [f"/{name}/current" for name in self.directories("ledgerDirectories")]


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


def after_replay(name: str) -> dict[str, Any] | None:
    """What Apache's bookie held of each ledger after it was started on a store; None if that was not tried."""
    path = FOLDER / name / "after-replay.json"
    ledgers: dict[str, Any] | None = json.loads(path.read_text())["ledgers"] if path.exists() else None
    return ledgers
