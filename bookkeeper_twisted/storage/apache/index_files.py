"""The index files of Apache's interleaved and sorted storage, with ledger states and the locations of entries.

Each ledger has one file, ``current/<g>/<p>/<ledger id>.idx``, with ids in hexadecimal.  It begins with a head of 1024
bytes::

    0     4s   "BKLE"
    4     i32  version, 0 or 1
    8     i32  length of the master key
    12         master key
          i32  state; bit 0 = fenced
          i32  length of the explicit LAC, 0 = none   \\  version 1
               explicit LAC, as the client sent it    /

Behind the head is an i64 for each entry id from 0 on: the location of the entry, or 0 if this bookie does not have it.
Apache's bookie reads whole pages, 8 KiB unless configured otherwise, so the last page must be filled with zeros.

While Apache's bookie moves a file to another disk, the file has the suffix ``.idx.rloc``.  Such a file is valid only if
there is no ``.idx`` of the same ledger.
"""

import posixpath
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from ...errors import StorageError
from ..interfaces import IFileSystem, LedgerRow

HEAD_SIZE = 1024
WRITTEN_PAGE = 8 * 1024
"""The default of Apache's setting ``pageSize``, in bytes."""

_NAME = re.compile(r"([0-9a-fA-F]{1,16})\.idx(\.rloc)?")
_START = struct.Struct(">4sii")
_LOCATION = struct.Struct(">q")
_PAGE = 64 * 1024
_NUMBER = struct.Struct(">i")
_MAGIC = b"BKLE"
_FENCED = 1
_DEPTH = 2


def index_files(fs: IFileSystem, directory: str) -> list[str]:
    """Return the paths of all index files in an index directory; a ledger may have two (``.idx``, ``.idx.rloc``).

    :param directory: path of the index directory, ending in ``current``.
    """
    return list(_below(fs, directory, _DEPTH))


def _below(fs: IFileSystem, directory: str, depth: int) -> Iterator[str]:
    for name in fs.list(directory):
        path = posixpath.join(directory, name)
        if depth and fs.is_directory(path):
            yield from _below(fs, path, depth - 1)
        elif not depth and _NAME.fullmatch(name):
            yield path


def files_of_ledgers(paths: Iterable[str]) -> dict[int, str]:
    """Return a map from ledger ids, in ascending order, to the paths of their valid index files.

    :param paths: all index files of a directory.  A ledger has two files while Apache's bookie moves its file to
        another disk.
    """
    chosen: dict[int, str] = {}
    # if a ledger has two files, use .idx and not .idx.rloc: .idx comes first in the sorted list
    for path in sorted(paths, key=posixpath.basename):
        chosen.setdefault(int(posixpath.basename(path).partition(".")[0], 16), path)
    return dict(sorted(chosen.items()))


def states_of(fs: IFileSystem, paths: Iterable[str]) -> list[LedgerRow]:
    """Read the states of all ledgers from their index files.

    A ledger whose file is damaged counts as fenced, with an unknown master key.

    :param paths: all index files of a directory; if a ledger has two files, its ``.idx`` file is read.
    """
    return [_state(fs, ledger_id, path) for ledger_id, path in files_of_ledgers(paths).items()]


def locations_of(fs: IFileSystem, ledger_id: int, path: str) -> Iterator[tuple[int, int, int]]:
    """Yield (ledger id, entry id, location) for each entry in an index file, in ascending order.

    :param path: path of the file, which stays open during the iteration.
    """
    with closing(fs.open(path)) as file:
        entry_id = 0
        while data := file.pread(_PAGE, HEAD_SIZE + _LOCATION.size * entry_id):
            for (location,) in _LOCATION.iter_unpack(data[: len(data) // _LOCATION.size * _LOCATION.size]):
                if location:
                    yield ledger_id, entry_id, location
                entry_id += 1
            if len(data) < _PAGE:
                return


def _state(fs: IFileSystem, ledger_id: int, path: str) -> LedgerRow:
    with closing(fs.open(path)) as file:
        head = file.pread(HEAD_SIZE, 0)
    return parse_head(ledger_id, head) or LedgerRow(ledger_id, fenced=True)


def parse_head(ledger_id: int, head: bytes) -> LedgerRow | None:
    """Decode the state of a ledger from the ``head`` of its index file; return None if the head is damaged.

    :param ledger_id: id of the ledger, from the file's name; the file itself does not contain it.
    """
    if len(head) != HEAD_SIZE:
        return None
    magic, version, key_size = _START.unpack_from(head)
    state_at = _START.size + key_size
    if magic != _MAGIC or version not in (0, 1) or not 0 <= key_size <= HEAD_SIZE - _START.size - 2 * _NUMBER.size:
        return None
    (state,) = _NUMBER.unpack_from(head, state_at)
    (lac_size,) = _NUMBER.unpack_from(head, state_at + _NUMBER.size) if version else (0,)
    lac_at = state_at + 2 * _NUMBER.size
    if not 0 <= lac_size <= HEAD_SIZE - lac_at:
        return None
    key, explicit_lac = head[_START.size : state_at], head[lac_at : lac_at + lac_size]
    return LedgerRow(ledger_id, key, bool(state & _FENCED), explicit_lac)


def encode_head(row: LedgerRow) -> bytes:
    """Encode a ledger state as the head of an index file of version 1.

    :param row: the state of the ledger.
    :raises StorageError: master key and explicit LAC together do not fit into a head.
    """
    head = _START.pack(_MAGIC, 1, len(row.master_key)) + row.master_key
    head += _NUMBER.pack(_FENCED if row.fenced else 0) + _NUMBER.pack(len(row.explicit_lac)) + row.explicit_lac
    if len(head) > HEAD_SIZE:
        raise StorageError(f"ledger {row.ledger_id}: {len(head)} bytes do not fit into the head of an index file")
    return head.ljust(HEAD_SIZE, b"\0")


def index_file_of(directory: str, ledger_id: int) -> str:
    """Return the path of the index file of a ledger.

    :param directory: path of the index directory, ending in ``current``.
    """
    folders = f"{ledger_id >> 8 & 0xFF:x}/{ledger_id & 0xFF:x}"
    return posixpath.join(directory, folders, f"{ledger_id:x}.idx")


class IndexFileWriter:
    """A writer of a new index file for one ledger; the file must not exist yet.

    :param row: the state of the ledger.
    """

    def __init__(self, fs: IFileSystem, path: str, row: LedgerRow) -> None:
        self._end = HEAD_SIZE
        fs.make_directories(posixpath.dirname(path))
        self._file = fs.open(path, create=True)
        try:
            self._file.pwrite(encode_head(row), 0)
        except BaseException:
            self._file.close()
            raise

    def put(self, first: int, locations: Sequence[int]) -> None:
        """Write the locations of consecutive entries to the index file.

        :param first: id of the first entry.
        :param locations: the location of each entry.
        """
        at = HEAD_SIZE + _LOCATION.size * first
        self._file.pwrite(struct.pack(f">{len(locations)}q", *locations), at)
        self._end = max(self._end, at + _LOCATION.size * len(locations))

    def close(self, keep: bool = True) -> None:
        """Close the file.

        :param keep: whether to fill the last page with zeros and to sync the file (but not the directory).  Pass False
            if the file is then deleted.
        """
        try:
            if keep:
                pages = -(-(self._end - HEAD_SIZE) // WRITTEN_PAGE)
                self._file.truncate(HEAD_SIZE + pages * WRITTEN_PAGE)
                self._file.sync(metadata=True)
        finally:
            self._file.close()


def remove(fs: IFileSystem, paths: Iterable[str]) -> None:
    """Delete the files at ``paths``; the deletion is durable on return.

    :raises OSError: a file could not be deleted.
    """
    directories = set()
    for path in paths:
        fs.unlink(path)
        directories.add(posixpath.dirname(path))
    for directory in sorted(directories):
        fs.sync_directory(directory)
