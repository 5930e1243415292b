"""Cookie files, which prove at a start that every directory belongs to this bookie (S6).

``current/IDENTITY`` of every journal, ledger and index directory holds the bytes that the metadata store
keeps for the bookie.  Apache's bookie has the same bytes in ``VERSION``.  Its index is of another kind, so neither
bookie may serve what the other has written since: Apache's, which finds no ``VERSION`` in directories that are not
empty, refuses ours, and ours refuses directories with a ``VERSION`` unless it is to take them over.  The way back is
:func:`stamp_for_apache`.

The caller interprets the bytes; this table gives the result of their presence.

==================  =======================  ==========================================================
metadata store      directories without it   result
==================  =======================  ==========================================================
absent              some or all              new bookie, if these are empty: stamp all
absent              none                     invalid, unless no directory holds anything else: a first
                                             start that ended between the stamps and the store
present             none                     fine
present             some                     invalid, unless expansion is allowed, and they are empty and
                                             were not known before: stamp all again
==================  =======================  ==========================================================

All directories are stamped before the metadata store is: a cookie in the store proves that every directory
had its own.  In a take-over, all directories get our cookie before the first cookie of Apache's is removed.
"""

import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from ..errors import InvalidCookieError
from .files.replace import replace_file
from .interfaces import IFileSystem, ILock
from .ledger_dirs import current

COOKIE_NAME = "IDENTITY"
APACHE_COOKIE_NAME = "VERSION"
LOCK_NAME = "LOCK"
_NOT_DATA = frozenset({COOKIE_NAME, COOKIE_NAME + ".tmp", LOCK_NAME})
_MAX_COOKIE = 1 << 20

Verify = Callable[[bytes, str], None]
"""Given the bytes of a cookie and where they are from; raises InvalidCookieError unless it is ours."""


@attrs.frozen
class CookieFiles:
    """The cookie files that a start finds in all directories.

    :ivar found: cookie bytes by configured directory.
    :ivar missing: directories without a cookie.
    :ivar with_data: directories that hold files other than a cookie and a lock.
    :ivar of_apache: cookie bytes of Apache's bookie by directory.
    """

    found: Mapping[str, bytes]
    missing: Sequence[str]
    with_data: Sequence[str]
    of_apache: Mapping[str, bytes] = attrs.field(factory=dict)

    def taken_over(self) -> "CookieFiles":
        """Return a copy of these files that also accepts the cookies of Apache's bookie."""
        found = {**self.of_apache, **self.found}
        return attrs.evolve(self, found=found, missing=[d for d in self.missing if d not in found])


def read_cookies(fs: IFileSystem, directories: Sequence[str]) -> CookieFiles:
    """Read the cookies in all directories; list the directories without a cookie, and the directories with data.

    :param directories: as configured, each once; one without ``current`` has neither cookie nor data.
    :raises OSError: a cookie cannot be read.
    """
    found, of_apache = _read(fs, directories, COOKIE_NAME), _read(fs, directories, APACHE_COOKIE_NAME)
    missing = [d for d in directories if d not in found]
    there = [d for d in directories if fs.is_directory(current(d))]
    with_data = [d for d in there if not _NOT_DATA.issuperset(fs.list(current(d)))]
    return CookieFiles(found, missing, with_data, of_apache)


def _read(fs: IFileSystem, directories: Sequence[str], name: str) -> dict[str, bytes]:
    """Read the file ``name`` in each directory that has it; return the contents by directory."""
    found = {}
    for directory in directories:
        path = posixpath.join(current(directory), name)
        if fs.exists(path):
            file = fs.open(path)
            try:
                found[directory] = file.pread(_MAX_COOKIE, 0)
            finally:
                file.close()
    return found


def must_stamp(
    files: CookieFiles,
    expected: bytes,
    stored: bytes | None,
    verify: Verify,
    known: Callable[[bytes], Collection[str]],
    allow_expansion: bool = False,
    take_over: bool = False,
) -> bool:
    """Decide by the table in the module docstring whether to write the cookie; raise if the bookie must not start.

    :param files: the cookies in the directories.
    :param expected: the bytes of the cookie by the configuration.
    :param stored: the cookie in the metadata store.
    :param verify: raises InvalidCookieError for a cookie of another bookie.
    :param known: returns the directories that a cookie names.
    :param allow_expansion: whether directories may have been added to the configuration.
    :param take_over: whether directories of Apache's bookie become ours.
    :returns: whether all directories and then the metadata store have to get the bookie's cookie.
    :raises InvalidCookieError: the bookie must not start; the text says which directory and why.
    """
    if files.of_apache and not take_over:
        raise InvalidCookieError(
            f"{next(iter(files.of_apache))} is a directory of Apache's bookie, whose index is of another kind: "
            "rebuildIndex=true takes all of them over, and Apache's bookie refuses them from then on"
        )
    files = files.taken_over()
    if stored is not None:
        verify(stored, "the metadata store")
    for directory, cookie in files.found.items():
        verify(cookie, _cookie_path(directory))
    if stored is None and not files.missing:
        if files.with_data:
            raise InvalidCookieError(
                f"the metadata store has no cookie of this bookie, yet {files.with_data[0]} and all others have: "
                "metadataServiceUri names another cluster, or the cookie was removed; the shell's cookie_create stores "
                f"it again: -cf {_cookie_path(next(iter(files.found)))}"
            )
        return True
    if stored is not None:
        if not files.missing:  # no directory lacks its cookie, so no expansion was interrupted
            return bool(files.of_apache) or (allow_expansion and set(known(stored)) != set(known(expected)))
        _check_expansion(files, stored, known, allow_expansion)
    for directory in files.missing:
        if directory in files.with_data:
            raise InvalidCookieError(
                f"{directory} has no cookie and is not empty: it is no directory of this bookie that the shell's "
                "updatecookie -list knows; give an empty one"
            )
    return True


