"""The interfaces of metadata drivers.

All methods are called on the reactor thread.  Methods that wait for the metadata store are coroutines.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, MutableSequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
from twisted.python.failure import Failure
from zope.interface import Attribute, Interface

from ..masking import masked
from ..model import AuditorCheck, BookieServiceInfo, LedgerMetadata, UnderreplicatedLedger

if TYPE_CHECKING:
    from ..security.contexts import TlsSettings

T = TypeVar("T")

Shuffle = Callable[[MutableSequence[Any]], None]
"""A function that changes the order of the items of a list, in place."""

ANY_VERSION = -1
"""The version argument with which a removal succeeds whatever the stored version is."""

MOST_STRAYS = 100
"""Maximum number of things among the underreplicated marks that are none, and that are logged and named."""


@attrs.frozen
class Versioned(Generic[T]):
    """A stored value with its version, which a conditional write of the value must name."""

    value: T
    version: int


@attrs.frozen
class MetadataOptions:
    """The options of a driver besides its URI.

    :ivar session_timeout: seconds without contact after which the store ends the session of a driver (``zkTimeout``).
    :ivar stale_wait: maximum number of seconds that a restarted bookie waits until the store removes the registration
        of its earlier session; None for ``session_timeout``.
    :ivar secure: whether to set access rights on new nodes, so that only the identity in ``auth`` may read and change
        them (``zkEnableSecurity``).
    :ivar auth: the identity of this process, as credentials of the form ``scheme:credential``.
    :ivar max_retries: maximum number of repetitions of a call whose reply was lost (``zkRetryBackoffMaxRetries``).
    :ivar retry_start: seconds before the first repetition of such a call; the wait doubles with each further
        repetition.
    :ivar retry_max: maximum number of seconds between two repetitions.
    :ivar create: whether to create an embedded store (``memory:`` or ``sqlite:``) that does not exist.  A new store
        without data is removed when it is closed.
    :ivar tls: the TLS settings of connections to the store; None for unencrypted connections (``zkClientSecure``).
    :ivar operation_timeout: seconds after which a call ends with an error (``metadataOperationTimeoutSec``).
    """

    session_timeout: float = 10.0
    stale_wait: float | None = None
    secure: bool = False
    auth: tuple[str, ...] = attrs.field(default=(), repr=masked)
    max_retries: int = 6
    retry_start: float = 0.2
    retry_max: float = 10.0
    create: bool = False
    tls: "TlsSettings | None" = None
    operation_timeout: float = 30.0


DEFAULT_OPTIONS = MetadataOptions()


class IRegistration(Interface):
    """The part of a metadata driver for the registrations of running bookies, and for the cookies of all bookies."""

    async def instance_id() -> str:
        """Return the instance id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """

    async def register_bookie(bookie_id: str, read_only: bool, info: BookieServiceInfo) -> None:
        """Register a bookie as writable or as read-only, until the driver is closed or its process dies.

        If this driver has registered the bookie before in the same mode, replace ``info``.  If it has registered the
        bookie in the other mode, make the new registration first, then remove the old one.

        :param read_only: True to register the bookie as read-only, False as writable.
        :param info: the endpoints at which clients reach the bookie.
        :raises bookkeeper_twisted.errors.BookieRegisteredError: another live session has registered the id.
        """

    async def unregister_bookie(bookie_id: str) -> None:
        """Remove the registration of a bookie, writable or read-only; do nothing if the bookie is not registered.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; the bookie may still be registered.
        """

    def on_registration_lost(listener: Callable[[Failure], None]) -> None:
        """Call the listener if this driver cannot register a bookie again after a lost session.

        If the session ends while the driver is open, a new session begins.  The driver then registers its bookies
        again, as writable or read-only as before.  This fails if another process has registered the same bookie id
        meanwhile.

        :param listener: called with the reason, once for each bookie that could not be registered again.
        """

    async def writable_bookies() -> frozenset[str]:
        """Return the ids of the bookies registered as writable, including all changes made before this call."""

    async def read_only_bookies() -> frozenset[str]:
        """Return the ids of the bookies registered as read-only, including all changes made before this call."""

    async def all_bookies() -> frozenset[str]:
        """Return the ids of all bookies that have a cookie, whether they run or not."""

    async def service_info(bookie_id: str) -> BookieServiceInfo:
        """Return the service info that the bookie ``bookie_id`` published with its registration.

        :raises bookkeeper_twisted.errors.MetadataError: the bookie is not registered.
        """

    def watch_bookies(listener: Callable[[frozenset[str], frozenset[str]], None]) -> Callable[[], None]:
        """Call ``listener(writable, read_only)`` with two sets of bookie ids: now, and again after each change.

        :returns: a function that ends the watch.
        """

    async def read_cookie(bookie_id: str) -> Versioned[bytes]:
        """Return the encoded cookie of the bookie ``bookie_id``.

        :raises bookkeeper_twisted.errors.CookieNotFoundError: no cookie is stored for the bookie.
        """

    async def write_cookie(bookie_id: str, cookie: bytes, version: int | None) -> int:
        """Create (``version`` None) or replace the cookie of a bookie.

        :returns: the new version.
        :raises bookkeeper_twisted.errors.CookieExistsError: the cookie to be created exists.
        :raises bookkeeper_twisted.errors.CookieNotFoundError: the cookie to be replaced does not exist.
        :raises bookkeeper_twisted.errors.MetadataVersionError: another process has written the cookie since it was
            read.
        """

    async def remove_cookie(bookie_id: str, version: int) -> None:
        """Remove the cookie of the bookie ``bookie_id``.

        :param version: the version with which the cookie was read.
        :raises bookkeeper_twisted.errors.CookieNotFoundError: no cookie is stored for the bookie.
        :raises bookkeeper_twisted.errors.MetadataVersionError: another process has written the cookie since it was
            read.
        """


class ILedgerManager(Interface):
    """The part of a metadata driver that generates ledger ids, and stores and lists the metadata of ledgers."""

    async def generate_id() -> int:
        """Return a new ledger id, 0 or more, which this method has never returned to any client before."""

    async def create(ledger_id: int, metadata: LedgerMetadata) -> Versioned[LedgerMetadata]:
        """Store the metadata of a new ledger.

        If the ledger exists and its metadata have the same ``c_token`` (a random number that the creator chose), an
        earlier attempt of the creator succeeded: return the stored metadata.

        :raises bookkeeper_twisted.errors.LedgerExistsError: another client has created a ledger with this id.
        """

    async def read(ledger_id: int) -> Versioned[LedgerMetadata]:
        """Return the metadata of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    async def write(ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        """Replace the metadata of a ledger if they still have the version ``version`` (compare-and-set).

        :param version: the version of the metadata that the caller has read.
        :returns: the metadata with its new version.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored value has another version.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    async def remove(ledger_id: int, version: int = ANY_VERSION) -> None:
        """Remove the metadata of a ledger; bookies free the space of its entries later.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored value has another version.
        """

    async def sync() -> None:
        """Wait until later reads of this driver see all writes that any client completed before this call."""

    def ledger_ids(first: int = 0, last: int | None = None) -> AsyncIterator[int]:
        """Yield the ids of all ledgers in ascending order; if they cannot all be read, raise an error.

        :param first: the lowest id to list.
        :param last: the highest id to list; None for no limit.
        :raises bookkeeper_twisted.errors.MetadataError: the store failed during the iteration.
        """

    def watch(ledger_id: int, listener: Callable[[Versioned[LedgerMetadata] | None], None]) -> Callable[[], None]:
        """Call the listener with the metadata of a ledger: first the present metadata, then after each change.

        After the deletion of the ledger, the listener gets None.

        :returns: a function that ends the watch.
        """


class IUnderreplication(Interface):
    """The underreplicated marks of ledgers, and the locks under which replicas are written or removed.

    A replication lock belongs to the session of the driver that took the lock, and ends with this session.
    """

    strays: Collection[str] = Attribute(
        "What the newest listing found among the marks and left out, as it is no mark; the first :data:`MOST_STRAYS`."
    )

    async def mark(ledger_id: int, replicas: Collection[str] = (), ctime: int | None = None) -> None:
        """Write the underreplicated mark of a ledger, or add bookies to it; each call changes its version.

        Because of the new version, a replication worker that read the underreplicated mark before this call cannot
        remove it: the worker may have checked the ledger before this loss of replicas.  A mark whose bytes cannot be
        decoded keeps them, and names no bookies as before, so that a worker checks them all.

        :param replicas: ids of the bookies that lack entries; empty if these bookies are not known.
        :param ctime: the present time in ms since the epoch, stored with the underreplicated mark unless it has a time:
            bookies that are added to a mark do not change since when the ledger lacks replicas.
        """

    async def read_mark(ledger_id: int) -> Versioned[UnderreplicatedLedger]:
        """Return the underreplicated mark of the ledger ``ledger_id``.

        A mark whose bytes cannot be decoded has the reason, and names no bookies.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        """

    async def replace_mark(
        ledger_id: int, mark: UnderreplicatedLedger, version: int
    ) -> Versioned[UnderreplicatedLedger]:
        """Replace an underreplicated mark if it still has the version ``version`` (compare-and-set).

        :param version: the version of the underreplicated mark that the caller has read.
        :returns: the underreplicated mark with its new version.
        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored value has another version.
        """

    async def remove_mark(ledger_id: int, version: int) -> None:
        """Remove the underreplicated mark of a repaired ledger if it still has the version ``version``.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the ledger was marked again since its mark was read.
        """

    def marked_ledgers(shuffle: Shuffle | None = None) -> AsyncIterator[int]:
        """Yield the ids of all ledgers with an underreplicated mark; raise an error if not all ids can be read.

        What is no mark is left out and logged once; :attr:`strays` has it.

        :param shuffle: a function that changes the order of each list of ids that is read, so that several workers
            begin with different ledgers; None for ascending order.
        """

    def watch_marks(listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` soon, and again whenever underreplicated marks or replication locks may have changed.

        One call may report several changes, or none.

        :returns: a function that ends the watch.
        """

    async def lock(ledger_id: int, holder: str) -> None:
        """Take the replication lock of a ledger, even if the ledger is not marked as underreplicated.

        :param holder: host name of the replication worker, for people to read.
        :raises bookkeeper_twisted.errors.LedgerLockedError: this driver or another driver holds the lock.
        """

    async def unlock(ledger_id: int) -> None:
        """Release this driver's replication lock of a ledger; do nothing if the driver does not hold the lock.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; the session may still hold the lock.
        """

    async def describe_lock(ledger_id: int, text: str) -> None:
        """Replace the text of a ledger's replication lock; do nothing if this driver does not hold the lock.

        :param text: who holds the lock, and why the ledger is not replicated yet; line breaks become spaces, and a text
            longer than 500 characters is cut.
        """

    def watch_lost_locks(listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener whenever the store has ended the driver's session and released all its locks.

        The listener is called before the driver makes a request in a new session.  So it can cancel work that needs a
        lost lock before this work writes to the store again.

        :returns: a function that ends the watch.
        """

    async def locked_ledgers() -> dict[int, str]:
        """Return the text stored with each replication lock, by ledger id in ascending order."""

    async def is_enabled() -> bool:
        """Test whether autorecovery is switched on in the cluster."""

    async def set_enabled(enabled: bool) -> bool:
        """Switch autorecovery on or off for the whole cluster.

        :param enabled: True to switch it on.
        :returns: whether the state has changed; False if autorecovery was already on or off as requested.
        """

    def watch_enabled(listener: Callable[[bool], None]) -> Callable[[], None]:
        """Call the listener at once and after each change: with True if autorecovery is on, else with False.

        :returns: a function that ends the watch.
        """


class IAuditing(Interface):
    """The election of the auditor, and the settings and times that auditors store.

    These are the delay from the loss of a bookie to the audit of its ledgers, and the time at which each periodic check
    last ended.
    """

    def stand(candidate: str, listener: Callable[[bool], None]) -> None:
        """Take part in the election of the auditor until :meth:`withdraw`.

        The listener is called with True when the candidate becomes the auditor.  It is called with False when the
        candidate must stop acting as the auditor: its vote was removed, its session has ended or may have ended, or the
        driver was closed.  Unless it was closed, the driver votes again; if the store fails, it retries.

        :param candidate: the bookie id under which other processes see the auditor.
        :raises bookkeeper_twisted.errors.MetadataError: the driver is not open, or has a candidate already.
        """

    async def withdraw() -> None:
        """Withdraw this driver's candidate, even if it is the auditor; do nothing if the driver has no candidate.

        After this call, the listener is never called again.
        """

    async def auditor() -> str | None:
        """Return the bookie id of the elected auditor; None if no auditor is elected."""

    async def lost_bookie_delay() -> int | None:
        """Return the stored delay, in seconds, from the loss of a bookie to the audit; None if none was ever set."""

    async def set_lost_bookie_delay(seconds: int) -> None:
        """Set the delay from the loss of a bookie to the audit.

        Setting 0, or the value that is stored already, makes the auditor audit the ledgers immediately.

        :param seconds: the delay in seconds, 0 or more.
        """

    def watch_lost_bookie_delay(listener: Callable[[int | None], None]) -> Callable[[], None]:
        """Call the listener with the present delay, and after each write of the delay, even of an equal value.

        Several quick writes may cause only one call, with the last value.

        :returns: a function that ends the watch.
        """

    async def check_time(check: AuditorCheck) -> int | None:
        """Return the time at which a periodic check last ended.

        :returns: ms since the epoch; None if no time is stored.
        """

    async def set_check_time(check: AuditorCheck, ms: int | None) -> None:
        """Store the time at which a periodic check last ended.

        :param ms: the time in ms since the epoch; None removes the stored time.
        """


class IMetadataDriver(Interface):
    """A metadata driver: the connection of one process to one metadata store."""

    uri: str = Attribute("The metadata service URI it was made from.")
    registration: IRegistration = Attribute("Registered bookies, and their cookies.")
    ledgers: ILedgerManager = Attribute("Ids and metadata of ledgers.")
    underreplication: IUnderreplication = Attribute("Marks of ledgers that lack replicas, and replication locks.")
    auditing: IAuditing = Attribute("The office of the auditor.")

    async def open() -> None:
        """Connect to the store.  The first driver that opens a ``memory:`` or ``sqlite:`` store initializes it.

        :raises bookkeeper_twisted.errors.MetadataError: the store cannot be reached, or has data of another program.
        """

    async def close() -> None:
        """End the session, and remove its registrations and locks; do nothing if the driver is already closed."""


class IStoreConnection(Interface):
    """A metadata driver that knows whether it is connected to its store."""

    def outage() -> str:
        """Return why calls have to wait, such as a lost connection; empty if the driver knows of no reason."""

    def unsettled() -> float:
        """Return for how many more seconds running bookies may not be registered, because the store was out of reach.

        If an outage of the store ends all sessions, it ends all registrations, and each bookie registers again in its
        next session.  The driver cannot know whether the other sessions have ended, nor whether there was an outage
        before it connected for the first time.  So it gives bookies one session timeout from each connection on.

        :returns: 0 if the driver has been connected for the whole session timeout; the session timeout if it is not
            connected.
        """


class IRackStore(Interface):
    """A metadata driver that can also read the racks of bookies from its store, as Pulsar's tools write them."""

    def watch_racks(listener: Callable[[Mapping[str, str]], None]) -> Callable[[], None]:
        """Call the listener with the racks, by bookie id: first the present racks, then after each change.

        If the racks cannot be decoded, the error is logged, and the listener is not called.  Only if this happens at
        the first read, the listener is called with an empty mapping.

        :returns: a function that ends the watch.
        """


class IClusterAdmin(Interface):
    """An administrator: it makes, formats or removes the cluster that a URI names, which need not exist yet.

    No method asks the user for confirmation; the caller must do so first.  All errors are MetadataError.
    """

    uri: str = Attribute("The metadata service URI it was made from.")

    async def open() -> None:
        """Connect to the store.  The first driver or administrator that opens an embedded store initializes it."""

    async def close() -> None:
        """Disconnect from the store; do nothing if the administrator is disconnected already."""

    async def exists() -> bool:
        """Test whether the location that the URI names contains any data, of a cluster or of another program."""

    async def instance_id() -> str:
        """Return the instance id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """

    async def initialize() -> bool:
        """Make a new cluster (``initnewcluster``).

        :returns: True if the cluster was made.  If the location that the URI names is not empty, change nothing and
            return False.
        """

    async def format() -> None:
        """Remove ledgers, cookies and underreplicated marks, and make a new instance id (``metaformat``).

        If the cluster does not exist, create it.  Registrations are not removed, and running bookies are no error.
        """

    async def nuke(instance_id: str | None) -> None:
        """Remove the whole cluster (``nukeexistingcluster``).

        :param instance_id: the instance id that the cluster must have; None for any.
        :raises bookkeeper_twisted.errors.MetadataError: the cluster has another instance id, bookies are registered, or
            the location holds data that belong to no cluster.  Nothing was removed.
        """


class IMetadataDriverFactory(Interface):
    """A Twisted plugin that makes metadata drivers for the URIs of some schemes."""

    schemes: frozenset[str] = Attribute("Lower-case schemes, the part before ``:`` and before any ``+``.")

    def create(reactor: object, uri: str, options: MetadataOptions) -> IMetadataDriver:
        """Make a driver for a URI, without connecting it.

        :param reactor: used by the driver for timers, sockets and threads.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: the URI is invalid after its scheme.
        """

    def create_admin(reactor: object, uri: str, options: MetadataOptions) -> IClusterAdmin:
        """Make an administrator for the cluster of a URI, without connecting it.

        :param reactor: used by the administrator for timers, sockets and threads.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: the URI is invalid after its scheme.
        """
