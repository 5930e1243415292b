"""Reads files with secrets, tokens and keys, and reads them again when they have changed.

Every error is a :class:`~bookkeeper_twisted.errors.ConfigError`.  Its text contains the configuration key and the path
of the file, but no part of the file's content.
"""

import os
import weakref
from collections.abc import Callable, Iterable
from stat import S_IROTH, S_ISREG, S_IWOTH
from typing import Generic, TypeVar

from twisted.logger import Logger

from ..errors import ConfigError

T = TypeVar("T")

REFRESH_SECONDS = 5.0
"""Minimum number of seconds between two checks of files for changes."""

_MOST_NAMED = 1000
_log = Logger()
_readable_by_all: dict[str, tuple[int, int, int]] = {}
"""The path of each secret file about which a warning was logged, and numbers that change when the file is changed."""


def file_error(key: str, path: str, reason: str) -> ConfigError:
    """Return the error for a file that cannot be used.

    :param key: the key of the configuration that names the file.
    :param reason: a sentence about the file, which must not contain any part of the file's content.
    """
    return ConfigError(f"{key} = {path!r}: {reason}")


def read_small_file(key: str, path: str, limit: int, secret: bool = False, guarded: bool = False) -> bytes:
    """Return the content of a regular file.

    If every user of the machine can read a secret file, a warning is logged once, and again after the file has changed.

    :param key: the key of the configuration that names the file.
    :param limit: maximum number of bytes that the file may have.
    :param secret: whether the content has to be kept secret.
    :param guarded: whether to refuse a file to which every user of the machine can write.
    :raises ConfigError: the file cannot be read, is not a regular file, is too large, or is refused.
    """
    try:
        # without O_NONBLOCK, the open of a FIFO would wait for a writer, and block the reactor
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise file_error(key, path, error.strerror or "it cannot be read") from None
    except ValueError:
        raise file_error(key, path, "it is no path of a file") from None
    try:
        found = os.fstat(descriptor)
        mode = found.st_mode
        if not S_ISREG(mode):
            raise file_error(key, path, "it is not a regular file")
        if guarded and mode & S_IWOTH:
            raise file_error(key, path, "it can be written by everybody (chmod o-w)")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise file_error(key, path, error.strerror or "it cannot be read") from None
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise file_error(key, path, f"it has more than {limit} bytes")
    if secret and mode & S_IROTH:
        _warn_once(key, path, (found.st_dev, found.st_ino, found.st_ctime_ns))
    return data


def _warn_once(key: str, path: str, identity: tuple[int, int, int]) -> None:
    """Log a warning about a secret file that everybody can read, unless it was already logged for this file.

    :param identity: numbers that change when the file is changed; a changed file gets a new warning.
    """
    if _readable_by_all.get(path) == identity:
        return
    if len(_readable_by_all) >= _MOST_NAMED:
        _readable_by_all.clear()
    _readable_by_all[path] = identity
    _log.warn("{key} = {path!r}: every user of this machine can read the file (chmod o-r)", key=key, path=path)


def read_text(key: str, path: str, limit: int, secret: bool = False, guarded: bool = False) -> str:
    """Return the content of a regular file as text, which must be in UTF-8.

    :param key: the key of the configuration that names the file.
    :param limit: maximum number of bytes that the file may have.
    :param secret: whether the content has to be kept secret.
    :param guarded: whether to refuse a file to which every user of the machine can write.
    :raises ConfigError: the file cannot be read, is not a regular file in UTF-8, is too large, or is refused.
    """
    data = read_small_file(key, path, limit, secret, guarded)
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    # raised outside the except block, because UnicodeDecodeError contains the content of the file
    raise file_error(key, path, "it is not UTF-8")


class CopyInMemory:
    """A private copy of a file for a library that opens the file repeatedly, so that later damage has no effect.

    On Linux, the copy is a file in memory, which is deleted with this object.  On other systems there is no copy, and
    :attr:`path` is the path of the original file.

    :ivar path: the path of the copy.
    """

    def __init__(self, path: str, content: bytes) -> None:
        """:param path: the path of the copied file.
        :param content: the content of the file.
        """
        self.path = path
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("copy")
            weakref.finalize(self, os.close, descriptor)
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(content)
            self.path = f"/proc/self/fd/{descriptor}"


class FromFiles(Generic[T]):
    """Stores an object that is made from files, and replaces it by a new object when the files have changed.

    If the changed files cannot be used, the previous object stays in use, and the error is logged.

    :param what: a name for the files, for the log.
    :param paths: paths of the files.
    :param make: a function that reads the files and makes the object.
    :param seconds: a function that returns the time in seconds since 1970.
    :param refresh: minimum number of seconds between two checks of the files for changes.
    :raises ConfigError: the files cannot be used.
    """

    def __init__(
        self, what: str, paths: Iterable[str], make: Callable[[], T], seconds: Callable[[], float],
        refresh: float = REFRESH_SECONDS,
    ) -> None:  # fmt: skip
        self._what = what
        self._refresh = refresh
        self._paths = tuple(paths)
        self._make = make
        self._seconds = seconds
        self._looked_at = seconds()
        # Record the state of the files before they are read: the next check then notices a change during the read.
        self._seen = self._look()
        self._made = make()

    def get(self) -> T:
        """Return the object made from the files.

        If the last check was at least ``refresh`` seconds ago and the files have changed, first make a new object.
        """
        now = self._seconds()
        if not 0 <= now - self._looked_at < self._refresh:  # also true after the clock was set back
            self._looked_at = now
            seen = self._look()
            if seen != self._seen:
                self._seen = seen
                self._renew()
        return self._made

    def _look(self) -> tuple[tuple[int, ...] | None, ...]:
        return tuple(map(identity_of, self._paths))

    def _renew(self) -> None:
        try:
            self._made = self._make()
        except ConfigError as error:
            _log.error(
                "{what} have changed and cannot be used, the previous ones stay in use: {reason}",
                what=self._what, reason=str(error),
            )  # fmt: skip
        except Exception:  # whatever the error is, new connections must work with the previous object
            _log.failure("{what} have changed and cannot be used, the previous ones stay in use", what=self._what)
        else:
            _log.info("{what} have changed: the new ones are in use", what=self._what)


def identity_of(path: str) -> tuple[int, ...] | None:
    """Return numbers that change when the file at ``path`` is changed or replaced; None if it does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    # st_ctime is the time of the last change of content or attributes, and unlike st_mtime, programs cannot set it
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns
