"""A disk that forgets what was not synced (safety 5.3), for one process at a time.

**Operations.**  Everything that changes the disk is an operation with a number, kept in
:attr:`SimDisk.operations`; just before it happens :attr:`SimDisk.observer` is called, which is where a
crash may strike.  Reads and hints are not operations.

**Faults.**  ``disk.fail(errno.EIO, at=7)`` lets operation 7 fail, ``disk.fail(errno.ENOSPC,
when=lambda op: op.name == "sync" and op.path.endswith(".txn"))`` the next one that matches (reads are
offered to ``when`` too).  A failed write may have written half of it; after a failed sync the pages count
as clean: later syncs succeed, and what was written before may or may not survive.

**Crashes.**  :meth:`SimDisk.crash` gives the disk a power cut could leave: ``crash(())`` keeps nothing
that was pending, ``crash()`` everything, ``crash(kept)`` the changes with these indices in
``range(disk.pending_count())``.  :func:`~.crash.crash_choices` names the ones worth a try.  :meth:`SimDisk.kill`
ends the process only: the page cache lives on.

**Stored objects.**  For a provider that is atomic and durable by itself (an index in a database)::

    disk.commit(path, state, digest)    # replaces the object at path: one operation, atomic, durable
    disk.committed(path)                # the object, or None

``state`` must never change once it is given (share what did not change between two states); ``digest``
are bytes that are equal for equal states, so that equal disks are recognised, for instance a hash over
the digest before and what the commit adds.  Power lost at the operation: it did not happen.  A failed commit did not
happen for this process; after ``EIO`` the next process finds it, and a power cut may leave it, until another commit
succeeds.  The object has a name in its directory, like a file.
"""

import errno
import posixpath
from collections.abc import Callable, Collection, Hashable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import attrs
from zope.interface import implementer

from bookkeeper_twisted.crc32c import Buffer
from bookkeeper_twisted.errors import NO_FILES, DirectoryLockedError
from bookkeeper_twisted.storage.interfaces import IFile, IFileSystem, ILock

from .state import SECTOR, Content, Directory, Inode, Renaming, Resize, Write, changed, rename


class _Commit(NamedTuple):
    """A commit that failed, and that a restart may find."""

    step: int
    path: str
    state: Any
    digest: bytes


_Change = Write | Resize | Renaming | _Commit
_Pending = tuple[Directory | Inode | None, _Change]
_Kept = list[_Change]
_Changes = list[_Pending]  # the class below has a method of the name ``list``


class Operation(NamedTuple):
    """One call.  ``number`` counts operations from 1; a read has the number of the next one.

    ``detail`` is the offset of a write or read, the size of a truncation, the new name of a rename.
    """

    number: int
    name: str
    path: str
    detail: Hashable = None
    size: int = 0


@attrs.define
class _Fault:
    error: int
    at: int | None
    when: Callable[[Operation], bool] | None
    times: int

    def hits(self, operation: Operation, mutates: bool) -> bool:
        if self.when is not None:
            return self.when(operation)
        return mutates and (self.at is None or operation.number == self.at)


