"""The way in: connect to a cluster; create, open, list and delete ledgers."""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from ..codec.digest import Digester
from ..config.bookie import ClientConfig
from ..errors import (
    ClientClosedError,
    IncorrectParameterError,
    NoSuchLedgerMetadataError,
    UnauthorizedAccessError,
)
from ..ledger.placement import Chance
from ..ledger.recovery_rules import RecoveryRules
from ..metadata.drivers import create_driver, options_of
from ..metadata.interfaces import ILedgerManager, IMetadataDriver, IRegistration, Versioned
from ..model import DigestType, LedgerMetadata, WriteFlag, check_whole_number, digest_type_of
from ..placement.bookie_watcher import BookieWatcher
from ..placement.factories import create_placement
from ..placement.free_space import FreeSpace
from ..placement.interfaces import IPlacementPolicy
from ..placement.quarantine import Quarantine
from ..placement.racks import BookieRacks
from ..placement.random_placement import RandomPlacement
from ..protocol.authentication import authentication_provider
from ..shared_result import SharedResult
from .connections.bookie_client import BookieAddresses, NetworkBookieClient
from .connections.metrics import ClientMetrics
from .context import ClientContext
from .interfaces import IBookieClient
from .production import local_host_name, rack_resolver, system_chance, tcp_endpoints
from .reading.read_handle import LedgerReader
from .recovery.ledger_recovery import LedgerRecovery
from .writing.adv_write_handle import AdvLedgerWriter
from .writing.context import OpenLedger
from .writing.ledger_creation import NewLedger, choose_ensemble, store_ledger
from .writing.threads import Threads, system_threads
from .writing.write_handle import LedgerWriter

T = TypeVar("T")

_TOKEN_BITS = 63
_LISTED_A_TURN = 500  # ids, which take a millisecond or a few


