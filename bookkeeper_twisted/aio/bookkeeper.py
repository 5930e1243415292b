"""The client of a cluster, as asyncio has it; written by ``make doors``, not by hand."""

from collections.abc import AsyncGenerator, Mapping
from typing import Self

from .. import client
from ..client.connections.metrics import ClientMetrics
from ..config.client import ClientConfig
from ..model import DigestType, LedgerMetadata, WriteFlag
from ..placement.interfaces import IPlacementPolicy
from .handle import Connection
from .reactor import result_of
from .reader import LedgerReader
from .writers import AdvLedgerWriter, LedgerWriter


class BookKeeper(Connection[client.BookKeeper]):
    """A client of one BookKeeper cluster; :meth:`connect` makes it.

    After :meth:`close`, every call raises ClientClosedError.  Appends and reads that are outstanding at that time fail
    with it, too.
    """

    @classmethod
    async def connect(
        cls, uri: str, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        metrics: ClientMetrics | None = None,
    ) -> Self:  # fmt: skip
        """Connect to the cluster that a metadata service URI names, over TCP.

        :param uri: ``sqlite:///path``, ``zk+hierarchical://host:port/ledgers`` or ``memory:``.
        :param config: the configuration; the defaults if left out.
        :param placement: a policy that replaces the policy of the configuration.
        :param metrics: the metrics of this client, which no other client may share.
        :returns: an open client.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: no metadata driver can read the URI.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached.
        :raises bookkeeper_twisted.errors.ConfigError: no plugin has the configured placement policy.
        """
        return await cls._connected(lambda reactor: client.BookKeeper.connect(reactor, uri, config, placement, metrics))

    async def create_ledger(
        self, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2, password: bytes = b"",
        digest_type: DigestType | str = DigestType.CRC32C, custom_metadata: Mapping[str, bytes] | None = None,
        write_flags: WriteFlag = WriteFlag.NONE, logger_context: Mapping[str, str] | None = None,
    ) -> LedgerWriter:  # fmt: skip
        """Create an empty ledger.

        :param ensemble_size: number of bookies that share the entries.
        :param write_quorum: number of bookies that get each entry.
        :param ack_quorum: number of bookies that must have an entry on disk before its append succeeds.
        :param password: bytes that readers need; bookies get a key that is derived from it.
        :param digest_type: the digest that protects entries: a type or its name.
        :param custom_metadata: names and values (bytes) that are stored in the ledger's metadata, unchanged.
        :param write_flags: with DEFERRED_SYNC, appends succeed before entries are on disk, and only ``force`` advances
            the last add confirmed.  The failure of a bookie then ends the writer.
        :param logger_context: names and values, such as a tenant, to add to log lines about this ledger; None for none.
        :returns: the only writer of the ledger.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or ensemble size >=
            write quorum >= ack quorum >= 1 does not hold.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: fewer bookies are writable than the ensemble needs.
        :raises bookkeeper_twisted.errors.MetadataUnavailableError: the metadata store did not answer in time; if it is
            a MetadataOutcomeUnknownError, the ledger may have been created, empty.
        """
        return LedgerWriter(await result_of(self._on_own_loop.create_ledger(
            ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags, logger_context
        )))

    async def create_ledger_adv(
        self, ledger_id: int | None = None, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2,
        password: bytes = b"", digest_type: DigestType | str = DigestType.CRC32C,
        custom_metadata: Mapping[str, bytes] | None = None, write_flags: WriteFlag = WriteFlag.NONE,
        logger_context: Mapping[str, str] | None = None,
    ) -> AdvLedgerWriter:  # fmt: skip
        """Create an empty ledger whose entries are numbered by the caller.

        The other arguments and errors are those of :meth:`create_ledger`.

        :param ledger_id: id of the ledger; None for an id that no ledger has had.
        :returns: the only writer of the ledger.
        :raises bookkeeper_twisted.errors.LedgerExistsError: the id is taken.
        """
        return AdvLedgerWriter(await result_of(self._on_own_loop.create_ledger_adv(
            ledger_id, ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags,
            logger_context
        )))  # fmt: skip

    async def open_ledger(
        self, ledger_id: int, password: bytes | None = b"", recover: bool = True,
        logger_context: Mapping[str, str] | None = None,
    ) -> LedgerReader:  # fmt: skip
        """Open a ledger for reading.

        A ledger that is not closed is recovered first: a writer that is still alive can write no more, and the ledger
        is closed after the last entry that can have been acknowledged.  With ``recover=False`` the writer can
        continue.  The reader then reads up to the last add confirmed that bookies report, and can follow the ledger
        from there (:meth:`LedgerReader.tail`).

        :param ledger_id: id of the ledger.
        :param password: the password with which the ledger was created; None to use the password in the metadata, as
            administrators' tools do.
        :param recover: False to let the writer of an unclosed ledger continue.
        :param logger_context: names and values, such as a tenant, to add to log lines about this ledger; None for none.
        :returns: a reader, which the caller must close.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: an argument has the wrong type, or the id is
            negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: the password is wrong.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: too few bookies answered in time.
        :raises bookkeeper_twisted.errors.LedgerRecoveryError: the recovery failed; any client may try again.
        :raises bookkeeper_twisted.errors.ReadError: with ``recover=False``, too few bookies answered.
        """
        return LedgerReader(await result_of(self._on_own_loop.open_ledger(
            ledger_id, password, recover, logger_context
        )))

    async def delete_ledger(self, ledger_id: int, logger_context: Mapping[str, str] | None = None) -> None:
        """Delete a ledger.  Its bookies free the space when they next collect garbage.

        :param ledger_id: id of the ledger.
        :param logger_context: names and values, such as a tenant, to add to log lines about this ledger; None for none.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is not an integer, or is negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """
        await result_of(self._on_own_loop.delete_ledger(ledger_id, logger_context))

    def list_ledgers(self) -> AsyncGenerator[int, None]:
        """Iterate over the ids of all ledgers in ascending order; raise an error if some ids cannot be listed.

        :raises bookkeeper_twisted.errors.MetadataError: raised by the iteration: the metadata store does not answer.
        """
        return self._iterate(self._inner.list_ledgers(), 1000)

    async def ledger_metadata(self, ledger_id: int) -> LedgerMetadata:
        """Return the stored metadata of a ledger.

        :param ledger_id: id of the ledger.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is not an integer, or is negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """
        return await result_of(self._on_own_loop.ledger_metadata(ledger_id))

    async def close(self) -> None:
        """Close all connections; if this is called again, return the same result.

        Open ledgers are not closed; close their writers first.
        """
        await super().close()