@implementer(IFileSystem)
class SimDisk:
    """See the module docstring.

    :ivar operations: every operation so far.
    :ivar observer: called with each operation before it takes effect.
    :ivar capacity: what :meth:`usage` answers.
    :ivar mounted: paths below which :meth:`disk` answers with other disks.
    :ivar read_only: paths below which the disk takes no writes.
    :ivar resident: asked at each ``pread_resident`` whether memory holds what is wanted; None: it is not reported.
    """

    def __init__(self) -> None:
        self.resident: Callable[[], bool] | None = None
        self.operations: list[Operation] = []
        self.observer: Callable[[Operation], None] | None = None
        self.capacity = (1 << 33, 1 << 32)
        self.mounted: tuple[str, ...] = ()
        self.read_only: tuple[str, ...] = ()
        self._directories: dict[str, Directory] = {"/": Directory()}
        self._objects: dict[str, tuple[Any, bytes]] = {}
        self._in_doubt: list[_Commit] = []
        self._locks: dict[str, SimLock] = {}
        self._faults: list[_Fault] = []
        self._generation = 0

    # -- the file system --

    def open(self, path: str, create: bool = False, direct: bool = False) -> IFile:
        directory, name = self._place(path)
        if not create:
            self._read("open", path)
            if name not in directory.names:
                raise _error(errno.ENOENT, path)
        else:
            if name in directory.names or path in self._directories or path in self._objects:
                raise _error(errno.EEXIST, path)
            step = self._step("create", path)
            directory.change(step, "", name, Inode())
        return SimFile(self, path, directory.names[name], direct)

    def exists(self, path: str) -> bool:
        if path in self._directories or path in self._objects:
            return True
        directory = self._directories.get(posixpath.dirname(path))
        return directory is not None and posixpath.basename(path) in directory.names

    def is_directory(self, path: str) -> bool:
        return path in self._directories

    def list(self, path: str) -> list[str]:
        directory = self._directory(path)
        self._read("list", path)
        inner = [p for p in (*self._directories, *self._objects) if p != "/" and posixpath.dirname(p) == path]
        return sorted([*directory.names, *map(posixpath.basename, inner)])

    def make_directories(self, path: str) -> None:
        if path in self._directories:
            return
        parent = posixpath.dirname(path)
        self.make_directories(parent)
        self._step("make_directory", path)
        self._directories[path] = Directory()

    def rename(self, old: str, new: str) -> None:
        directory, name = self._place(old)
        if name not in directory.names:
            raise _error(errno.ENOENT, old)
        if posixpath.dirname(old) != posixpath.dirname(new):
            raise _error(errno.EXDEV, new)
        step = self._step("rename", old, new)
        directory.change(step, name, posixpath.basename(new), directory.names[name])

    def unlink(self, path: str) -> None:
        if path in self._objects:
            self._step("unlink", path)
            del self._objects[path]
            self._settle(path)
            return
        directory, name = self._place(path)
        if name not in directory.names:
            raise _error(errno.ENOENT, path)
        step = self._step("unlink", path)
        directory.change(step, name, "", directory.names[name])

    def remove_directory(self, path: str) -> None:
        if self.list(path):
            raise _error(errno.ENOTEMPTY, path)
        self._step("remove_directory", path)
        del self._directories[path]

    def sync_directory(self, path: str) -> None:
        directory = self._directory(path)
        self._step("sync_directory", path, failed=directory.lose)
        directory.sync()

    def lock(self, path: str) -> ILock:
        if path in self._locks:
            raise DirectoryLockedError(f"{path} is locked by another process")
        if not self.exists(path):
            self.open(path, create=True).close()
        self._locks[path] = lock = SimLock(self, path)
        return lock

    def usage(self, path: str) -> tuple[int, int]:
        self._directory(path)
        return self.capacity

    def inodes(self, path: str) -> tuple[int, int]:
        self._directory(path)
        return 0, 0

    def takes_writes(self, path: str) -> bool:
        return not path.startswith(self.read_only)

    def allocatable(self, path: str) -> int:
        return self.usage(path)[1]

    def disk(self, path: str) -> int:
        self._directory(path)
        return next((number for number, below in enumerate(self.mounted, 1) if path.startswith(below)), 0)

    # -- stored objects --

    def commit(self, path: str, state: Any, digest: bytes) -> None:
        """Replaces the object at ``path`` atomically and durably."""
        self._directory(posixpath.dirname(path))
        step = len(self.operations) + 1
        try:
            self._step("commit", path)
        except OSError as error:
            if error.errno == errno.EIO:
                self._in_doubt.append(_Commit(step, path, state, digest))
            raise
        self._settle(path)
        self._objects[path] = (state, digest)

    def _settle(self, path: str) -> None:
        """No commit of before that failed is ever found."""
        self._in_doubt = [failed for failed in self._in_doubt if failed.path != path]

    def committed(self, path: str) -> Any:
        """The object at ``path``, or None."""
        self._read("committed", path)
        return self._objects.get(path, (None, b""))[0]

    # -- faults --

    def fail(
        self,
        error: int,
        *,
        at: int | None = None,
        when: Callable[[Operation], bool] | None = None,
        times: int = 1,
    ) -> None:
        """Arms a fault: operation number ``at``, what ``when`` accepts, or the next operation."""
        self._faults.append(_Fault(error, at, when, times))

    def heal(self) -> None:
        """Disarms all faults."""
        self._faults.clear()

    # -- crashes --

    def pending_count(self) -> int:
        """How many changes a power cut could keep or drop."""
        return len(self._pending())

    def crash(self, kept: Collection[int] | None = None) -> "SimDisk":
        """The disk after a power cut that kept these pending changes, all of them without ``kept``."""
        pending = self._pending()
        chosen = set(range(len(pending)) if kept is None else kept)
        changes: dict[int, _Kept] = {}
        after = self.empty()
        after.capacity, after.mounted, after.resident = self.capacity, self.mounted, self.resident
        after._objects = dict(self._objects)
        for index, (owner, change) in enumerate(pending):
            if index in chosen and isinstance(change, _Commit):
                after._objects[change.path] = change.state, change.digest
            elif index in chosen:
                changes.setdefault(id(owner), []).append(change)
        inodes: dict[int, Inode] = {}
        for path, directory in self._directories.items():
            names = dict(directory.durable)
            for renaming in changes.get(id(directory), ()):
                rename(names, renaming)  # type: ignore[arg-type]
            for name, inode in names.items():
                if id(inode) not in inodes:
                    inodes[id(inode)] = Inode(_kept_content(inode, changes.get(id(inode))), inode.allocated)
                names[name] = inodes[id(inode)]
            after._directories[path] = Directory(names)
        return after

    def empty(self) -> "SimDisk":
        """A disk of the same kind without files."""
        return SimDisk()

    def kill(self) -> None:
        """Ends the process: its files and locks are gone, what it wrote is not."""
        self._generation += 1
        self._locks.clear()
        self._objects.update((failed.path, (failed.state, failed.digest)) for failed in self._in_doubt)
        self._in_doubt = []
        self.heal()

    def steps_of_pending(self) -> Sequence[int]:
        """The operation each pending change belongs to."""
        return [change.step for _, change in self._pending()]

    def digest(self) -> bytes:
        """Equal for disks with equal durable names and bytes."""
        found = blake2b(digest_size=16)
        for path, directory in sorted(self._directories.items()):
            found.update(path.encode() + b"\0")
            for name, inode in sorted(directory.durable.items()):
                found.update(name.encode() + b"\0" + inode.durable.digest())
        for path, (_, digest) in sorted(self._objects.items()):
            found.update(path.encode() + b"\0" + digest)
        return found.digest()

    def _pending(self) -> Sequence[_Pending]:
        found = _Changes()
        for directory in self._directories.values():
            found += [(directory, change) for change in directory.changes()]
            inodes = [*directory.durable.values(), *[c.inode for c in directory.changes()]]
            for inode in {id(i): i for i in inodes}.values():
                found += [(inode, change) for change in inode.changes()]
        return [*found, *[(None, failed) for failed in self._in_doubt]]

    # -- used by files and locks --

    def _place(self, path: str) -> tuple[Directory, str]:
        return self._directory(posixpath.dirname(path)), posixpath.basename(path)

    def _directory(self, path: str) -> Directory:
        try:
            return self._directories[path]
        except KeyError:
            raise _error(errno.ENOENT, path) from None

    def _read(self, name: str, path: str, detail: Hashable = None, size: int = 0) -> None:
        if self._faults:
            self._strike(Operation(len(self.operations) + 1, name, path, detail, size), False)

    def _step(
        self,
        name: str,
        path: str,
        detail: Hashable = None,
        size: int = 0,
        failed: Callable[[], None] | None = None,
    ) -> int:
        """Begins an operation.

        :param failed: what happens to the disk if the operation fails.
        """
        operation = Operation(len(self.operations) + 1, name, path, detail, size)
        if self.observer is not None:
            self.observer(operation)
        self.operations.append(operation)
        try:
            self._strike(operation, True)
        except OSError as error:
            if failed is not None and error.errno not in NO_FILES:  # else it did not begin
                failed()
            raise
        return operation.number

    def _strike(self, operation: Operation, mutates: bool) -> None:
        if mutates and not self.takes_writes(operation.path):
            raise _error(errno.EROFS, operation.path)
        for fault in self._faults:
            if fault.times and fault.hits(operation, mutates):
                fault.times -= 1
                raise _error(fault.error, operation.path)