class BookKeeper:
    """A client of one cluster.

    :meth:`connect` is the usual way to get one; the constructor takes the parts.  What the parts are
    good for ends with :meth:`close`, which closes them.  Every call after that fails with
    ClientClosedError, and so do the adds and reads that are under way.

    :ivar metadata: the open driver.
    """

    _recovery_rules = RecoveryRules

    def __init__(
        self, clock: IReactorTime, driver: IMetadataDriver, bookie_client: IBookieClient, chance: Chance,
        config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        quarantine: Quarantine | None = None, threads: Threads | None = None,
    ) -> None:  # fmt: skip
        """:param driver: open.
        :param quarantine: counts the answers that ``bookie_client`` gets.
        :param threads: the operating system's if left out.
        """
        self._clock = clock
        self.metadata = driver
        self._ledgers = cast(ILedgerManager, driver.ledgers)
        self._bookie_client = bookie_client
        self._chance = chance
        self._config = config or ClientConfig()
        registration = cast(IRegistration, driver.registration)
        weighted = self._config.disk_weight_based_placement_enabled
        free_space = FreeSpace(clock, bookie_client.bookie_info, self._config) if weighted else None
        self._watcher = BookieWatcher(registration, placement or RandomPlacement(chance), quarantine, free_space)
        self._context = ClientContext(
            clock, bookie_client, self._ledgers, self._watcher, chance, self._config,
            threads=threads or system_threads(clock),
        )  # fmt: skip
        self._closing: SharedResult[None] | None = None

    @classmethod
    def connect(
        cls, reactor: Any, uri: str, config: ClientConfig | None = None, placement: IPlacementPolicy | None = None,
        metrics: ClientMetrics | None = None,
    ) -> "Deferred[BookKeeper]":  # fmt: skip
        """A client of the cluster that a metadata service URI names, over TCP.

        :param placement: instead of the policy that the configuration names.
        :param metrics: where this client counts, and no other, if that is to be exported.
        :raises bookkeeper_twisted.errors.MetadataError: the metadata store cannot be reached.
        :raises bookkeeper_twisted.errors.ConfigError: no plugin knows the placement policy.
        """
        return Deferred.fromCoroutine(cls._connect(reactor, uri, config or ClientConfig(), placement, metrics))

    @classmethod
    async def _connect(
        cls, reactor: Any, uri: str, config: ClientConfig, placement: IPlacementPolicy | None,
        metrics: ClientMetrics | None,
    ) -> "BookKeeper":  # fmt: skip
        driver = create_driver(reactor, uri, options_of(config))
        await driver.open()
        try:
            return cls._assemble(reactor, driver, config, placement, metrics)
        except BaseException:
            await driver.close()
            raise

    @classmethod
    def _assemble(
        cls, reactor: Any, driver: IMetadataDriver, config: ClientConfig, placement: IPlacementPolicy | None,
        metrics: ClientMetrics | None,
    ) -> "BookKeeper":  # fmt: skip
        chance = system_chance()
        addresses = BookieAddresses(cast(IRegistration, driver.registration), tcp_endpoints(reactor, config))
        resolver = rack_resolver(reactor, config, driver)
        racks = BookieRacks(reactor, resolver, addresses.host_of, local_host_name(config))
        placement = placement or create_placement(chance, config, racks)
        quarantine = Quarantine(reactor, chance, config) if config.bookie_health_check_enabled else None
        answered = None if quarantine is None else quarantine.answered
        authentication = authentication_provider(
            config.client_auth_provider_factory_class, "clientAuthProviderFactoryClass",
            config.origin("client_auth_provider_factory_class"), config.allow_insecure_connections,
        )  # fmt: skip
        client = NetworkBookieClient(reactor, addresses.resolve, config, answered, metrics, authentication)
        return cls(reactor, driver, client, chance, config, placement, quarantine)

    @property
    def context(self) -> ClientContext:
        """The collaborators of this client's operations, for repair of ledgers and the like."""
        return self._context

    # ---- ledgers -------------------------------------------------------------------------------------

    def create_ledger(
        self, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2, password: bytes = b"",
        digest_type: DigestType | str = DigestType.CRC32C, custom_metadata: Mapping[str, bytes] | None = None,
        write_flags: WriteFlag = WriteFlag.NONE,
    ) -> "Deferred[LedgerWriter]":  # fmt: skip
        """Make a new, empty ledger, and return its only writer.

        :param ensemble_size: how many bookies share the entries.
        :param write_quorum: how many of them get each entry.
        :param ack_quorum: how many must have an entry on disk before its append succeeds.
        :param password: readers need it; bookies get a key that is made of it.
        :param digest_type: how entries are protected; the name of a type will do.
        :param custom_metadata: kept in the ledger's metadata, unchanged.
        :param write_flags: with DEFERRED_SYNC appends succeed before entries are on disk; the last add confirmed moves
            with ``force`` only, and a bookie that fails ends the writer.
        :raises bookkeeper_twisted.errors.IncorrectParameterError: not E >= Wq >= Aq >= 1.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: fewer bookies are writable.
        """
        created = self._create(
            None, ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata or {}, write_flags
        )
        return self._run(created).addCallback(LedgerWriter)

    def create_ledger_adv(
        self, ledger_id: int | None = None, ensemble_size: int = 3, write_quorum: int = 2, ack_quorum: int = 2,
        password: bytes = b"", digest_type: DigestType | str = DigestType.CRC32C,
        custom_metadata: Mapping[str, bytes] | None = None, write_flags: WriteFlag = WriteFlag.NONE,
    ) -> "Deferred[AdvLedgerWriter]":  # fmt: skip
        """Make a new, empty ledger whose entries are numbered by the caller, and return its only writer.

        The other arguments and errors are as of :meth:`create_ledger`.

        :param ledger_id: None for one that was never given out.
        :raises bookkeeper_twisted.errors.LedgerExistsError: the id is taken.
        """
        created = self._create(
            ledger_id, ensemble_size, write_quorum, ack_quorum, password, digest_type, custom_metadata or {},
            write_flags,
        )  # fmt: skip
        return self._run(created).addCallback(AdvLedgerWriter)

    async def _create(
        self, ledger_id: int | None, ensemble_size: int, write_quorum: int, ack_quorum: int, password: bytes,
        digest_type: DigestType | str, custom_metadata: Mapping[str, bytes], write_flags: WriteFlag,
    ) -> OpenLedger:  # fmt: skip
        _check_password(password)
        _check_custom_metadata(custom_metadata)
        wanted = NewLedger(
            ledger_id=ledger_id, ensemble_size=ensemble_size, write_quorum=write_quorum, ack_quorum=ack_quorum,
            password=password, digest_type=digest_type_of(digest_type), custom_metadata=dict(custom_metadata),
            write_flags=write_flags,
        )  # fmt: skip
        ensemble = await choose_ensemble(wanted, self._watcher, self._config.opportunistic_striping)
        metadata = wanted.metadata(ensemble, self._chance.getrandbits(_TOKEN_BITS))
        ledger_id, stored = await store_ledger(wanted, self._ledgers, metadata)
        return OpenLedger(
            context=self._context, digester=Digester(wanted.digest_type, wanted.password), ledger_id=ledger_id,
            metadata=stored, write_flags=write_flags,
        )  # fmt: skip

    def open_ledger(
        self, ledger_id: int, password: bytes | None = b"", recover: bool = True
    ) -> "Deferred[LedgerReader]":  # fmt: skip
        """A reader of a ledger.

        A closed ledger is read to its end.  One that is not closed is recovered first: its writer, should
        it be alive, is stopped, and the ledger is closed after the last entry that can have been
        acknowledged.  With ``recover=False`` it is left alone; the reader begins with what its bookies
        know to be confirmed, and follows it from there (:meth:`LedgerReader.tail`).

        :param password: None takes it from the metadata, as the tools of administrators do.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: it does not exist.
        :raises bookkeeper_twisted.errors.UnauthorizedAccessError: wrong password.
        :raises bookkeeper_twisted.errors.RequestTimeoutError: too few bookies answered in time.
        :raises bookkeeper_twisted.errors.LedgerRecoveryError: the recovery failed; any client may try again.
        :raises bookkeeper_twisted.errors.ReadError: without recovery, too few bookies answered.
        """
        return self._run(open_reader(self._context, ledger_id, password, recover, self._recovery_rules))

    def delete_ledger(self, ledger_id: int) -> "Deferred[None]":
        """Remove a ledger.  Its bookies free the space when they next collect garbage.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: it does not exist.
        """
        return self._run(self._delete(ledger_id))

    async def _delete(self, ledger_id: int) -> None:
        check_whole_number(ledger_id, "a ledger id")
        if ledger_id < 0:
            raise IncorrectParameterError(f"ledger ids begin at 0, not {ledger_id}")
        await self._ledgers.remove(ledger_id)

    async def list_ledgers(self) -> AsyncIterator[int]:
        """The ids of all ledgers in ascending order, complete or an error.

        The reactor gets a turn after every few hundred, also where the metadata store answers at once.
        """
        self._check_open()
        count = 0
        async for ledger_id in self._ledgers.ledger_ids():
            count += 1
            if not count % _LISTED_A_TURN:
                await deferLater(self._clock, 0)
            yield ledger_id

    async def ledger_metadata(self, ledger_id: int) -> Versioned[LedgerMetadata]:
        """Return the stored metadata of a ledger.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: it does not exist.
        """
        self._check_open()
        return await self._ledgers.read(ledger_id)

    # ---- life ----------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ClientClosedError("the client was closed")

    def _run(self, work: Coroutine[Deferred[Any], Any, T]) -> "Deferred[T]":
        if self._closing is not None:
            work.close()
            return fail(ClientClosedError("the client was closed"))
        return Deferred.fromCoroutine(work)

    def close(self) -> "Deferred[None]":
        """Closes all connections.  Ledgers are not closed: that is for their writers."""
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
            await self.metadata.close()

    async def __aenter__(self) -> "BookKeeper":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self._closing is None else "closed"
        return f"<BookKeeper {state}, {len(self._watcher.writable)} writable bookies>"


