"""The administration of a cluster: its ledgers, its bookies, their cookies.

Ledgers are opened with the password in their metadata, so access to the metadata store is enough.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import ROUND_DOWN, Decimal
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from ..arguments import check_integer
from ..codec.digest import Digester
from ..codec.metadata_formats import Cookie
from ..config.client import ClientConfig
from ..config.metadata import MetadataConfig
from ..errors import (
    BookKeeperError,
    IncorrectParameterError,
    MetadataSerializationError,
    UnexpectedConditionError,
)
from ..metadata.drivers import create_cluster_admin, options_of
from ..metadata.interfaces import IClusterAdmin, IMetadataDriver, Versioned
from ..metadata.registered import registered_bookies
from ..metadata.undecoded import UndecodedLedgers, undecoded_text
from ..model import BookieServiceInfo, Entry, LedgerMetadata, check_bookie_id
from ..shared_result import SharedResult
from .bookkeeper import BookKeeper
from .interfaces import IBookieClient
from .reading.read_handle import LedgerReader

_UNITS = ("", "KB", "MB", "GB", "TB")


@attrs.frozen
class DiskSpace:
    """The total and the free space of a bookie's ledger directories, in bytes."""

    total: int
    free: int


def readable(size: int) -> str:
    """Format a number of bytes in parentheses, with a decimal unit and at most three decimals: ``(71.628GB)``.

    :param size: number of bytes.
    :returns: the text; an empty string for fewer than 1000 bytes, as in Apache's shell.
    """
    value, unit = Decimal(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if unit == 0:
        return ""
    cut = value.quantize(Decimal("0.001"), ROUND_DOWN).normalize()
    return f"({cut:f}{_UNITS[unit]})"


@attrs.frozen
class LedgerReport:
    """The metadata of a ledger, the bookies that keep its entries, and which of them are down.

    :ivar bookies: the bookies of all segments.
    :ivar unavailable: the bookies among these that are registered neither as writable nor as read-only.
    """

    ledger_id: int
    metadata: LedgerMetadata
    bookies: frozenset[str]
    unavailable: frozenset[str]


@asynccontextmanager
async def cluster_admin(
    reactor: Any, uri: str, config: MetadataConfig, create: bool = False
) -> AsyncIterator[IClusterAdmin]:
    """Connect an administrator to the cluster that ``uri`` names, until the ``async with`` block ends.

    :param config: the configuration of a client or of a bookie; it says how to connect to the metadata store.
    :param create: whether to make an embedded store that does not exist.
    :raises bookkeeper_twisted.errors.NotInitializedError: an embedded store does not exist, and ``create`` is False.
    :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached.
    """
    options = attrs.evolve(options_of(config), create=create)
    admin = create_cluster_admin(reactor, uri, options)
    try:
        await admin.open()
        yield admin
    finally:
        await admin.close()


class BookKeeperAdmin:
    """An administrator's client, which inspects and changes the ledgers, bookies and cookies of one cluster.

    :param client: the client to use; it is closed with this object.
    :ivar client: the same client, by which a caller can create, write and read ledgers.
    """

    def __init__(self, client: BookKeeper) -> None:
        self.client = client
        driver: IMetadataDriver = client.metadata
        self._registration = driver.registration
        self._ledgers = driver.ledgers
        self._bookie_client: IBookieClient = client._bookie_client

    @classmethod
    def connect(cls, reactor: Any, uri: str, config: ClientConfig | None = None) -> "Deferred[BookKeeperAdmin]":
        """Connect to the cluster that a metadata service URI names, over TCP.

        See :meth:`~.bookkeeper.BookKeeper.connect` for parameters and errors.
        """
        return BookKeeper.connect(reactor, uri, config).addCallback(cls)

    # ---- ledgers -------------------------------------------------------------------------------------

    async def ledgers(
        self, bookie_id: str | None = None, undecoded: UndecodedLedgers | None = None
    ) -> AsyncIterator[tuple[int, LedgerMetadata]]:
        """Iterate over ledgers in ascending order of their ids; yield the id and the metadata of each.

        A ledger that is deleted during the iteration may be left out.  A ledger whose metadata cannot be decoded is
        left out, too, whatever bookies it has.

        :param bookie_id: if given, only ledgers whose ensembles name this bookie.
        :param undecoded: gets the ledgers whose metadata cannot be decoded; None to have them raise an error at the
            end.
        :raises bookkeeper_twisted.errors.MetadataSerializationError: all other ledgers were yielded, but the metadata
            of some cannot be decoded, and ``undecoded`` is None.
        """
        left_out = UndecodedLedgers() if undecoded is None else undecoded
        async for ledger_id in self.client.list_ledgers():
            metadata = await left_out.read(self._ledgers, ledger_id)
            if metadata is not None and (bookie_id is None or bookie_id in metadata.bookies):
                yield ledger_id, metadata
        if undecoded is None and left_out.ids:
            text = undecoded_text(left_out.ids, "cannot be listed")
            raise MetadataSerializationError(f"{text}; the first: {left_out.reason}")

    async def inspect(self, ledger_id: int) -> LedgerReport:
        """Report the metadata of a ledger, the bookies of its ensembles, and which of these bookies are not registered.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """
        metadata = await self.client.ledger_metadata(ledger_id)
        return LedgerReport(ledger_id, metadata, metadata.bookies, metadata.bookies - await self.registered_bookies())

    async def open_ledger(self, ledger_id: int, recover: bool = False) -> LedgerReader:
        """Open a reader of a ledger with the stored password; see :meth:`~.bookkeeper.BookKeeper.open_ledger`.

        :param recover: whether to fence and close the ledger first, if it is not closed.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """
        metadata = await self.client.ledger_metadata(ledger_id)
        return await self.client.open_ledger(ledger_id, metadata.password, recover)

    async def recover_ledger(self, ledger_id: int) -> LedgerMetadata:
        """Fence and close a ledger; a ledger that is closed already does not change.

        :returns: the metadata of the closed ledger.
        """
        async with await self.open_ledger(ledger_id, recover=True):
            return await self.client.ledger_metadata(ledger_id)

    async def read_entry_from(self, bookie_id: str, ledger_id: int, entry_id: int) -> Entry:
        """Read an entry from one given bookie only, and verify its ids and its digest.

        :param bookie_id: id of the bookie.
        :param ledger_id: id of the ledger.
        :param entry_id: id of the entry, >= 0.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or is negative.
        :raises bookkeeper_twisted.errors.BookKeeperError: the bookie answered with this error, or did not answer.
        """
        check_bookie_id(bookie_id)
        check_integer("entry_id", entry_id)
        metadata = await self.client.ledger_metadata(ledger_id)
        reply = await self._bookie_client.read(bookie_id, ledger_id, entry_id)
        if reply.entry is None:
            raise UnexpectedConditionError(f"{bookie_id} gave entry {entry_id} of ledger {ledger_id} without its bytes")
        return Digester(metadata.digest_type, metadata.password).entry(ledger_id, entry_id, reply.entry)

    def delete_ledger(self, ledger_id: int) -> "Deferred[None]":
        """Delete the ledger ``ledger_id``.  Its bookies free the space when they next collect garbage."""
        return self.client.delete_ledger(ledger_id)

    # ---- bookies -------------------------------------------------------------------------------------

    async def instance_id(self) -> str:
        """Return the id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the metadata store was not initialized for a cluster.
        """
        return await self._registration.instance_id()

    async def writable_bookies(self) -> frozenset[str]:
        """Return the ids of the bookies that accept new ledgers."""
        return await self._registration.writable_bookies()

    async def read_only_bookies(self) -> frozenset[str]:
        """Return the ids of the bookies that only serve reads."""
        return await self._registration.read_only_bookies()

    async def registered_bookies(self) -> frozenset[str]:
        """Return the ids of the bookies that are up, writable or read-only."""
        return await registered_bookies(self._registration)

    async def all_bookies(self) -> frozenset[str]:
        """Return the ids of all bookies with a cookie, up or down."""
        return await self._registration.all_bookies()

    async def service_info(self, bookie_id: str) -> BookieServiceInfo:
        """Return the addresses and properties that the bookie ``bookie_id`` published with its registration.

        :raises bookkeeper_twisted.errors.MetadataError: the bookie is not registered.
        """
        return await self._registration.service_info(bookie_id)

    async def disk_space(self) -> Mapping[str, DiskSpace | BookKeeperError]:
        """Ask every writable bookie for its disk space; return, by bookie id, the answer or the error of the bookie."""
        requests = {
            bookie_id: SharedResult[DiskSpace | BookKeeperError]()
            for bookie_id in sorted(await self.writable_bookies())
        }
        # all requests were sent before this loop, so the bookies answer concurrently
        for bookie_id, request in requests.items():
            request.run(self.disk_space_of(bookie_id))
        return {bookie_id: await request.wait() for bookie_id, request in requests.items()}

    async def disk_space_of(self, bookie_id: str) -> DiskSpace | BookKeeperError:
        """Ask one bookie for its disk space; return the answer or the error of the bookie.

        :param bookie_id: id of the bookie, which may be writable or read-only.
        """
        try:
            return DiskSpace(*await self._bookie_client.bookie_info(bookie_id))
        except BookKeeperError as error:
            return error

    # ---- cookies -------------------------------------------------------------------------------------

    async def cookie(self, bookie_id: str) -> Versioned[Cookie]:
        """Return the cookie of a bookie with its version, which :meth:`update_cookie` needs.

        :raises bookkeeper_twisted.errors.CookieNotFoundError: the bookie has no cookie.
        :raises bookkeeper_twisted.errors.CodecError: the stored cookie cannot be decoded.
        """
        stored = await self._registration.read_cookie(bookie_id)
        return Versioned(Cookie.parse(stored.value), stored.version)

    async def create_cookie(self, cookie: Cookie) -> None:
        """Store a ``cookie`` for a bookie that has no cookie yet.

        :raises bookkeeper_twisted.errors.CookieExistsError: the bookie has a cookie already.
        """
        await self._registration.write_cookie(cookie.bookie_id, cookie.encode(), None)

    async def update_cookie(self, cookie: Cookie, version: int) -> None:
        """Replace the ``cookie`` of a bookie.

        :param version: the version of the stored cookie, as :meth:`cookie` returned it.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored cookie has another version: it was changed
            since then.
        :raises bookkeeper_twisted.errors.CookieNotFoundError: the bookie has no cookie.
        """
        check_integer("version", version)
        await self._registration.write_cookie(cookie.bookie_id, cookie.encode(), version)

    async def delete_cookie(self, bookie_id: str) -> None:
        """Delete the cookie of a bookie; the bookie can then no longer start on its old directories.

        :raises bookkeeper_twisted.errors.CookieNotFoundError: the bookie has no cookie.
        :raises IncorrectParameterError: the bookie is registered.
        """
        if bookie_id in await self.registered_bookies():
            raise IncorrectParameterError(f"bookie {bookie_id} is running: its cookie stays")
        stored = await self._registration.read_cookie(bookie_id)
        await self._registration.remove_cookie(bookie_id, stored.version)

    # ---- life ----------------------------------------------------------------------------------------

    def close(self) -> "Deferred[None]":
        """Close this administrator's client with all its connections."""
        return self.client.close()

    def __repr__(self) -> str:
        return f"<BookKeeperAdmin of {self.client!r}>"

    async def __aenter__(self) -> "BookKeeperAdmin":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
