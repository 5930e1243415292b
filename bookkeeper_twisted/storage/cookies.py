"""Cookie files: when a bookie starts, they prove that every directory belongs to this bookie.

Every journal, ledger and index directory has the file ``current/IDENTITY``, with the cookie that is also in the
metadata store.  Apache's bookie has the same bytes in the file ``VERSION``.  The two bookies have different indexes, so
neither bookie may serve directories that the other bookie wrote last.  Apache's bookie refuses directories that have
data but no file ``VERSION``.  Our bookie refuses directories with a file ``VERSION``, unless an operator allows it to
take them over.  :func:`stamp_for_apache` gives directories back to Apache's bookie.

The caller decodes the cookies.  The next table tells the result of a start.  It depends on two things: whether the
metadata store has a cookie of this bookie, and which directories have no cookie.  "Write" means that the cookie is
written to all directories, and then to the metadata store.

================  ===================  ================================================================
cookie in the     directories without  result
metadata store    a cookie
================  ===================  ================================================================
no                some or all          write if these directories are empty (a new bookie); else an error
no                none                 write if all directories are empty (the first start of the bookie
                                       ended before it wrote to the metadata store); else an error
yes               none                 success
yes               some                 write if expansion is allowed, and these directories are empty and
                                       not named in the stored cookie (new directories); else an error
================  ===================  ================================================================

Because the directories are written first, every directory that a stored cookie lists has had a cookie of its own.  In a
take-over, all directories get our cookie before the first cookie of Apache's bookie is deleted.
"""

import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing

import attrs

from ..errors import InvalidCookieError
from .files.replace import replace_file
from .interfaces import IFileSystem, ILock
from .ledger_dirs import EVENTS_NAME, current

COOKIE_NAME = "IDENTITY"
APACHE_COOKIE_NAME = "VERSION"
LOCK_NAME = "LOCK"
_NOT_DATA = frozenset({COOKIE_NAME, COOKIE_NAME + ".tmp", LOCK_NAME, EVENTS_NAME})
_MAX_COOKIE = 1 << 20

Verify = Callable[[bytes, str], None]
"""A function (cookie as bytes, its source for error texts): raises InvalidCookieError for another bookie's cookie."""


@attrs.frozen
class CookieFiles:
    """The cookie files that were found in the directories of a bookie at its start.

    :ivar found: the bytes of our cookie in each directory that has one.
    :ivar missing: directories without a cookie of ours.
    :ivar with_data: directories that contain a file other than a cookie or a lock.
    :ivar of_apache: the bytes of Apache's cookie in each directory that has one.
    """

    found: Mapping[str, bytes]
    missing: Sequence[str]
    with_data: Sequence[str]
    of_apache: Mapping[str, bytes] = attrs.field(factory=dict)

    def taken_over(self) -> "CookieFiles":
        """Return a copy in which the cookies of Apache's bookie count as cookies of this bookie."""
        found = {**self.of_apache, **self.found}
        return attrs.evolve(self, found=found, missing=[d for d in self.missing if d not in found])


def read_cookies(fs: IFileSystem, directories: Sequence[str]) -> CookieFiles:
    """Read the cookie files of all directories, and find the directories that contain data.

    :param directories: the directories as configured, each once.  A directory without the subdirectory ``current``
        counts as empty.
    :raises OSError: a cookie cannot be read.
    """
    found, of_apache = _read(fs, directories, COOKIE_NAME), _read(fs, directories, APACHE_COOKIE_NAME)
    missing = [d for d in directories if d not in found]
    existing = [d for d in directories if fs.is_directory(current(d))]
    with_data = [d for d in existing if not _NOT_DATA.issuperset(fs.list(current(d)))]
    return CookieFiles(found, missing, with_data, of_apache)


def _read(fs: IFileSystem, directories: Sequence[str], name: str) -> dict[str, bytes]:
    """Return, for each directory that has the file ``name``, the content of this file."""
    found = {}
    for directory in directories:
        path = posixpath.join(current(directory), name)
        if fs.exists(path):
            with closing(fs.open(path)) as file:
                found[directory] = file.pread(_MAX_COOKIE, 0)
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
    """Decide, by the table at the top of this module, whether this bookie must write its cookie.

    :param files: the cookie files of the directories.
    :param expected: the cookie of this bookie, made from the configuration.
    :param stored: the cookie in the metadata store, None if it has none.
    :param verify: raises InvalidCookieError for a cookie of another bookie.
    :param known: called with a cookie; returns the directories that the cookie lists.
    :param allow_expansion: whether the bookie may get more directories than the stored cookie lists.
    :param take_over: whether to take over the directories of an Apache bookie.
    :returns: whether the cookie must be written to all directories, and then to the metadata store.
    :raises InvalidCookieError: the bookie must not start; the text tells which directory is the reason, and why.
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
        if not files.missing:  # all have a cookie: write only to finish an interrupted take-over or expansion
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
    """Write the cookie to every directory, then delete the cookies of Apache's bookie; both are durable on return.

    :param directories: the directories as configured, without ``current``.
    :param cookie: the bytes of the cookie.
    :raises OSError: a write failed; some directories may have the cookie, others not.
    """
    for directory in directories:
        replace_file(fs, _cookie_path(directory), cookie)
    # only now delete Apache's cookies: its indexes stay valid until every directory has our cookie
    for directory in directories:
        path = posixpath.join(current(directory), APACHE_COOKIE_NAME)
        if fs.exists(path):
            fs.unlink(path)
            fs.sync_directory(current(directory))


def stamp_for_apache(fs: IFileSystem, directories: Sequence[str]) -> None:
    """Give directories back to Apache's bookie: write its cookie files, then delete ours.

    From the first write on, our bookie refuses the directories.  Apache's bookie refuses them until the last write.
    After an interruption, call this function again.

    :param directories: the directories as configured.
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
    """Delete all files of a bookie except the lock files, which the caller has locked.

    Cookies are deleted first, so that a bookie refuses directories that were erased only in part.  Files outside
    ``current`` stay.

    :param directories: the directories as configured.
    :raises OSError: a file could not be deleted.
    """
    existing = [current(directory) for directory in directories if fs.is_directory(current(directory))]
    for path in existing:
        if COOKIE_NAME in fs.list(path):
            fs.unlink(posixpath.join(path, COOKIE_NAME))
            fs.sync_directory(path)
    for path in existing:
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
    """The locks on all directories of a bookie, so that no second process uses them."""

    def __init__(self, fs: IFileSystem, directories: Sequence[str]) -> None:
        """Lock all directories; if one of them is locked by another process, release the locks taken so far.

        :param directories: the directories as configured, each once; all of them have the subdirectory ``current``.
        :raises DirectoryLockedError: another process uses one of the directories.
        """
        self._locks: list[ILock] = []
        try:
            for directory in directories:
                self._locks.append(fs.lock(posixpath.join(current(directory), LOCK_NAME)))
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release the locks on all directories."""
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
    # A cookie is stored only after all directories that it lists have it.  So if such a directory has no cookie now,
    # its cookie file was lost.
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