def _check_custom_metadata(custom_metadata: object) -> None:
    """:raises IncorrectParameterError: it does not map text to bytes."""
    if not isinstance(custom_metadata, Mapping):
        raise IncorrectParameterError(f"custom metadata map text to bytes, not a {type(custom_metadata).__name__}")
    for key, value in custom_metadata.items():
        if not (isinstance(key, str) and isinstance(value, bytes)):
            raise IncorrectParameterError(f"custom metadata map text to bytes: {key!r} has {type(value).__name__}")


async def open_reader(
    context: ClientContext, ledger_id: int, password: bytes | None, recover: bool,
    rules: Callable[[LedgerMetadata], RecoveryRules] = RecoveryRules,
) -> LedgerReader:  # fmt: skip
    """Open a stored ledger as a reader; the arguments are as of :meth:`BookKeeper.open_ledger`.

    :param rules: makes the rules of a recovery.
    """
    check_whole_number(ledger_id, "a ledger id")
    if ledger_id < 0:
        raise NoSuchLedgerMetadataError(f"ledger ids begin at 0, not {ledger_id}")
    stored = await context.ledgers.read(ledger_id)
    digester = _digester(ledger_id, stored.value, password)
    if recover and not stored.value.closed:
        stored = await LedgerRecovery(context, ledger_id, digester, rules).run(stored)
    reader = LedgerReader(context, ledger_id, stored, digester)
    if not reader.is_closed:
        try:
            await reader.read_last_add_confirmed()
        except Exception:
            await reader.close()
            raise
        reader._follow()
    return reader


def _check_password(password: bytes) -> None:
    """Check that a password is bytes.

    :raises bookkeeper_twisted.errors.IncorrectParameterError: it is text, or something else that is no bytes.
    """
    if not isinstance(password, bytes):
        raise IncorrectParameterError(f"a password is bytes, not {type(password).__name__}")


def _digester(ledger_id: int, metadata: LedgerMetadata, password: bytes | None) -> Digester:
    if password is not None:
        _check_password(password)
    if password is None:
        password = metadata.password
    elif metadata.has_password and metadata.password != password:
        raise UnauthorizedAccessError(ledger_id, detail="wrong password")
    return Digester(metadata.digest_type, password)
