"""The client's entry point: connect to a cluster; create, open, list and delete ledgers."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ..arguments import check_custom_metadata, check_password, check_type, refusal
from ..authentication.plugins import client_authentication
from ..codec.digest import Digester
from ..config.client import ClientConfig
from ..errors import ClientClosedError, MetadataUnavailableError, UnauthorizedAccessError
from ..ledger.placement import Chance
from ..ledger.recovery_rules import RecoveryRules
from ..metadata.drivers import create_driver, options_of
from ..metadata.interfaces import IMetadataDriver
from ..model import DigestType, LedgerMetadata, WriteFlag, check_ledger_id, digest_type_of
from ..placement.bookie_watcher import BookieWatcher
from ..placement.factories import create_placement
from ..placement.free_space import FreeSpace
from ..placement.interfaces import IPlacementPolicy
from ..placement.quarantine import Quarantine
from ..placement.racks import BookieRacks
from ..placement.random_placement import RandomPlacement
from ..protocol.authentication import AuthenticationDisabled
from ..shared_result import SharedResult
from ..tracing.interfaces import ITracer
from ..tracing.plugins import tracer_of
from ..tracing.records import TraceRecords
from .claims.threads import Threads, system_threads
from .connections.bookie_client import BookieAddresses, NetworkBookieClient
from .connections.metrics import ClientMetrics
from .context import ClientContext
from .encryption import NewKey, check_names, is_encrypted, ledger_encryption
from .interfaces import IBookieClient
from .logger_context import checked_context, logger_in
from .production import local_host_name, rack_resolver, system_chance, tcp_endpoints, tls_to_bookies
from .reading.decryption import DecryptingDigester
from .reading.read_handle import LedgerReader
from .recovery.ledger_recovery import LedgerRecovery
from .writing.adv_write_handle import AdvLedgerWriter
from .writing.context import OpenLedger
from .writing.encrypted_writers import adv_writer_of, writer_of
from .writing.ledger_creation import NewLedger, choose_ensemble, store_ledger
from .writing.write_handle import LedgerWriter

T = TypeVar("T")

_TOKEN_BITS = 63
_CLOSED = "close() was called"
# Number of ledger ids that list_ledgers() yields before it lets the reactor run; this takes a few milliseconds.
_LISTED_A_TURN = 500


class BookKeeper:
    """A client of one BookKeeper cluster; :meth:`connect` makes it.

    After :meth:`close`, every call raises ClientClosedError.  Appends and reads that are outstanding at that time fail
    with it, too.
    """

    _recovery_rules = RecoveryRules

    _log = Logger()

    def __init__(
        self, clock: IReactorTime, driver: IMetadataDriver, bookie_client: IBookieClient, chance: Chance,
        config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        quarantine: Quarantine | None = None, threads: Threads | None = None, tracer: ITracer | None = None,
    ) -> None:  # fmt: skip
        """Make a client from given objects, which :meth:`close` also closes; applications call :meth:`connect` instead.

        :param driver: an open metadata driver; kept as ``metadata``.
        :param chance: the source of random numbers.
        :param quarantine: the counter of bookie errors, to which ``bookie_client`` reports the outcome of each request.
        :param threads: how this client locks and wakes threads that append entries; None for the standard way.
        :param tracer: decides what is traced, and reports the spans; None for no traces.
        """
        self._clock = clock
        self.metadata = driver
        self._ledgers = driver.ledgers
        self._bookie_client = bookie_client
        self._chance = chance
        self._config = config or ClientConfig()
        registration = driver.registration
        weighted = self._config.disk_weight_based_placement_enabled
        free_space = FreeSpace(clock, bookie_client.bookie_info, self._config) if weighted else None
        self._watcher = BookieWatcher(registration, placement or RandomPlacement(chance), quarantine, free_space)
        self._context = ClientContext(
            clock, bookie_client, self._ledgers, self._watcher, chance, self._config,
            threads=threads or system_threads(clock), encryption=ledger_encryption(self._config),
            records=None if tracer is None else TraceRecords(clock, tracer, self._config.trace_max_per_second),
        )  # fmt: skip
        self._closing: SharedResult[None] | None = None

    @classmethod
    def connect(
        cls, reactor: Any, uri: str, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        metrics: ClientMetrics | None = None,
    ) -> "Deferred[BookKeeper]":  # fmt: skip
        """Connect to the cluster that a metadata service URI names, over TCP.

        :param reactor: the reactor that runs the client.
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
        return Deferred.fromCoroutine(cls._connect(reactor, uri, config, placement, metrics))

    @classmethod
    async def _connect(
        cls, reactor: Any, uri: str, config: ClientConfig | None, placement: IPlacementPolicy | None,
        metrics: ClientMetrics | None,
    ) -> "BookKeeper":  # fmt: skip
        check_type("uri", uri, str, "str")
        config = check_type("config", ClientConfig() if config is None else config, ClientConfig, "a ClientConfig")
        if placement is not None and not IPlacementPolicy.providedBy(placement):
            raise refusal("placement", placement, "an IPlacementPolicy")
        if metrics is not None:
            check_type("metrics", metrics, ClientMetrics, "a ClientMetrics")
        driver = create_driver(reactor, uri, options_of(config))
        await driver.open()
        try:
            client = cls._assemble(reactor, driver, config, placement, metrics)
        except BaseException:
            await driver.close()
            raise
        try:
            await client._watcher.look()
        except BaseException:
            await client.close()
            raise
        return client

    @classmethod
    def _assemble(
        cls, reactor: Any, driver: IMetadataDriver, config: ClientConfig, placement: IPlacementPolicy | None,
        metrics: ClientMetrics | None,
    ) -> "BookKeeper":  # fmt: skip
        chance = system_chance()
        addresses = BookieAddresses(driver.registration, tcp_endpoints(reactor, config))
        resolver = rack_resolver(reactor, config, driver)
        racks = BookieRacks(reactor, resolver, addresses.host_of, local_host_name(config))
        placement = placement or create_placement(chance, config, racks)
        quarantine = Quarantine(reactor, chance, config) if config.bookie_health_check_enabled else None
        answered = None if quarantine is None else quarantine.answered
        authentication = client_authentication(config)
        encryption = tls_to_bookies(addresses, config, reactor.seconds) if config.encrypts else None
        host_of = None if isinstance(authentication, AuthenticationDisabled) else addresses.host_of
        client = NetworkBookieClient(
            reactor, addresses.resolve, config, answered, metrics, authentication, encryption, host_of
        )
        return cls(reactor, driver, client, chance, config, placement, quarantine, tracer=tracer_of(config))

    @property
    def context(self) -> ClientContext:
        """The objects that all operations of this client share; autorecovery and other repairs of ledgers use them."""
        return self._context

    # ---- ledgers -------------------------------------------------------------------------------------

    def create_ledger(
        self, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2, password: bytes = b"",
        digest_type: DigestType | str = DigestType.CRC32C, custom_metadata: Mapping[str, bytes] | None = None,
        write_flags: WriteFlag = WriteFlag.NONE, logger_context: Mapping[str, str] | None = None,
    ) -> "Deferred[LedgerWriter]":  # fmt: skip
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
        created = self._create(
            None, ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags,
            logger_context,
        )
        return self._run("create a ledger", created).addCallback(writer_of)

    def create_ledger_adv(
        self, ledger_id: int | None = None, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2,
        password: bytes = b"", digest_type: DigestType | str = DigestType.CRC32C,
        custom_metadata: Mapping[str, bytes] | None = None, write_flags: WriteFlag = WriteFlag.NONE,
        logger_context: Mapping[str, str] | None = None,
    ) -> "Deferred[AdvLedgerWriter]":  # fmt: skip
        """Create an empty ledger whose entries are numbered by the caller.

        The other arguments and errors are those of :meth:`create_ledger`.

        :param ledger_id: id of the ledger; None for an id that no ledger has had.
        :returns: the only writer of the ledger.
        :raises bookkeeper_twisted.errors.LedgerExistsError: the id is taken.
        """
        created = self._create(
            ledger_id, ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata, write_flags,
            logger_context,
        )
        return self._run("create a ledger", created).addCallback(adv_writer_of)

    async def _create(
        self, ledger_id: int | None, ensemble_size: int, write_quorum: int, ack_quorum: int, password: bytes,
        digest_type: DigestType | str, custom_metadata: Mapping[str, bytes] | None, write_flags: WriteFlag,
        logger_context: Mapping[str, str] | None,
    ) -> OpenLedger:  # fmt: skip
        context = checked_context(logger_context)
        check_password(password)
        custom_metadata = {} if custom_metadata is None else custom_metadata
        check_custom_metadata(custom_metadata)
        key = await self._new_key(custom_metadata)
        added = {} if key is None else key.custom_metadata
        wanted = NewLedger(
            ledger_id=ledger_id, ensemble_size=ensemble_size, write_quorum=write_quorum, ack_quorum=ack_quorum,
            password=password, digest_type=digest_type_of(digest_type), custom_metadata={**custom_metadata, **added},
            write_flags=write_flags,
        )  # fmt: skip
        ensemble = await choose_ensemble(wanted, self._watcher, self._config.opportunistic_striping)
        metadata = wanted.metadata(ensemble, self._chance.getrandbits(_TOKEN_BITS))
        ledger_id, stored = await store_ledger(wanted, self._ledgers, metadata)
        log = logger_in(self._log, context)
        log.debug("ledger {ledger_id} is created on {ensemble}", ledger_id=ledger_id, ensemble=ensemble)
        return OpenLedger(
            context=self._context, digester=Digester(wanted.digest_type, wanted.password), ledger_id=ledger_id,
            metadata=stored, write_flags=write_flags, cipher=None if key is None else key.cipher(ledger_id),
            logger_context=context,
        )  # fmt: skip

    async def _new_key(self, custom_metadata: Mapping[str, bytes]) -> NewKey | None:
        """Make the key that encrypts the entries of a new ledger; return None if this client encrypts no ledgers.

        The client that imports archived ledgers overrides this method, because it writes entries that are encrypted
        already.

        :param custom_metadata: the custom metadata that the caller sets for the ledger.
        """
        check_names(custom_metadata)
        encryption = self._context.encryption
        return await encryption.new_key() if encryption is not None and encryption.encrypts else None

    def open_ledger(
        self, ledger_id: int, password: bytes | None = b"", recover: bool = True,
        logger_context: Mapping[str, str] | None = None,
    ) -> "Deferred[LedgerReader]":  # fmt: skip
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
        opened = open_reader(self._context, ledger_id, password, recover, self._recovery_rules, logger_context)
        return self._run(f"open ledger {ledger_id}", opened)

    def delete_ledger(self, ledger_id: int, logger_context: Mapping[str, str] | None = None) -> "Deferred[None]":
        """Delete a ledger.  Its bookies free the space when they next collect garbage.

        :param ledger_id: id of the ledger.
        :param logger_context: names and values, such as a tenant, to add to log lines about this ledger; None for none.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is not an integer, or is negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """
        return self._run(f"delete ledger {ledger_id}", self._delete(ledger_id, logger_context))

    async def _delete(self, ledger_id: int, logger_context: Mapping[str, str] | None) -> None:
        context = checked_context(logger_context)
        await self._ledgers.remove(check_ledger_id(ledger_id))
        logger_in(self._log, context).debug("ledger {ledger_id} is deleted", ledger_id=ledger_id)

    def list_ledgers(self) -> AsyncGenerator[int, None]:
        """Iterate over the ids of all ledgers in ascending order; raise an error if some ids cannot be listed.

        :raises bookkeeper_twisted.errors.MetadataError: raised by the iteration: the metadata store does not answer.
        """
        self._check_open()
        return self._listed()

    async def _listed(self) -> AsyncGenerator[int, None]:
        """Yield ledger ids; let the reactor run after some hundred ids, so that a long list does not block it."""
        count = 0
        async for ledger_id in self._ledgers.ledger_ids():
            count += 1
            if not count % _LISTED_A_TURN:
                await deferLater(self._clock, 0)
            yield ledger_id

    def ledger_metadata(self, ledger_id: int) -> "Deferred[LedgerMetadata]":
        """Return the stored metadata of a ledger.

        :param ledger_id: id of the ledger.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: the id is not an integer, or is negative.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """
        return self._run(f"read the metadata of ledger {ledger_id}", self._metadata_of(ledger_id))

    async def _metadata_of(self, ledger_id: int) -> LedgerMetadata:
        return (await self._ledgers.read(check_ledger_id(ledger_id))).value

    # ---- life ----------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ClientClosedError(f"the client is closed: {_CLOSED}")

    def _run(self, asked: str, work: Coroutine[Deferred[Any], Any, T]) -> "Deferred[T]":
        if self._closing is not None:
            work.close()
            return fail(ClientClosedError(f"the client is closed: {_CLOSED}"))
        return Deferred.fromCoroutine(_named(asked, work))

    def close(self) -> "Deferred[None]":
        """Close all connections; if this is called again, return the same result.

        Open ledgers are not closed; close their writers first.
        """
        if self._closing is None:
            self._closing = SharedResult()
            self._closing.run(self._close())
        return self._closing.wait()

    async def _close(self) -> None:
        self._watcher.stop()
        self._context.notices.stop()
        try:
            await self._bookie_client.close()
        finally:
            if self._context.records is not None:
                self._context.records.flush()
            await self.metadata.close()

    async def __aenter__(self) -> "BookKeeper":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client; if the body of the ``with`` statement failed, raise its error and not that of the close."""
        try:
            await self.close()
        except Exception:
            if error is None:
                raise

    def __repr__(self) -> str:
        if self._closing is not None:
            return f"<BookKeeper closed: {_CLOSED}>"
        return f"<BookKeeper open, {len(self._watcher.writable)} writable bookies>"


async def _named(asked: str, work: Coroutine[Deferred[Any], Any, T]) -> T:
    """Await ``work``; if the metadata store is unavailable, put ``asked`` before the text of the error.

    :param asked: a description of the work.
    """
    try:
        return await work
    except MetadataUnavailableError as error:
        raise type(error)(f"{asked}: {error}") from error


async def open_reader(
    context: ClientContext, ledger_id: int, password: bytes | None, recover: bool,
    rules: Callable[[LedgerMetadata], RecoveryRules] = RecoveryRules,
    logger_context: Mapping[str, str] | None = None,
) -> LedgerReader:  # fmt: skip
    """Open a stored ledger as a reader; the arguments are those of :meth:`BookKeeper.open_ledger`.

    :param rules: a function that makes the decision rules of a recovery from the metadata of the ledger.
    """
    check_type("recover", recover, bool, "True or False")
    fields = checked_context(logger_context)
    stored = await context.ledgers.read(check_ledger_id(ledger_id))
    digest_type, password = stored.value.digest_type, _checked_password(ledger_id, stored.value, password)
    digester = Digester(digest_type, password)
    if recover and not stored.value.closed:
        stored = await LedgerRecovery(context, ledger_id, digester, rules, fields).run(stored)
    if is_encrypted(stored.value):
        cipher = None if context.encryption is None else await context.encryption.cipher_of(ledger_id, stored.value)
        digester = DecryptingDigester(digest_type, password, ledger_id, cipher)
    reader = LedgerReader(context, ledger_id, stored, digester)
    if not reader.is_closed:
        try:
            await reader.read_last_add_confirmed()
        except Exception:
            await reader.close()
            raise
        reader._follow()
    return reader


def _checked_password(ledger_id: int, metadata: LedgerMetadata, password: bytes | None) -> bytes:
    if password is None:
        password = metadata.password
    check_password(password)
    if metadata.has_password and metadata.password != password:
        raise UnauthorizedAccessError(ledger_id, detail="wrong password")
    return password
