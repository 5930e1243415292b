"""What a simulated disk holds: contents that are durable, and changes that are not yet.

A file changes in sectors of 512 bytes and in size; a directory changes by names that appear and
disappear.  A change is *pending* until a sync, *lost* when a sync failed: the kernel calls those pages
clean, so that no later sync writes them, and yet they may have reached the disk.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

SECTOR = 512
ZEROS = bytes(SECTOR)


class Write(NamedTuple):
    """One sector of a write; ``step`` is the number of the operation it belongs to."""

    step: int
    sector: int
    data: bytes


class Resize(NamedTuple):
    """A new size: of a truncation (``cut``), or because a write went past the end."""

    step: int
    size: int
    cut: bool


class Renaming(NamedTuple):
    """A name that goes, a name that comes, or both at once (a rename), for one file."""

    step: int
    removed: str
    added: str
    inode: "Inode"


class Content:
    """Bytes of a file, sparse; never changed once made, so crash states share them."""

    __slots__ = ("sectors", "size", "_digest")

    def __init__(self, sectors: dict[int, bytes], size: int) -> None:
        self.sectors = sectors
        self.size = size
        self._digest = b""

    def digest(self) -> bytes:
        """Equal for equal bytes, however they came about."""
        if not self._digest:
            found = blake2b(self.size.to_bytes(8, "big"), digest_size=16)
            for sector, data in sorted(self.sectors.items()):
                if data != ZEROS:
                    found.update(sector.to_bytes(8, "big"))
                    found.update(data)
            self._digest = found.digest()
        return self._digest


EMPTY = Content({}, 0)


def changed(content: Content, changes: Iterable[Write | Resize]) -> Content:
    """The content after some of the changes, in their order.

    A sector may be kept without the size that shows it, and a size without its sectors (zeros).
    """
    sectors, size = dict(content.sectors), content.size
    for change in changes:
        if isinstance(change, Write):
            sectors[change.sector] = change.data
        elif change.cut:
            cut(sectors, change.size)
            size = change.size
        else:
            size = max(size, change.size)
    cut(sectors, size)
    return Content(sectors, size)


def cut(sectors: dict[int, bytes], size: int) -> None:
    """Forgets what lies at ``size`` and after."""
    whole, rest = divmod(size, SECTOR)
    for sector in [s for s in sectors if s >= whole]:
        if sector == whole and rest:
            sectors[sector] = sectors[sector][:rest].ljust(SECTOR, b"\0")
        else:
            del sectors[sector]


class Inode:
    """A file: what survives (``durable``), what is seen (``sectors``, ``size``), what is between.

    :ivar allocated: bytes for which the disk has set space aside.
    """

    __slots__ = ("durable", "sectors", "size", "_shared", "pending", "lost", "allocated")

    def __init__(self, content: Content = EMPTY, allocated: int = 0) -> None:
        self.allocated = allocated
        self.durable = content
        self.sectors = content.sectors
        self.size = content.size
        self._shared = True  # ``sectors`` belongs to the content until the first write
        self.pending: list[Write | Resize] = []
        self.lost: list[Write | Resize] = []

    def read(self, size: int, offset: int) -> bytes:
        end = min(offset + size, self.size)
        if end <= offset:
            return b""
        first, get = offset // SECTOR, self.sectors.get
        data = b"".join([get(s, ZEROS) for s in range(first, (end - 1) // SECTOR + 1)])
        return data[offset - first * SECTOR : end - first * SECTOR]

    def write(self, step: int, data: bytes, offset: int) -> None:
        end = offset + len(data)
        start = offset // SECTOR * SECTOR
        before = self.read(offset - start, start).ljust(offset - start, b"\0")
        after = self.read(-end % SECTOR, end).ljust(-end % SECTOR, b"\0")
        whole = b"".join((before, data, after))
        sectors = self._own()
        if end > self.size or self.lost:  # a failed sync may have lost the size too
            self.pending.append(Resize(step, end, False))
            self.size = max(self.size, end)
        for at in range(0, len(whole), SECTOR):
            change = Write(step, (start + at) // SECTOR, whole[at : at + SECTOR])
            sectors[change.sector] = change.data
            self.pending.append(change)

    def truncate(self, step: int, size: int) -> None:
        cut(self._own(), size)
        self.size = size
        self.allocated = min(self.allocated, size)
        self.pending.append(Resize(step, size, True))

    def sync(self) -> None:
        """Everything pending is durable; what an earlier failed sync lost stays a gamble."""
        if not self.pending:
            return
        self.durable = changed(self.durable, self.pending)
        if self.lost:
            written = {c.sector for c in self.pending if isinstance(c, Write)}
            self.lost = [c for c in self.lost if isinstance(c, Write) and c.sector not in written]
        self.pending = []

    def lose(self) -> None:
        """A sync failed."""
        self.lost += self.pending
        self.pending = []

    def changes(self) -> list[Write | Resize]:
        """What a power cut may keep or drop."""
        return self.lost + self.pending

    def _own(self) -> dict[int, bytes]:
        if self._shared:
            self.sectors = dict(self.sectors)
            self._shared = False
        return self.sectors


class Directory:
    """Names that are durable, names that are seen, and what is between."""

    __slots__ = ("durable", "names", "pending", "lost")

    def __init__(self, names: dict[str, Inode] | None = None) -> None:
        self.durable: dict[str, Inode] = names or {}
        self.names = dict(self.durable)
        self.pending: list[Renaming] = []
        self.lost: list[Renaming] = []

    def change(self, step: int, removed: str, added: str, inode: Inode) -> None:
        renaming = Renaming(step, removed, added, inode)
        rename(self.names, renaming)
        self.pending.append(renaming)

    def sync(self) -> None:
        names: set[str] = set()
        for renaming in self.pending:
            rename(self.durable, renaming)
            names.update((renaming.removed, renaming.added))
        self.lost = [r for r in self.lost if r.removed not in names and r.added not in names]
        self.pending = []

    def lose(self) -> None:
        """A sync failed."""
        self.lost += self.pending
        self.pending = []

    def changes(self) -> list[Renaming]:
        """What a power cut may keep or drop."""
        return self.lost + self.pending


def rename(names: dict[str, Inode], renaming: Renaming) -> None:
    """Applies one change of names; a rename moves the file from whatever name it has."""
    if renaming.removed:
        for name in [n for n, inode in names.items() if inode is renaming.inode]:
            del names[name]
    if renaming.added:
        names[renaming.added] = renaming.inode
