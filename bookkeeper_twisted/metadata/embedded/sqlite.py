"""Drivers and administrators for a store in one SQLite file, which several processes of one machine may share.

The URI follows SQLAlchemy: ``sqlite:///var/metadata.db`` is relative to the working directory,
``sqlite:////var/metadata.db`` (four slashes) is absolute.  Beside the file are SQLite's files
``metadata.db-wal`` and ``metadata.db-shm``, the folder ``metadata.db-sessions`` (:mod:`.sqlite_sessions`) and the file
``metadata.db-reserve`` (:mod:`.sqlite_reserve`).  The file system must be local: neither SQLite's WAL nor file locks
work over a network.
"""

import os

from twisted.internet.interfaces import IReactorTime

from ...errors import InvalidMetadataUriError
from ..interfaces import DEFAULT_OPTIONS
from .driver import EmbeddedAdmin, EmbeddedDriver
from .interfaces import Creation, IWorker
from .sqlite_sessions import SessionFiles
from .sqlite_store import SqliteStore

PATIENCE = 0.8
"""The fraction of a call's time limit for which the store waits for the locks of other processes.

It is less than 1, so that the store reports the lock before the call itself times out.
"""

POLL_INTERVAL = 0.25
"""Seconds between two polls of the store, by which watches find the writes of other processes."""


def path_of_uri(uri: str) -> str:
    """Return the absolute path in a ``sqlite:`` URI.

    :raises InvalidMetadataUriError: the URI has no path, or parameters besides its path.
    """
    scheme, _, rest = uri.partition(":")
    path = rest.removeprefix("///")
    if scheme.lower() != "sqlite" or path == rest or not path.strip("/") or path.startswith("//"):
        raise InvalidMetadataUriError(f"{uri!r} is not sqlite:///relative/path or sqlite:////absolute/path")
    if path == ":memory:" or "?" in path:
        raise InvalidMetadataUriError(f"{uri!r}: only files, without parameters; memory: is a store in memory")
    return os.path.abspath(path)


def sqlite_driver(
    clock: IReactorTime, uri: str, worker: IWorker, creation: Creation = Creation.ALWAYS,
    limit: float = DEFAULT_OPTIONS.operation_timeout,
) -> EmbeddedDriver:  # fmt: skip
    """Return a driver for a ``sqlite:`` URI; the file is first accessed when the driver is opened.

    :param worker: runs the calls to the file; the driver stops the worker.
    :param creation: whether to make a file that does not exist.
    :param limit: maximum number of seconds that a call may take.
    :raises InvalidMetadataUriError: the URI has no path.
    """
    return EmbeddedDriver(clock, uri, _store(uri, worker, creation, limit), worker, POLL_INTERVAL, limit)


def sqlite_admin(
    clock: IReactorTime, uri: str, worker: IWorker, creation: Creation = Creation.ALWAYS,
    limit: float = DEFAULT_OPTIONS.operation_timeout,
) -> EmbeddedAdmin:  # fmt: skip
    """Make an administrator for a ``sqlite:`` URI; the file is first accessed when the administrator is opened.

    :param worker: runs the calls to the file; the administrator stops the worker.
    :param creation: whether to make a file that does not exist.
    :param limit: maximum number of seconds that a call may take.
    :raises InvalidMetadataUriError: the URI has no path.
    """
    return EmbeddedAdmin(clock, uri, _store(uri, worker, creation, limit), worker, limit)


def _store(uri: str, worker: IWorker, creation: Creation, limit: float) -> SqliteStore:
    path = path_of_uri(uri)
    return SqliteStore(path, SessionFiles(f"{path}-sessions"), creation, PATIENCE * limit, worker.serve_reads)
