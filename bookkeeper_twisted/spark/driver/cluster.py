"""The view that Spark's driver has of a cluster: the metadata of ledgers and the addresses of bookies.

All calls block the calling thread, until the client of the metadata store has done the work in the reactor thread of
the process.
"""

from bisect import bisect_left
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TypeVar

from ...blocking_reads import Address
from ...config.client import ClientConfig
from ...errors import BookieHandleNotAvailableError, NoSuchLedgerMetadataError, NotUnderreplicatedError
from ...metadata.drivers import create_driver, options_of
from ...metadata.interfaces import IMetadataDriver, Versioned
from ...metadata.registered import bookie_address, registered_bookies
from ...model import MAX_LEDGER_ID, LedgerMetadata, UnderreplicatedLedger
from ..publication_ids import FIRST_PUBLICATION, is_record
from ..reactor import THREAD, results_of
from ..task.security import KeySettings, SecuritySettings, key_settings, security_settings

V = TypeVar("V")


class ClusterView:
    """Access to ledger metadata, underreplicated marks and bookie registrations over a metadata store connection.

    :func:`connect` and :func:`connected` make it.

    :ivar security: settings of TLS and of authentication, for connections to the bookies of the cluster.
    :ivar keys: settings of the key provider, which has the keys of encrypted ledgers.
    """

    def __init__(self, driver: IMetadataDriver, security: SecuritySettings, keys: KeySettings = ()) -> None:
        self.security = security
        self.keys = keys
        self.ledgers = driver.ledgers
        self.underreplication = driver.underreplication
        self.registration = driver.registration
        self._driver = driver
        # A cache by ledger id, for ids from FIRST_PUBLICATION on.  True if the ledger is a record of the sink (a ledger
        # without entries, whose metadata are the record); False if a user has created the ledger.
        self._high_ids: dict[int, bool] = {}

    def ledger_ids(self, first: int = 0, last: int = MAX_LEDGER_ID) -> list[int]:
        """Return the ids of ledgers from ``first`` to ``last`` (inclusive), ascending; leave out the sink's records.

        The sink stores records as the metadata of ledgers without entries, whose ids are at least FIRST_PUBLICATION
        (:mod:`..publication_ids`).  A user's ledger may also have such an id.  So the metadata of each ledger with such
        an id are read, to find out whether it is a record.  The result of this test is cached.

        :raises MetadataError: the metadata store failed.
        """
        found = self.stored_ids(first, last)
        split = bisect_left(found, FIRST_PUBLICATION)
        high = found[split:]
        fresh = self.metadata(n for n in high if n not in self._high_ids)
        known = self._high_ids | {n: is_record(n, metadata) for n, metadata in fresh.items()}
        # ledgers that were deleted after the listing are not in ``known``
        listed = {n: known[n] for n in high if n in known}
        self._high_ids = listed | {n: known[n] for n in known if not first <= n <= last}
        return [*found[:split], *(n for n in listed if not listed[n])]

    def stored_ids(self, first: int, last: int) -> list[int]:
        """Return the ids of all ledgers from ``first`` to ``last`` (inclusive), in ascending order.

        The result includes the ids of the ledgers without entries in whose metadata the sink stores its records.

        :raises MetadataError: the metadata store failed.
        """
        return THREAD.wait(partial(_listed, self.ledgers.ledger_ids(first, last)))

    def metadata(self, ledger_ids: Iterable[int]) -> dict[int, LedgerMetadata]:
        """Read the metadata of ledgers concurrently; return them by ledger id, and leave out ledgers that do not exist.

        :param ledger_ids: ids of the ledgers, in any order.
        :raises MetadataError: the metadata store failed.
        """

        found = self._read(ledger_ids, self.ledgers.read, NoSuchLedgerMetadataError)
        return {ledger_id: stored.value for ledger_id, stored in found.items()}

    def marks(self) -> dict[int, Versioned[UnderreplicatedLedger]]:
        """Return the underreplicated marks of all ledgers that have one, by ledger id.

        :raises MetadataError: the metadata store failed.
        """
        marked = THREAD.wait(partial(_listed, self.underreplication.marked_ledgers()))
        return self._read(marked, self.underreplication.read_mark, NotUnderreplicatedError)

    def _read(
        self, ledger_ids: Iterable[int], read: Callable[[int], Awaitable[V]], none: type[Exception]
    ) -> dict[int, V]:
        """Call ``read``, which reads a ledger's data from the metadata store, for each ledger.

        Return the results by ledger id; leave out ledgers for which ``read`` raises ``none``, the error for missing
        data.
        """

        async def found_or_none(ledger_id: int) -> V | None:
            try:
                return await read(ledger_id)
            except none:
                return None

        found = THREAD.wait(partial(results_of, ledger_ids, found_or_none))
        return {ledger_id: one for ledger_id, one in found.items() if one is not None}

    def addresses(self, bookie_ids: Collection[str]) -> dict[str, Address]:
        """Return the addresses of bookies by bookie id; an unknown address has port 0.

        An address is unknown if the bookie is not registered and its id is not of the form ``host:port``.

        :param bookie_ids: ids of the bookies, in any order.
        :raises MetadataError: the metadata store failed.
        """

        async def look_up(bookie_id: str) -> Address:
            try:
                return Address(bookie_id, *await bookie_address(self.registration, bookie_id))
            except BookieHandleNotAvailableError:
                return Address(bookie_id, "", 0)

        return THREAD.wait(partial(results_of, bookie_ids, look_up))

    def available_bookies(self) -> frozenset[str]:
        """Return the ids of registered bookies, writable or read-only."""
        return THREAD.wait(partial(registered_bookies, self.registration))

    def close(self) -> None:
        """Close the connection to the metadata store."""
        THREAD.wait(self._driver.close)


async def _listed(ids: AsyncIterator[int]) -> list[int]:
    return [ledger_id async for ledger_id in ids]


def connect(uri: str, config: ClientConfig) -> ClusterView:
    """Connect to the metadata store of a cluster, named by its metadata service URI.

    :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached, or no metadata driver is
        known for the URI.
    """

    async def opened() -> ClusterView:
        driver = create_driver(THREAD.reactor, uri, options_of(config))
        await driver.open()
        return ClusterView(driver, security_settings(config), key_settings(config))

    return THREAD.wait(opened)


@contextmanager
def connected(uri: str, config: ClientConfig) -> Iterator[ClusterView]:
    """Connect to a cluster as :func:`connect` does, and close the connection when the ``with`` block ends.

    :param uri: metadata service URI of the cluster.
    :raises MetadataError: the metadata store cannot be reached.
    """
    with closing(connect(uri, config)) as cluster:
        yield cluster


def bookies_of(ledgers: Iterable[LedgerMetadata]) -> set[str]:
    """Return the ids of all bookies in the ensembles of ``ledgers``."""
    return set().union(*(metadata.bookies for metadata in ledgers))
