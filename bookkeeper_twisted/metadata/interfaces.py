"""The interfaces of metadata drivers.  Methods that access the store are coroutines; all run on the reactor thread."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, MutableSequence
from typing import Any, Generic, TypeVar

import attrs
from twisted.python.failure import Failure
from zope.interface import Attribute, Interface

from ..masking import masked
from ..model import AuditorCheck, BookieServiceInfo, LedgerMetadata, UnderreplicatedLedger

T = TypeVar("T")

Shuffle = Callable[[MutableSequence[Any]], None]
"""A function that changes the order of a list in place."""

ANY_VERSION = -1
"""The version that stands for any stored version in a removal."""


@attrs.frozen
class Versioned(Generic[T]):
    """A stored value and the version a conditional write must name."""

    value: T
    version: int


@attrs.frozen
class MetadataOptions:
    """The options of a driver besides its URI.

    :ivar session_timeout: seconds after which the store takes a silent driver for dead (``zkTimeout``).
    :ivar stale_wait: seconds to wait for the registration of a former session to go, None for
        ``session_timeout``.
    :ivar secure: restrict what is written to the identity that wrote it (``zkEnableSecurity``).
    :ivar auth: scheme and credential of that identity, each ``scheme:credential``.
    :ivar max_retries: repetitions of a call whose answer was lost (``zkRetryBackoffMaxRetries``).
    :ivar retry_start: seconds before the first repetition, doubled for each further one.
    :ivar retry_max: seconds, at most.
    :ivar create: make an embedded store that does not exist, as bookies do; it is removed if it is closed unused.
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
    operation_timeout: float = 30.0


DEFAULT_OPTIONS = MetadataOptions()


class IRegistration(Interface):
    """Registration: which bookies are alive, and their cookies."""

    async def instance_id() -> str:
        """Return the id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """

    async def register_bookie(bookie_id: str, read_only: bool, info: BookieServiceInfo) -> None:
        """Register a bookie until the driver is closed or its process dies.

        Registered again in the other mode, the new entry appears before the old one goes.  Again in
        the same mode by the same driver: the info is refreshed.

        :param read_only: the mode.
        :param info: the endpoints by which clients find the bookie.
        :raises bookkeeper_twisted.errors.BookieRegisteredError: another live session holds the id.
        """

    async def unregister_bookie(bookie_id: str) -> None:
        """Remove the bookie's writable and read-only registrations; harmless without a registration.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; the session may still hold the id.
        """

    def on_registration_lost(listener: Callable[[Failure], None]) -> None:
        """Call the listener when a bookie registered here has lost its registration for good.

        A session that ends while the driver is open is followed by another, in which every bookie is
        registered again in its last mode; this is for when that fails, as another bookie has the id.

        :param listener: called once with the reason.
        """

    async def writable_bookies() -> frozenset[str]:
        """Return the bookies that are registered as writable, in a state no older than the call."""

    async def read_only_bookies() -> frozenset[str]:
        """Return the bookies that are registered as read-only, in a state no older than the call."""

    async def all_bookies() -> frozenset[str]:
        """Return every bookie that has a cookie, running or not."""

    async def service_info(bookie_id: str) -> BookieServiceInfo:
        """Return what the bookie ``bookie_id`` published with its registration.

        :raises bookkeeper_twisted.errors.MetadataError: the bookie is not registered.
        """

    def watch_bookies(listener: Callable[[frozenset[str], frozenset[str]], None]) -> Callable[[], None]:
        """Call ``listener(writable, read_only)`` soon and after each change.

        :returns: a function that ends the watch.
        """

    async def read_cookie(bookie_id: str) -> Versioned[bytes]:
        """Return the cookie of the bookie ``bookie_id`` as it is stored.

        :raises bookkeeper_twisted.errors.CookieNotFoundError: no cookie is stored for the bookie.
        """

    async def write_cookie(bookie_id: str, cookie: bytes, version: int | None) -> int:
        """Create (``version`` None) or replace a cookie.

        :returns: the new version.
        :raises bookkeeper_twisted.errors.CookieExistsError: on create.
        :raises bookkeeper_twisted.errors.CookieNotFoundError: on replace.
        :raises bookkeeper_twisted.errors.MetadataVersionError: another process has written it since.
        """

    async def remove_cookie(bookie_id: str, version: int) -> None:
        """Remove a cookie.

        :param version: the version of the stored cookie.
        :raises bookkeeper_twisted.errors.CookieNotFoundError: no cookie is stored for the bookie.
        :raises bookkeeper_twisted.errors.MetadataVersionError: another process has written it since.
        """