def _kept_content(inode: Inode, changes: list[_Change] | None) -> Content:
    return changed(inode.durable, changes) if changes else inode.durable  # type: ignore[arg-type]


def _error(number: int, path: str) -> OSError:
    return OSError(number, errno.errorcode[number], path)


@implementer(IFile)
class SimFile:
    """A file opened on a :class:`SimDisk`."""

    def __init__(self, disk: SimDisk, path: str, inode: Inode, direct: bool) -> None:
        self.path = path
        self._direct = direct
        self._disk = disk
        self._inode = inode
        self._generation = disk._generation
        self._closed = False
        self.direct_descriptor = None

    def pread(self, size: int, offset: int) -> bytes:
        self._check()
        self._disk._read("pread", self.path, offset, size)
        return self._inode.read(size, offset)

    def pread_resident(self, size: int, offset: int) -> bytes | None:
        self._check()
        if self._disk.resident is None:
            raise _error(errno.EOPNOTSUPP, self.path)
        if not self._disk.resident():
            return None
        self._disk._read("pread_resident", self.path, offset, size)
        data = self._inode.read(size, offset)
        return data if len(data) == size else None

    def pread_resident_each(self, sizes: Sequence[int], offsets: Sequence[int]) -> list[bytes | None]:
        return list(map(self.pread_resident, sizes, offsets))

    def pwrite(self, data: bytes, offset: int) -> None:
        self._check()
        if self._direct and (offset % SECTOR or len(data) % SECTOR):
            raise _error(errno.EINVAL, self.path)
        step = len(self._disk.operations) + 1
        half = data[: len(data) // 2 // SECTOR * SECTOR]
        self._disk._step("pwrite", self.path, offset, len(data), failed=lambda: self._inode.write(step, half, offset))
        self._inode.write(step, data, offset)

    def write_zeros(self, size: int, offset: int) -> None:
        self.pwrite(bytes(size), offset)

    def pwritev(self, parts: Sequence[Buffer], offset: int, durable: bool = False) -> None:
        if durable and self._inode.pending:
            raise AssertionError(f"{self.path}: a write is to be durable before others are")
        self.pwrite(b"".join(parts), offset)
        if durable:
            self.sync()

    def sync(self, metadata: bool = False) -> None:
        self._check()
        self._disk._step("sync", self.path, failed=self._inode.lose)
        self._inode.sync()

    def truncate(self, size: int) -> None:
        self._check()
        step = self._disk._step("truncate", self.path, size)
        self._inode.truncate(step, size)

    def allocate(self, size: int) -> None:
        self._check()
        step = self._disk._step("allocate", self.path, size)
        self._inode.allocated = max(self._inode.allocated, size)
        if size > self._inode.size:
            self._inode.truncate(step, size)

    def size(self) -> int:
        self._check()
        return self._inode.size

    def start_writeback(self, offset: int, size: int) -> None:
        self._check()

    def will_read(self, offset: int, size: int) -> None:
        self._check()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._disk._read("close", self.path)

    def _check(self) -> None:
        if self._closed or self._generation != self._disk._generation:
            raise _error(errno.EBADF, self.path)


@implementer(ILock)
class SimLock:
    """A lock held on a :class:`SimDisk`."""

    def __init__(self, disk: SimDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def release(self) -> None:
        if self._disk._locks.get(self._path) is self:
            del self._disk._locks[self._path]
