"""The interfaces of metadata drivers.

Their methods are called on the reactor thread.  The methods that use the store are coroutines.
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
"""The version to pass to a removal that must succeed whatever version is stored."""


@attrs.frozen
class Versioned(Generic[T]):
    """A stored value with its version, which a conditional write of the value must name."""

    value: T
    version: int


@attrs.frozen
class MetadataOptions:
    """The options of a driver besides its URI.

    :ivar session_timeout: seconds without contact after which the store ends the session of a driver (``zkTimeout``).
    :ivar stale_wait: seconds to wait until the store removes a registration that an earlier session of the bookie has
        left; None for ``session_timeout``.
    :ivar secure: whether only the identity that wrote data may read and change them (``zkEnableSecurity``).
    :ivar auth: the identity of this process, as a credential of the form ``scheme:credential``.
    :ivar max_retries: maximum number of repetitions of a call whose answer was lost (``zkRetryBackoffMaxRetries``).
    :ivar retry_start: seconds before the first repetition; each further repetition doubles the wait.
    :ivar retry_max: maximum number of seconds before a repetition.
    :ivar create: whether to make an embedded store that does not exist, as bookies do.  If such a store stays unused,
        it is removed when it is closed.
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
    """The registrations of bookies that are up, and the cookies of all bookies; every metadata driver has one."""

    async def instance_id() -> str:
        """Return the instance id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """

    async def register_bookie(bookie_id: str, read_only: bool, info: BookieServiceInfo) -> None:
        """Register a bookie until the driver is closed or its process dies.

        If the same driver registers the bookie again in the other mode, the new registration is made before the old one
        is removed.  If the driver registers the bookie again in the same mode, the info is replaced.

        :param read_only: True to register the bookie as read-only, False as writable.
        :param info: the endpoints at which clients reach the bookie.
        :raises bookkeeper_twisted.errors.BookieRegisteredError: another live session has registered the id.
        """

    async def unregister_bookie(bookie_id: str) -> None:
        """Remove the bookie's registration, writable or read-only; harmless if it has none.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; the bookie may still be registered.
        """

    def on_registration_lost(listener: Callable[[Failure], None]) -> None:
        """Call the listener when a bookie of this driver has lost its registration and cannot get it back.

        If a session ends while the driver is open, another session begins, in which the driver registers its bookies
        again in their last mode.  The listener is called if this cannot be done, because another bookie has registered
        the id meanwhile.

        :param listener: called once with the reason.
        """

    async def writable_bookies() -> frozenset[str]:
        """Return the ids of the bookies registered as writable, in a state no older than this call."""

    async def read_only_bookies() -> frozenset[str]:
        """Return the ids of the bookies registered as read-only, in a state no older than this call."""

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
        :raises bookkeeper_twisted.errors.MetadataVersionError: another process has written the cookie since.
        """


class ILedgerManager(Interface):
    """The ledger ids and the ledger metadata of a cluster; every metadata driver has one ledger manager."""

    async def generate_id() -> int:
        """Return a ledger id, >= 0, that no client has ever got before."""

    async def create(ledger_id: int, metadata: LedgerMetadata) -> Versioned[LedgerMetadata]:
        """Store the metadata of a new ledger; a repetition with the same ``c_token`` succeeds, and changes nothing.

        :raises bookkeeper_twisted.errors.LedgerExistsError: another client has created a ledger with this id.
        """

    async def read(ledger_id: int) -> Versioned[LedgerMetadata]:
        """Return the metadata of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    async def write(ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        """Replace the metadata of a ledger if it has not changed since it was read (compare-and-set).

        :param version: the version that was read.
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
        """Wait until this driver's reads are certain to see all writes that any client made before this call."""

    def ledger_ids(first: int = 0, last: int | None = None) -> AsyncIterator[int]:
        """Yield the ids of all ledgers in ascending order; if the listing cannot be complete, raise an error.

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
    """The marks of underreplicated ledgers, and the locks under which replicas are written or removed.

    A replication lock belongs to the session of the driver that took it, and ends with this session.
    """

    async def mark(ledger_id: int, replicas: Collection[str] = (), ctime: int | None = None) -> None:
        """Mark a ledger as underreplicated, or add lost bookies to its mark; the mark always gets a new version.

        The new version prevents a process that read the mark before this call from removing it: the process may have
        checked the ledger before the loss.

        :param replicas: ids of the bookies that lack entries; empty if these bookies are not known.
        :param ctime: the present time in ms since the epoch, stored with the mark.
        """

    async def read_mark(ledger_id: int) -> Versioned[UnderreplicatedLedger]:
        """Return the underreplicated mark of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        """

    async def replace_mark(
        ledger_id: int, mark: UnderreplicatedLedger, version: int
    ) -> Versioned[UnderreplicatedLedger]:
        """Replace an underreplicated mark if the ledger was not marked again since it was read (compare-and-set).

        :param version: the version that was read.
        :returns: the mark with its new version.
        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored value has another version.
        """

    async def remove_mark(ledger_id: int, version: int) -> None:
        """Remove a ledger's underreplicated mark, after the entries that its named bookies lacked were written again.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the ledger was marked again since the mark was read.
        """

    def marked_ledgers(shuffle: Shuffle | None = None) -> AsyncIterator[int]:
        """Yield the ids of all marked ledgers; if the listing cannot be complete, raise an error.

        :param shuffle: changes the order of each list of ids after it was read, so that workers begin with different
            ledgers; None for ascending order.
        """

    def watch_marks(listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` once soon, and after underreplicated marks are made or removed, or locks are released.

        One call may report many changes, or no change at all.

        :returns: a function that ends the watch.
        """

    async def lock(ledger_id: int, holder: str) -> None:
        """Take the replication lock of a ledger, whether it is marked or not.

        :param holder: host name of the replication worker, for people to read.
        :raises bookkeeper_twisted.errors.LedgerLockedError: this driver or another driver holds the lock.
        """

    async def unlock(ledger_id: int) -> None:
        """Release this driver's replication lock of a ledger; harmless if it has no lock.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; the session may still hold the lock.
        """

    async def describe_lock(ledger_id: int, text: str) -> None:
        """Replace the text of this driver's replication lock of a ledger; harmless if it has no lock.

        :param text: the holder, and why the ledger is not replicated yet; see :func:`~.stored_form.stored_text`.
        """

    def watch_lost_locks(listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener whenever a session of the open driver has ended, and all its locks with it.

        The listener is called before the driver makes a request in its next session.  So the listener can cancel the
        work that ran under a lock, before this work changes anything in the store without the lock.

        :returns: a function that ends the watch.
        """

    async def locked_ledgers() -> dict[int, str]:
        """Return the text of every replication lock by ledger id, in ascending order of the ids."""

    async def is_enabled() -> bool:
        """Test whether autorecovery is switched on in the cluster."""

    async def set_enabled(enabled: bool) -> bool:
        """Switch autorecovery on or off for the whole cluster.

        :param enabled: True to switch it on.
        :returns: False if nothing has changed, because autorecovery was on or off already, as requested.
        """

    def watch_enabled(listener: Callable[[bool], None]) -> Callable[[], None]:
        """Call the listener with the present state of the switch, and after each change: True if autorecovery is on.

        :returns: a function that ends the watch.
        """


class IAuditing(Interface):
    """The election of the auditor, and the values that auditors keep in the metadata store.

    The values are the delay from the loss of a bookie to the audit of its ledgers, and for each periodic check the time
    when it last ended.
    """

    def stand(candidate: str, listener: Callable[[bool], None]) -> None:
        """Take part in the election of the auditor until :meth:`withdraw`.

        The listener is called with True when the candidate becomes the auditor.  It is called with False when the
        candidate may not be the auditor any more: its vote was removed, its session has ended or may have ended, or the
        driver is closed.  In the first two cases, the driver then makes it a candidate again.  If the store fails, the
        driver tries again.

        :param candidate: the bookie id that names the auditor.
        :raises bookkeeper_twisted.errors.MetadataError: the driver is not open, or has a candidate already.
        """

    async def withdraw() -> None:
        """Withdraw this driver's candidate, even if it is the auditor; harmless without a candidate.

        From this call on, the listener is not called any more.
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
        """End the session with its registrations and locks; harmless if the driver is closed already."""


class IRackStore(Interface):
    """A metadata driver that can also read the racks of bookies from its store, as Pulsar's tools write them."""

    def watch_racks(listener: Callable[[Mapping[str, str]], None]) -> Callable[[], None]:
        """Call the listener with the racks, by bookie id: first the present racks, then after each change.

        If the racks cannot be read, the error is logged and the listener is not called: the last racks stay valid.

        :returns: a function that ends the watch.
        """


class IClusterAdmin(Interface):
    """An administrator: it makes, formats or removes the cluster that a URI names, which need not exist yet.

    No method asks the user for confirmation: the calling tool must do so before.  All errors are MetadataError.
    """

    uri: str = Attribute("The metadata service URI it was made from.")

    async def open() -> None:
        """Connect to the store.  The first driver or administrator that opens an embedded store initializes it."""

    async def close() -> None:
        """Disconnect from the store; harmless if this was done before."""

    async def exists() -> bool:
        """Test whether the store has a cluster, or anything else, at the location that the URI names."""

    async def instance_id() -> str:
        """Return the instance id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """

    async def initialize() -> bool:
        """Make a new cluster (``initnewcluster``).

        :returns: True if the cluster was made; False, without any change, if the location that the URI names is not
            empty.
        """

    async def format() -> None:
        """Remove ledgers, cookies and underreplicated marks, and draw a new instance id (``metaformat``).

        If the cluster does not exist, it is made.  Registrations stay.  This method does not check whether bookies run.
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

        :param reactor: the driver takes its clock, sockets and threads from it, as far as it needs them.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: the URI is invalid after its scheme.
        """

    def create_admin(reactor: object, uri: str, options: MetadataOptions) -> IClusterAdmin:
        """Make an administrator for the cluster of a URI, without connecting it.

        :param reactor: the administrator takes its clock, sockets and threads from it, as far as it needs them.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: the URI is invalid after its scheme.
        """