class ILedgerManager(Interface):
    """Ledger ids and ledger metadata."""

    async def generate_id() -> int:
        """Return a ledger id, >= 0, that was never returned before."""

    async def create(ledger_id: int, metadata: LedgerMetadata) -> Versioned[LedgerMetadata]:
        """Store the metadata of a new ledger; a repeated create with the same ``c_token`` succeeds.

        :raises bookkeeper_twisted.errors.LedgerExistsError: the id is taken by another writer.
        """

    async def read(ledger_id: int) -> Versioned[LedgerMetadata]:
        """Return the metadata of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    async def write(ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned[LedgerMetadata]:
        """Replace the metadata of a ledger, if they have not changed since they were read (compare-and-set).

        :param version: the version that was read.
        :returns: the metadata with their new version.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored version is another.
        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        """

    async def remove(ledger_id: int, version: int = ANY_VERSION) -> None:
        """Remove the metadata of a ledger; bookies free the space later.

        :raises bookkeeper_twisted.errors.NoSuchLedgerMetadataError: the ledger does not exist.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored version is another.
        """

    async def sync() -> None:
        """Wait until this driver sees everything that any client wrote before the call."""

    def ledger_ids(first: int = 0, last: int | None = None) -> AsyncIterator[int]:
        """Yield all ledger ids in ascending order; an incomplete listing raises an error.

        :param first: the lowest id to list.
        :param last: the highest one; None for all.
        :raises bookkeeper_twisted.errors.MetadataError: from the iteration: the store failed.
        """

    def watch(ledger_id: int, listener: Callable[[Versioned[LedgerMetadata] | None], None]) -> Callable[[], None]:
        """Call the listener with the current value soon and after each change, with None once the ledger is deleted.

        :returns: a function that ends the watch.
        """


class IUnderreplication(Interface):
    """Marks of ledgers that lack replicas, and the locks under which replicas are made or removed.

    A lock belongs to the session of the driver that took it, and ends with the session.
    """

    async def mark(ledger_id: int, replicas: Collection[str] = (), ctime: int | None = None) -> None:
        """Mark a ledger, or add replicas to its mark; if the mark names all of them, only its version changes.

        A mark that was read before cannot be removed any more: what its reader has seen of the ledger may be older.

        :param replicas: ids of the bookies that lack entries; none where it is not known which.
        :param ctime: the time now in ms since the epoch, stored with the mark.
        """

    async def read_mark(ledger_id: int) -> Versioned[UnderreplicatedLedger]:
        """Return the mark of the ledger ``ledger_id``.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        """

    async def replace_mark(
        ledger_id: int, mark: UnderreplicatedLedger, version: int
    ) -> Versioned[UnderreplicatedLedger]:
        """Replace a mark, if the ledger has not been marked again since it was read (compare-and-set).

        :param version: the version that was read.
        :returns: the mark with its new version.
        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        :raises bookkeeper_twisted.errors.MetadataVersionError: the stored version is another.
        """

    async def remove_mark(ledger_id: int, version: int) -> None:
        """Remove a mark once the replicas it asks for are complete.

        :raises bookkeeper_twisted.errors.NotUnderreplicatedError: the ledger is not marked.
        :raises bookkeeper_twisted.errors.MetadataVersionError: it was marked again since the mark was read.
        """

    def marked_ledgers(shuffle: Shuffle | None = None) -> AsyncIterator[int]:
        """Yield the ids of all marked ledgers; an incomplete listing raises an error.

        :param shuffle: brings each list of ids, or of groups of ids, that is read into another order, so that workers
            begin at different ledgers; None for ascending order.
        """

    def watch_marks(listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener soon, and again after marks are made or removed or locks are released.

        One call may stand for many changes, or for none.

        :returns: a function that ends the watch.
        """

    async def lock(ledger_id: int, holder: str) -> None:
        """Take the replication lock of a ledger, marked or not.

        :param holder: host name of the worker, for people to read.
        :raises bookkeeper_twisted.errors.LedgerLockedError: it is held, by this driver or another.
        """

    async def unlock(ledger_id: int) -> None:
        """Release this driver's lock of a ledger; harmless without a lock.

        :raises bookkeeper_twisted.errors.MetadataError: the store failed; the session may still hold the lock.
        """

    async def describe_lock(ledger_id: int, text: str) -> None:
        """Replace the text of this driver's lock of a ledger; harmless without a lock.

        :param text: holder, and why it has not done its work yet; see :func:`~.stored_form.stored_text`.
        """

    def watch_lost_locks(listener: Callable[[], None]) -> Callable[[], None]:
        """Call the listener whenever the session that held this driver's locks has ended and the driver is still open.

        The listener is called before a request of this driver reaches the store in the next session: what is done
        under a lock, and cancelled by the listener, changes nothing in the store any more.

        :returns: a function that ends the watch.
        """

    async def locked_ledgers() -> dict[int, str]:
        """Return the text of every lock, by the id of its ledger in ascending order."""

    async def is_enabled() -> bool:
        """Test whether the auditors and workers of the cluster are switched on."""

    async def set_enabled(enabled: bool) -> bool:
        """Switch auditors and workers of the whole cluster on or off.

        :param enabled: True for on.
        :returns: False if they were so already.
        """

    def watch_enabled(listener: Callable[[bool], None]) -> Callable[[], None]:
        """Call the listener soon and after each change, with True while autorecovery is switched on.

        :returns: a function that ends the watch.
        """


class IAuditing(Interface):
    """The election of the auditor, and the stored values that all auditors share.

    The values are the delay after the loss of a bookie, and the time at which each periodic check last ended.
    """

    def stand(candidate: str, listener: Callable[[bool], None]) -> None:
        """Take part in the election of the auditor until :meth:`withdraw`.

        The listener is called with True when the candidate is elected, and with False as soon as the office is lost:
        the vote is gone, the session has ended or may have, or the driver is closed.  The candidate stands again by
        itself.  A store that fails is tried again.

        :param candidate: bookie id under which the auditor is known.
        :raises bookkeeper_twisted.errors.MetadataError: the driver is not open, or has a candidate already.
        """

    async def withdraw() -> None:
        """Withdraw the candidate, even if elected, without a call of its listener; harmless without a candidate.

        The listener is not called any more from the moment of this call.
        """

    async def auditor() -> str | None:
        """Return the bookie id of the elected auditor, None if no auditor is elected."""

    async def lost_bookie_delay() -> int | None:
        """Return the seconds between the loss of a bookie and the audit, None if they were never set."""

    async def set_lost_bookie_delay(seconds: int) -> None:
        """Set the delay after a lost bookie.  Setting 0 or the current value makes auditors audit immediately.

        :param seconds: >= 0.
        """

    def watch_lost_bookie_delay(listener: Callable[[int | None], None]) -> Callable[[], None]:
        """Call the listener with the delay soon and after each write of the delay, even of an equal value.

        Writes in quick succession may be one call, with the last value.

        :returns: a function that ends the watch.
        """

    async def check_time(check: AuditorCheck) -> int | None:
        """Return when a check last ended.

        :returns: ms since the epoch; None if that is not stored.
        """

    async def set_check_time(check: AuditorCheck, ms: int | None) -> None:
        """Store when a check last ended.

        :param ms: since the epoch; None removes the time.
        """


class IMetadataDriver(Interface):
    """A connection to one metadata store."""

    uri: str = Attribute("The metadata service URI it was made from.")
    registration: IRegistration = Attribute("Registered bookies, and their cookies.")
    ledgers: ILedgerManager = Attribute("Ids and metadata of ledgers.")
    underreplication: IUnderreplication = Attribute("Marks of ledgers that lack replicas, and replication locks.")
    auditing: IAuditing = Attribute("The office of the auditor.")

    async def open() -> None:
        """Connect.  The first driver to open an embedded store (``memory:``, ``sqlite:``) initializes it.

        :raises bookkeeper_twisted.errors.MetadataError: the store cannot be reached, or is of another kind.
        """

    async def close() -> None:
        """End the session and its registrations.  Closing twice is harmless."""


class IRackStore(Interface):
    """A metadata driver whose store can hold the racks of bookies, where Pulsar's tools write them."""

    def watch_racks(listener: Callable[[Mapping[str, str]], None]) -> Callable[[], None]:
        """Call the listener with the rack of each bookie that has one, by bookie id, soon and after each change.

        What cannot be read is logged, and the racks from before remain.

        :returns: a function that ends the watch.
        """


class IClusterAdmin(Interface):
    """The administrator that makes, formats or removes the cluster of a URI; the cluster need not exist.

    No method asks for confirmation: a tool confirms before it calls.  Errors are MetadataError.
    """

    uri: str = Attribute("The metadata service URI it was made from.")

    async def open() -> None:
        """Connect.  The first driver or administrator that opens an embedded store initializes the store."""

    async def close() -> None:
        """Disconnect.  Closing twice is harmless."""

    async def exists() -> bool:
        """Test whether the cluster exists, or anything else at the place of the cluster."""

    async def instance_id() -> str:
        """Return the id of the cluster.

        :raises bookkeeper_twisted.errors.NotInitializedError: the store holds no cluster.
        """

    async def initialize() -> bool:
        """Make a new cluster (``initnewcluster``).

        :returns: False, with nothing changed, if the place of the cluster is not empty.
        """

    async def format() -> None:
        """Remove ledgers, cookies and marks, and draw a new instance id (``metaformat``).

        Makes the cluster if it does not exist.  Registrations stay; whether bookies run is not checked.
        """

    async def nuke(instance_id: str | None) -> None:
        """Remove the whole cluster (``nukeexistingcluster``).

        :param instance_id: the instance id that the cluster must have; None for any.
        :raises bookkeeper_twisted.errors.MetadataError: it has another, bookies are registered, or something that
            is not the cluster's lies in its place; nothing was removed.
        """


class IMetadataDriverFactory(Interface):
    """A plugin that makes drivers for some URI schemes."""

    schemes: frozenset[str] = Attribute("Lower-case schemes, the part before ``:`` and before any ``+``.")

    def create(reactor: object, uri: str, options: MetadataOptions) -> IMetadataDriver:
        """Make a driver for a URI, without connecting it.

        :param reactor: for clock, sockets and threads, whichever the driver needs.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: the rest of the URI is wrong.
        """

    def create_admin(reactor: object, uri: str, options: MetadataOptions) -> IClusterAdmin:
        """Make an administrator for a URI, without connecting it.

        :param reactor: see :meth:`create`.
        :raises bookkeeper_twisted.errors.InvalidMetadataUriError: the rest of the URI is wrong.
        """
