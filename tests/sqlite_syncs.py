"""Counts the syncs that SQLite asks of the operating system, beneath its page cache, and has some of them fail.

``PRAGMA synchronous`` tells what was asked for, not what happens.  The methods that SQLite calls on its files are a
table of C functions, which belongs to its public interface: the default file system's ``xOpen`` is replaced for
the length of a test by one that puts a table of its own in front of every file.
"""

import _sqlite3
import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_FILE_METHODS = 19
"""Function pointers in the newest table (version 3) and the version itself, which takes the room of one."""

_Pointer = ctypes.c_void_p
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_int)
_Open = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer, _Pointer, ctypes.c_int, _Pointer)
_XSYNC = 5
"""Place of ``xSync`` in the table: version, close, read, write, truncate, sync."""

_FAILED = 1034
"""``SQLITE_IOERR_FSYNC``"""

_KEPT: list[object] = []
"""What C refers to until the last file is closed."""


class _Vfs(ctypes.Structure):
    """The beginning of ``sqlite3_vfs``."""

    _fields_ = [
        ("version", ctypes.c_int), ("file_size", ctypes.c_int), ("max_path", ctypes.c_int), ("next", _Pointer),
        ("name", ctypes.c_char_p), ("data", _Pointer), ("open", _Pointer),
    ]  # fmt: skip


def _default_vfs() -> Any:
    """The file system of the library that Python's module uses."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    return library.sqlite3_vfs_find(None).contents


@contextmanager
def recorded_syncs(fails: Callable[[str], bool] = lambda name: False) -> Iterator[list[str]]:
    """The names of the files that are synced, in order; files that were opened before are not seen.

    :param fails: given the name of a file, whether the sync fails, after everything was written.
    """
    synced: list[str] = []
    vfs = _default_vfs()
    real_open = vfs.open
    call_real_open = _Open(real_open)

    def opened(vfs_at: int, path_at: int | None, file_at: int, flags: int, out_flags: int) -> int:
        status = call_real_open(vfs_at, path_at, file_at, flags, out_flags)  # keeps the path: no copy will do
        methods_at = ctypes.cast(file_at, ctypes.POINTER(_Pointer))
        if status == 0 and path_at and methods_at[0]:
            name = os.path.basename(ctypes.string_at(path_at)).decode()
            methods_at[0] = _recording(methods_at[0], name, synced, fails)
        return int(status)

    replacement = _Open(opened)
    vfs.open = ctypes.cast(replacement, _Pointer).value
    try:
        yield synced
    finally:
        vfs.open = real_open


def _recording(methods_at: int, name: str, synced: list[str], fails: Callable[[str], bool]) -> int:
    """A copy of a table of methods whose sync leaves a note, or fails."""
    table = (_Pointer * _FILE_METHODS)()
    ctypes.memmove(table, methods_at, ctypes.sizeof(table))
    real = _Sync(table[_XSYNC] or 0)

    def sync(file_at: int, flags: int) -> int:
        if fails(name):
            return _FAILED
        synced.append(name)
        return int(real(file_at, flags))

    callback = _Sync(sync)
    table[_XSYNC] = ctypes.cast(callback, _Pointer).value
    _KEPT.extend((table, callback, real))
    return ctypes.addressof(table)
