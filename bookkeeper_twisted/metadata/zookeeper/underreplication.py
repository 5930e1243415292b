"""Underreplicated marks and replication locks on ZooKeeper, in the same nodes as Apache BookKeeper's.

::

    underreplication/LAYOUT                                   "BASIC", version 1
    underreplication/ledgers/0000/0000/0000/007b/urL0000000123    the underreplicated mark of ledger 123
    underreplication/locks/urL0000000123                      its lock, ephemeral
    underreplication/disable                                  exists while autorecovery is switched off

The four groups of digits in a mark's path are the 64 bits of the ledger id in hexadecimal.
"""

import re
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager

from twisted.logger import Logger
from zope.interface import implementer

from ...codec.metadata_formats.underreplication import (
    check_rereplication_layout,
    decode_lock,
    encode_lock,
    encode_rereplication_layout,
    encode_underreplicated,
)
from ...errors import (
    CodecError,
    LedgerLockedError,
    MetadataSerializationError,
    MetadataVersionError,
    NotUnderreplicatedError,
)
from ...model import MAX_LEDGER_ID, UnderreplicatedLedger, check_ledger_id
from ..interfaces import MOST_STRAYS, IUnderreplication, Shuffle, Versioned
from ..stored_form import stored_text
from ..stored_marks import StoredMarks
from .cluster import LAYOUT, UNDERREPLICATION
from .interfaces import NewNode, NodeExistsError, NodeMissingError, NodeNotEmptyError, NodeVersionError, Stat
from .watches.mark_watch import GROUP, GROUPS, TreeWatch
from .watches.node_watch import NodeWatches
from .znodes import Znodes

MARKS, LOCKS, DISABLED = "ledgers", "locks", "disable"
_MARK = re.compile(r"urL(\d{10,19})")


def mark_name(ledger_id: int) -> str:
    """Return the name of the node of a ledger's underreplicated mark; the node of its lock has the same name.

    :raises IncorrectParameterError: ``ledger_id`` is not a ledger id.
    """
    return f"urL{check_ledger_id(ledger_id):010d}"


def _groups(ledger_id: int) -> list[str]:
    digits = f"{ledger_id:016x}"
    return [digits[i : i + 4] for i in range(0, 16, 4)]


@contextmanager
def _errors_of_marks(ledger_id: int, version: int) -> Iterator[None]:
    """Convert NodeMissingError and NodeVersionError in the ``with`` block to the errors of IUnderreplication."""
    try:
        yield
    except NodeMissingError as error:
        raise NotUnderreplicatedError(f"ledger {ledger_id} is not marked") from error
    except NodeVersionError as error:
        raise MetadataVersionError(f"mark of ledger {ledger_id} has not version {version}") from error