def stamp(fs: IFileSystem, directories: Sequence[str], cookie: bytes) -> None:
    """Write the cookie to every directory, then remove the cookies of Apache's bookie; durable on return.

    :param directories: as configured, without ``current``.
    :param cookie: the bytes of the file.
    :raises OSError: the write failed; some directories may have the cookie, others not.
    """
    for directory in directories:
        replace_file(fs, _cookie_path(directory), cookie)
    # Remove Apache's cookies in a second loop: its indexes stay valid until every directory has our cookie.
    for directory in directories:
        path = posixpath.join(current(directory), APACHE_COOKIE_NAME)
        if fs.exists(path):
            fs.unlink(path)
            fs.sync_directory(current(directory))


def stamp_for_apache(fs: IFileSystem, directories: Sequence[str]) -> None:
    """Give directories back to Apache's bookie: write the cookies under Apache's file name, then remove our cookies.

    Our bookie refuses them from the first write on, Apache's until all are written.  A second call completes the first.

    :raises InvalidCookieError: a directory has no cookie.
    """
    found = read_cookies(fs, directories).taken_over()
    if found.missing:
        raise InvalidCookieError(f"{found.missing[0]} has no cookie")
    for directory in directories:
        replace_file(fs, posixpath.join(current(directory), APACHE_COOKIE_NAME), found.found[directory])
    for directory in directories:
        if fs.exists(_cookie_path(directory)):
            fs.unlink(_cookie_path(directory))
            fs.sync_directory(current(directory))


def erase(fs: IFileSystem, directories: Sequence[str]) -> None:
    """Remove all files of a bookie from directories, except the lock files, whose locks the caller holds.

    The cookies go first: a bookie refuses directories that were erased in part.  Files outside ``current`` stay.

    :param directories: as configured.
    :raises OSError: a file could not be removed.
    """
    there = [current(directory) for directory in directories if fs.is_directory(current(directory))]
    for path in there:
        if COOKIE_NAME in fs.list(path):
            fs.unlink(posixpath.join(path, COOKIE_NAME))
            fs.sync_directory(path)
    for path in there:
        _erase_below(fs, path, [name for name in fs.list(path) if name != LOCK_NAME])


def _erase_below(fs: IFileSystem, path: str, names: Sequence[str]) -> None:
    for name in names:
        child = posixpath.join(path, name)
        if fs.is_directory(child):
            _erase_below(fs, child, fs.list(child))
            fs.remove_directory(child)
        else:
            fs.unlink(child)
    fs.sync_directory(path)


class DirectoryLocks:
    """Locks on all directories of a bookie, held for the life of its process (S6)."""

    def __init__(self, fs: IFileSystem, directories: Sequence[str]) -> None:
        """
        :param directories: the configured directories, each once, all of which contain ``current``.
        :raises DirectoryLockedError: another process serves one of the directories; no lock is held then.
        """
        self._locks: list[ILock] = []
        try:
            for directory in directories:
                self._locks.append(fs.lock(posixpath.join(current(directory), LOCK_NAME)))
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release all locks."""
        while self._locks:
            self._locks.pop().release()


def _check_expansion(
    files: CookieFiles, stored: bytes, known: Callable[[bytes], Collection[str]], allow_expansion: bool
) -> None:
    if not allow_expansion:
        raise InvalidCookieError(
            f"{files.missing[0]} has no cookie, although the metadata store has one: its data is lost, or the "
            "directory is new, which allowStorageExpansion=true accepts"
        )
    # The metadata store gets its cookie last, so every directory that the stored cookie names has had a cookie.
    before = known(stored)
    for directory in files.missing:
        if directory in before:
            raise InvalidCookieError(
                f"{directory} belonged to this bookie before and has lost its cookie: mount the right disk; if its "
                "content is gone, repair the ledgers of this bookie from others, then the shell's cookie_delete "
                "lets it start with empty directories"
            )


def _cookie_path(directory: str) -> str:
    return posixpath.join(current(directory), COOKIE_NAME)
