"""Access to RocksDB databases; the only module that imports the library ``rocksdict`` (extra ``rocksdb``).

A database is read in pages, with a new iterator for each page.  The reason: an open iterator keeps a database locked,
even after the database was closed.  Writes skip RocksDB's write-ahead log, because an export begins again after a
crash.
"""

import posixpath
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from zope.interface import implementer

from ...errors import DamageError, DirectoryLockedError, StorageError
from ..interfaces import IFileSystem
from .interfaces import IKeyValues, Pair

_PAGE = 10_000
_MOST_PUT = 1000  # maximum number of pairs in one write: while ``rocksdict`` writes, no other Python thread runs
_KIB = 1024
_CONFIG = "rocksdict-config.json"


@implementer(IKeyValues)
class RocksKeyValues:
    """An open RocksDB database, created by :meth:`open`."""

    def __init__(self, fs: IFileSystem, path: str, library: Any, database: Any) -> None:
        self._fs = fs
        self._path = path
        self._library = library
        self._database = database
        self._options = library.WriteOptions()
        self._options.disable_wal = True

    @classmethod
    def open(cls, fs: IFileSystem, path: str, create: bool) -> "RocksKeyValues":
        """Open and lock the database at ``path`` of the file system ``fs``; with ``create``, create a missing one."""
        library = _library(path)
        if create:
            fs.make_directories(path)
        elif not fs.exists(posixpath.join(path, "CURRENT")):
            raise StorageError(f"{path}: there is no RocksDB database")
        with _errors(path):
            return cls(fs, path, library, library.Rdict(path, _database_options(library, create)))

    def items(self, first: bytes = b"") -> Iterator[Pair]:
        while True:
            with _errors(self._path):
                page = list(islice(self._database.items(from_key=first), _PAGE))
            yield from page
            if len(page) < _PAGE:
                return
            first = page[-1][0] + b"\0"

    def put(self, pairs: Sequence[Pair]) -> None:
        for start in range(0, len(pairs), _MOST_PUT):
            batch = self._library.WriteBatch(raw_mode=True)
            for key, value in pairs[start : start + _MOST_PUT]:
                batch.put(key, value)
            with _errors(self._path):
                self._database.write(batch, self._options)

    def flush(self) -> None:
        with _errors(self._path):
            self._database.flush(True)
        self._fs.sync_directory(self._path)

    def close(self) -> None:
        with _errors(self._path):
            self._database.close()
        config = posixpath.join(self._path, _CONFIG)
        if self._fs.exists(config):  # delete the file in which ``rocksdict`` stores its own options
            self._fs.unlink(config)


def _library(path: str) -> Any:
    try:
        import rocksdict
    except ImportError as error:
        raise StorageError(
            f"{path} is an index of Apache's DbLedgerStorage, in RocksDB: pip install 'bookkeeper-twisted[rocksdb]'"
        ) from error
    return rocksdict


def _database_options(library: Any, create: bool) -> Any:
    """Return the options of the file format, as Apache's bookie sets them for the database ``locations``."""
    table = library.BlockBasedOptions()
    table.set_block_size(64 * _KIB)
    table.set_bloom_filter(10.0, False)
    table.set_format_version(5)
    options = library.Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_block_based_table_factory(table)
    options.set_compression_type(library.DBCompressionType.lz4())
    options.set_keep_log_file_num(1)
    return options


@contextmanager
def _errors(path: str) -> Iterator[None]:
    """Convert exceptions of ``rocksdict`` to storage errors.

    ``rocksdict`` raises the same exception type for every error, so the text of the error decides.
    """
    try:
        yield
    except Exception as error:
        text = str(error)
        if "LOCK" in text:
            raise DirectoryLockedError(f"{path} is in use by another process: {text}") from error
        kind = DamageError if "Corruption" in text else StorageError
        raise kind(f"{path}: {text}") from error