@implementer(IUnderreplication)
class ZooKeeperUnderreplication:
    """The underreplicated marks and the replication locks of a cluster on ZooKeeper.

    :ivar strays: paths of nodes in the tree of marks that belong to no mark, the first :data:`MOST_STRAYS`.
    """

    _log = Logger()

    def __init__(self, znodes: Znodes) -> None:
        self.strays: frozenset[str] = frozenset()
        self._znodes = znodes
        self._stored = StoredMarks()
        self._held: set[int] = set()
        znodes.session.on_expiry(self._held.clear)
        self._ready = False
        self._nodes = NodeWatches(znodes)
        self._trees: list[TreeWatch] = []

    def stop(self) -> None:
        """End all watches."""
        self._nodes.stop()
        while self._trees:
            self._trees.pop().stop()

    # -- underreplicated marks --

    async def mark(self, ledger_id: int, replicas: Collection[str] = (), ctime: int | None = None) -> None:
        path = self._mark_path(ledger_id)
        await self._prepare()
        while True:
            try:
                stored = await self.read_mark(ledger_id)
            except NotUnderreplicatedError:
                if await self._create(path, UnderreplicatedLedger(ctime=ctime).with_replicas(replicas, ctime)):
                    return
                continue  # another client created the underreplicated mark first: read it and try again
            try:
                await self.replace_mark(ledger_id, stored.value.with_replicas(replicas, ctime), stored.version)
                return
            except (MetadataVersionError, NotUnderreplicatedError):
                pass  # another client changed or removed the underreplicated mark after the read: try again

    async def _create(self, path: str, mark: UnderreplicatedLedger) -> bool:
        data = encode_underreplicated(mark)
        try:
            await self._znodes.create_below(NewNode(path, data), lambda found, stat: found == data)
        except NodeExistsError:
            return False
        return True

    async def read_mark(self, ledger_id: int) -> Versioned[UnderreplicatedLedger]:
        path = self._mark_path(ledger_id)
        try:
            data, stat = await self._znodes.get(path)
        except NodeMissingError as error:
            raise NotUnderreplicatedError(f"ledger {ledger_id} is not marked") from error
        return self._stored.decode(ledger_id, data, stat.version)

    async def replace_mark(
        self, ledger_id: int, mark: UnderreplicatedLedger, version: int
    ) -> Versioned[UnderreplicatedLedger]:
        with _errors_of_marks(ledger_id, version):
            return Versioned(
                mark, await self._znodes.set(self._mark_path(ledger_id), encode_underreplicated(mark), version)
            )  # fmt: skip

    async def remove_mark(self, ledger_id: int, version: int) -> None:
        path = self._mark_path(ledger_id)
        with _errors_of_marks(ledger_id, version):
            await self._znodes.delete(path, version)
        for _ in range(GROUPS):
            path = path.rpartition("/")[0]
            try:
                await self._znodes.delete(path)
            except (NodeNotEmptyError, NodeMissingError):
                return

    async def marked_ledgers(self, shuffle: Shuffle | None = None) -> AsyncIterator[int]:
        """Yield the ids of all ledgers that have an underreplicated mark, in ascending order or shuffled.

        :param shuffle: called with the names of each node's children, to change their order; None for ascending ids.
        """
        root, strays = self._znodes.path(UNDERREPLICATION, MARKS), set[str]()
        session_id = self._znodes.session.zookeeper.session_id
        # One sync is enough for all marks that are there now: no later read of this session is of an earlier state.
        # One for each node would double the time of a walk, which is that of all round trips to the store.
        await self._znodes.sync(root)
        async for ledger_id in self._walk(root, 0, shuffle, strays, session_id):
            yield ledger_id
        self.strays = frozenset(strays)

    async def _walk(
        self, path: str, level: int, shuffle: Shuffle | None, strays: set[str], session_id: int
    ) -> AsyncIterator[int]:  # fmt: skip
        """Yield the ids of the ledgers whose marks are below ``path``; another session than the given one syncs first.
        """
        try:
            if self._znodes.session.zookeeper.session_id != session_id:
                await self._znodes.sync(path)
            names = sorted((await self._znodes.children(path))[0])
        except NodeMissingError:
            # Another client has removed this inner node of the tree.  Clients do so only after they have removed the
            # last mark below it, so no mark is missed here.
            return
        if level == GROUPS and not names:
            for tree in self._trees:
                tree.wait_for(path)
        if shuffle is not None:
            shuffle(names)
        for name in names:
            if level < GROUPS and GROUP.fullmatch(name):
                async for ledger_id in self._walk(f"{path}/{name}", level + 1, shuffle, strays, session_id):
                    yield ledger_id
            elif level == GROUPS and (marked := self._marked_by(path, name)) is not None:
                self._znodes.session.check_open()
                yield marked
            elif len(strays) < MOST_STRAYS:
                stray = f"{path}/{name}"
                strays.add(stray)
                if stray not in self.strays and len(self.strays) < MOST_STRAYS:
                    self.strays |= {stray}
                    self._log.error("{path} is no node of an underreplicated mark: it is left out", path=stray)

    def _marked_by(self, path: str, name: str) -> int | None:
        """Return the ledger of which the node ``name`` below ``path`` is the mark; None if it is no mark.

        A node that has the name of a mark and another place is none: whoever reads the mark of this ledger finds none.
        """
        digits = _MARK.fullmatch(name)
        if digits is None or (ledger_id := int(digits[1])) > MAX_LEDGER_ID:
            return None
        return ledger_id if self._mark_path(ledger_id) == f"{path}/{name}" else None

    def watch_marks(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._znodes.session.check_open()
        marks, locks = (self._znodes.path(UNDERREPLICATION, name) for name in (MARKS, LOCKS))
        tree = TreeWatch(self._znodes, marks, locks, listener)
        self._trees.append(tree)
        tree.start()

        def end() -> None:
            tree.stop()
            if tree in self._trees:
                self._trees.remove(tree)

        return end

    # -- locks --

    async def lock(self, ledger_id: int, holder: str) -> None:
        path, data = self._lock_path(ledger_id), encode_lock(holder)
        session_id = self._znodes.session.zookeeper.session_id
        await self._prepare()
        try:
            await self._znodes.create(NewNode(path, data, ephemeral=True), lambda _, stat: stat.owner == session_id)
        except NodeExistsError as error:
            if ledger_id in self._held or not await self._owns(path):
                raise LedgerLockedError(f"the replication lock of ledger {ledger_id} is held") from error
        self._held.add(ledger_id)

    async def unlock(self, ledger_id: int) -> None:
        self._held.discard(ledger_id)
        path = self._lock_path(ledger_id)
        if await self._owns(path):
            try:
                await self._znodes.delete(path)
            except NodeMissingError:
                pass

    async def describe_lock(self, ledger_id: int, text: str) -> None:
        path, data = self._lock_path(ledger_id), encode_lock(stored_text(text))
        stat = await self._own(path)
        if stat is not None:
            try:
                await self._znodes.set(path, data, stat.version)
            except (NodeMissingError, NodeVersionError):
                pass  # the lock was released, or its text was replaced, after this read

    async def _owns(self, path: str) -> bool:
        return await self._own(path) is not None

    async def _own(self, path: str) -> Stat | None:
        stat = await self._znodes.exists(path)
        return stat if stat is not None and stat.owner == self._znodes.session.zookeeper.session_id else None

    def watch_lost_locks(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._znodes.session.on_expiry(listener)

    async def locked_ledgers(self) -> dict[int, str]:
        path = self._znodes.path(UNDERREPLICATION, LOCKS)
        holders: dict[int, str] = {}
        try:
            names = await self._znodes.fresh_children(path)
        except NodeMissingError:
            return holders
        for digits in filter(None, map(_MARK.fullmatch, names)):
            try:
                data, _ = await self._znodes.get(f"{path}/{digits[0]}")
                holders[int(digits[1])] = decode_lock(data) or ""
            except NodeMissingError:
                pass  # the lock was released after the locks were listed
            except CodecError as error:  # the text is only for people to read
                why = str(error).replace(": ", ", ")  # in the text of a lock, a colon ends the name of the host
                holders[int(digits[1])] = f"not known: the lock of ledger {int(digits[1])} cannot be decoded, {why}"
        return dict(sorted(holders.items()))

    # -- the switch --

    async def is_enabled(self) -> bool:
        await self._znodes.sync(self._switch)
        return await self._znodes.exists(self._switch) is None

    async def set_enabled(self, enabled: bool) -> bool:
        try:
            if enabled:
                await self._znodes.delete(self._switch)
            else:
                await self._prepare()
                await self._znodes.create(NewNode(self._switch), lambda data, stat: True)
        except (NodeExistsError, NodeMissingError):
            return False
        return True

    def watch_enabled(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        return self._nodes.watch(self._switch, lambda data: data is None, listener)

    # -- paths --

    @property
    def _switch(self) -> str:
        return self._znodes.path(UNDERREPLICATION, DISABLED)

    def _mark_path(self, ledger_id: int) -> str:
        name = mark_name(ledger_id)
        return self._znodes.path(UNDERREPLICATION, MARKS, *_groups(ledger_id), name)

    def _lock_path(self, ledger_id: int) -> str:
        return self._znodes.path(UNDERREPLICATION, LOCKS, mark_name(ledger_id))

    async def _prepare(self) -> None:
        """Create the parent nodes of underreplicated marks and locks, and check the layout, unless done before."""
        if self._ready:
            return
        path, layout = self._znodes.path(UNDERREPLICATION, LAYOUT), encode_rereplication_layout()
        try:
            await self._znodes.create_below(NewNode(path, layout), lambda data, stat: data == layout)
        except NodeExistsError:
            data, _ = await self._znodes.get(path)
            try:
                check_rereplication_layout(data)
            except CodecError as error:
                raise MetadataSerializationError(f"{path}: {error}") from error
        for name in (MARKS, LOCKS):
            await self._znodes.ensure(self._znodes.path(UNDERREPLICATION, name))
        self._ready = True
