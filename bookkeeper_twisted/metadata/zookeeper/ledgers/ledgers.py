"""Ledger ids, ledger metadata and watches of single ledgers on ZooKeeper."""

from collections.abc import AsyncIterator, Awaitable, Callable

from twisted.logger import Logger
from zope.interface import implementer

from ....codec.metadata_formats import decode_ledger_metadata
from ....errors import (
    CodecError,
    LedgerExistsError,
    MetadataError,
    MetadataSerializationError,
    MetadataVersionError,
    NoSuchLedgerMetadataError,
)
from ....model import LedgerMetadata, check_ledger_id
from ...interfaces import ANY_VERSION, ILedgerManager, Versioned
from ...stored_form import stored_form
from ..interfaces import (
    NewNode,
    NodeExistsError,
    NodeForbiddenError,
    NodeMissingError,
    NodeNotEmptyError,
    NodeVersionError,
    Stat,
    Watch,
    ZooKeeperError,
)
from ..session import Session
from ..watches.watch_loop import WatchLoop
from ..znodes import Znodes
from .layouts import LedgerTree
from .ledger_ids import LedgerIds
from .ledger_listing import MAX_ID, LedgerListing

_MAX_VERSION = (1 << 31) - 1


@implementer(ILedgerManager)
class ZooKeeperLedgers:
    """The ledger manager of a driver on ZooKeeper.

    :ivar tree: the layout of the ledgers' nodes; None until the driver is open.
    """

    def __init__(self, znodes: Znodes) -> None:
        self.tree: LedgerTree | None = None
        self._znodes = znodes
        self._ids = LedgerIds(znodes)
        self._watches: set[LedgerWatch] = set()

    def stop(self) -> None:
        """End all watches."""
        for watch in list(self._watches):
            watch.stop()

    async def generate_id(self) -> int:
        return await self._ids.draw(self._laid_out())

    async def create(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned[LedgerMetadata]:
        path, data = self._path(ledger_id), stored_form(ledger_id, metadata)
        try:
            # If the node exists, an earlier attempt of this call may have created it.  The data are not compared here,
            # but _own() compares the random number in the stored metadata with that of this client.
            await self._znodes.create_below(NewNode(path, data), lambda data, stat: False)
        except NodeExistsError as error:
            return await self._own(ledger_id, metadata.c_token, error)
        return Versioned(decode_ledger_metadata(data), 0)

    async def _own(self, ledger_id: int, c_token: int, error: NodeExistsError) -> Versioned[LedgerMetadata]:
        """Return the stored metadata of an existing ledger if an earlier attempt of this client created the ledger.

        :param c_token: the random number of this client's create; the stored metadata contain it if this client created
            the ledger.
        :raises LedgerExistsError: another client created the ledger.
        """
        if c_token:
            await self._znodes.sync(self._path(ledger_id))
            try:
                stored = await self.read(ledger_id)
            except (NoSuchLedgerMetadataError, MetadataSerializationError):
                raise LedgerExistsError(f"ledger {ledger_id} is another one") from error
            if stored.value.c_token == c_token:
                return stored
        raise LedgerExistsError(f"ledger {ledger_id} exists") from error

    async def read(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        return await self._read(ledger_id, None)

    async def _read(self, ledger_id: int, watch: Watch | None) -> Versioned[LedgerMetadata]:
        path = self._path(ledger_id)
        try:
            data, stat = await self._znodes.get(path, watch)
        except NodeMissingError as error:
            raise _no_such(ledger_id) from error
        except NodeForbiddenError as error:  # of one ledger, walks over all ledgers go on past it
            raise MetadataSerializationError(f"ledger {ledger_id} may not be read by this client: {error}") from error
        return self._decode(path, ledger_id, data, stat)

    def _decode(self, path: str, ledger_id: int, data: bytes, stat: Stat) -> Versioned[LedgerMetadata]:
        try:
            return Versioned(decode_ledger_metadata(data), stat.version)
        except CodecError as error:
            raise MetadataSerializationError(f"ledger {ledger_id}, {path}: {error}") from error

    async def write(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        path, data = self._path(ledger_id), stored_form(ledger_id, metadata)
        if not 0 <= version <= _MAX_VERSION:  # ZooKeeper would accept version -1 as "any version"
            await self.read(ledger_id)
            raise _changed(ledger_id, version)
        try:
            new_version = await self._znodes.set(path, data, version)
        except NodeVersionError as error:
            raise _changed(ledger_id, version) from error
        except NodeMissingError as error:
            raise _no_such(ledger_id) from error
        return Versioned(decode_ledger_metadata(data), new_version)

    async def remove(self, ledger_id: int, version: int = ANY_VERSION) -> None:
        path = self._path(ledger_id)
        try:
            await self._znodes.delete(path, version)
        except NodeVersionError as error:
            raise _changed(ledger_id, version) from error
        except NodeMissingError as error:
            raise _no_such(ledger_id) from error
        if self._laid_out().prunes:
            await self._prune(path.rpartition("/")[0])

    async def _prune(self, path: str) -> None:
        """Remove the parent nodes of a removed ledger if they are empty; ignore errors, because empty nodes do no harm.
        """
        try:
            while path != self._znodes.root and (await self._znodes.get(path))[1].n_children == 0:
                await self._znodes.delete(path)
                path = path.rpartition("/")[0]
        except (NodeNotEmptyError, NodeMissingError, ZooKeeperError):
            pass

    async def sync(self) -> None:
        await self._znodes.sync(self._znodes.root)

    async def ledger_ids(self, first: int = 0, last: int | None = None) -> AsyncIterator[int]:
        """Yield ledger ids in ascending order; if a node cannot be read, raise an error instead of ending early."""
        end = MAX_ID if last is None else last
        async for ledger_id in LedgerListing(self._znodes, self._laid_out(), first, end).ids():
            yield ledger_id

    def watch(self, ledger_id: int, listener: Callable[[Versioned[LedgerMetadata] | None], None]) -> Callable[[], None]:
        check_ledger_id(ledger_id)
        self._znodes.session.check_open()
        watch = LedgerWatch(self._znodes.session, ledger_id, self._read, listener, self._watches.discard)
        self._watches.add(watch)
        watch.start()
        return watch.stop

    def _laid_out(self) -> LedgerTree:
        self._znodes.session.check_open()
        if self.tree is None:
            raise MetadataError(f"{self._znodes.session.uri} is not open yet")
        return self.tree

    def _path(self, ledger_id: int) -> str:
        return self._znodes.path(self._laid_out().path_of(check_ledger_id(ledger_id)))


def _no_such(ledger_id: int) -> NoSuchLedgerMetadataError:
    return NoSuchLedgerMetadataError(f"ledger {ledger_id} does not exist")


def _changed(ledger_id: int, version: int) -> MetadataVersionError:
    return MetadataVersionError(f"ledger {ledger_id} has not version {version}")


Stored = Versioned[LedgerMetadata]


class LedgerWatch:
    """The watch of one ledger: it calls its listener with newer metadata, and with None after the ledger was deleted.

    :param read: a function that reads the metadata of the ledger and sets a ZooKeeper watch.
    :param ended: called with this object when the watch has ended.
    """

    _log = Logger()

    def __init__(
        self, session: Session, ledger_id: int, read: Callable[[int, Watch], Awaitable[Stored]],
        listener: Callable[[Stored | None], None], ended: "Callable[[LedgerWatch], None]",
    ) -> None:  # fmt: skip
        self._ledger_id = ledger_id
        self._read = read
        self._listener: Callable[[Stored | None], None] | None = listener
        self._end = ended
        self._delivered_version = -1
        self._loop = WatchLoop(session, f"ledger {ledger_id}", self._look)

    def start(self) -> None:
        """Start the watch; it reads the ledger immediately."""
        self._loop.start()

    def stop(self) -> None:
        """End the watch; the listener is not called any more."""
        self._listener = None
        self._end(self)
        self._loop.stop()

    async def _look(self, watch: Watch) -> bool:
        try:
            stored = await self._read(self._ledger_id, watch)
        except NoSuchLedgerMetadataError:
            self._tell(None)
            self._end(self)
            return False
        if stored.version > self._delivered_version:
            self._delivered_version = stored.version
            self._tell(stored)
        return True

    def _tell(self, news: Stored | None) -> None:
        if self._listener is None:
            return
        try:
            self._listener(news)
        except Exception:
            self._log.failure("metadata watch: a listener failed")
