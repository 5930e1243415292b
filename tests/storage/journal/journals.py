"""What several tests of the journal need: records, a directory, a file's bytes."""

import struct
from collections.abc import Sequence

import attrs

from bookkeeper_twisted.storage.interfaces import IFileSystem, JournalPosition
from bookkeeper_twisted.storage.journal.files import JournalSettings
from bookkeeper_twisted.storage.journal.format import FileIdentity, pack_group
from bookkeeper_twisted.storage.journal.journal import Journal

from ...simulated_disk.sim_disk import SimDisk

NOWHERE = JournalPosition()
DIRECTORY = "/journal/current"
SMALL = JournalSettings(
    max_size=2048, alignment=512, block=512, max_backups=1, preallocate=2048, fill_step=1024, max_spares=2
)

ROOMY = attrs.evolve(SMALL, max_size=1 << 20)


def record(entry_id: int, size: int = 40, ledger_id: int = 7) -> bytes:
    """A whole record."""
    body = struct.pack(">qq", ledger_id, entry_id) + bytes([entry_id % 251]) * size
    return struct.pack(">i", len(body)) + body


def joined_group(
    identity: FileIdentity, start: int, records: Sequence[bytes], durable: JournalPosition, alignment: int, block: int,
    last: bool = False,
) -> tuple[bytes, int]:  # fmt: skip
    """The bytes of a group, and where it ends."""
    parts, end = pack_group(identity, start, records, durable, alignment, block, last)
    return b"".join(parts), end


def ids(bodies: Sequence[bytes]) -> list[int]:
    """The entry ids in bodies."""
    return [struct.unpack_from(">q", body, 8)[0] for body in bodies]


def new_disk() -> SimDisk:
    """A disk with an empty journal directory."""
    disk = SimDisk()
    disk.make_directories(DIRECTORY)
    return disk


def start(
    disk: IFileSystem, log_mark: JournalPosition = NOWHERE, settings: JournalSettings = SMALL
) -> tuple[Journal, list[int]]:
    """A journal, and the entry ids its replay gave."""
    journal = Journal.open(disk, DIRECTORY, settings, 1000, b"salt")
    return journal, ids(list(journal.replay(log_mark)))


def content(disk: IFileSystem, name: str) -> bytes:
    """All bytes of a journal file."""
    file = disk.open(f"{DIRECTORY}/{name}")
    try:
        return file.pread(file.size(), 0)
    finally:
        file.close()


def overwrite(disk: IFileSystem, name: str, offset: int, data: bytes) -> None:
    """Damages a file, durably."""
    file = disk.open(f"{DIRECTORY}/{name}")
    file.pwrite(data, offset)
    file.sync()
    file.close()


def put(disk: IFileSystem, name: str, data: bytes) -> None:
    """A file with these bytes, durable."""
    file = disk.open(f"{DIRECTORY}/{name}", create=True)
    file.pwrite(data, 0)
    file.sync(metadata=True)
    file.close()
    disk.sync_directory(DIRECTORY)
