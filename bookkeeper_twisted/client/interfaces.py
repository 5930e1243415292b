"""The interfaces of the client: its calls to bookies, and the replacement of bookies that fail."""

from collections.abc import Callable, Collection, Mapping, Sequence

from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..codec.adds import Adds
from ..codec.runs import BatchReply, ReadReply


class IBookieClient(Interface):
    """The flow of calls of one handle or of one client to bookies, by bookie id, over shared connections.

    Every call fails with the :class:`~bookkeeper_twisted.errors.BookieError` that the bookie answered, or
    BookieHandleNotAvailableError (no connection, or a lost one), RequestTimeoutError, ClientClosedError.
    The reply to a cancelled call is dropped, and so is a reply that comes late.
    """

    def add(
        bookie_id: str, adds: Adds, done: Callable[[str, Sequence[int], Exception | None], None], fresh: bool = False
    ) -> None:  # fmt: skip
        """Send adds of new or stored entries in one write.

        ``done(bookie_id, places, error)`` is called with places in ``adds`` as their replies arrive; together the calls
        cover each of them exactly once.

        :param adds: sealed entries; those of :func:`~bookkeeper_twisted.codec.adds.stored_adds` are copies of entries
            that another bookie keeps.
        :param fresh: whether these entries were never sent to a bookie before, so that no other request of this client
            can be about them.
        """

    def read(
        bookie_id: str, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None
    ) -> "Deferred[ReadReply]":
        """Read one entry.

        :param entry_id: -1 for the last entry.
        :param flags: bits of :mod:`~bookkeeper_twisted.codec.operations`: ``FENCE``, ``HIGH_PRIORITY``.
        :param master_key: the master key of the ledger; only a read that fences needs it.
        :returns: the reply of a success, with the entry as it is stored: neither ids nor digest were verified.
        """

    def read_many(bookie_id: str, ledger_id: int, entry_ids: Sequence[int]) -> "Deferred[list[ReadReply]]":
        """Read several entries by requests that are sent in one write.

        :param entry_ids: at least one.
        :returns: replies in the order of ``entry_ids``; the error of one entry is in the ``status`` of its reply.
        """

    def read_batch(
        bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """Read one or more consecutive entries, beginning with ``first``; ``flags`` are those of :meth:`read`.

        :param max_count: most entries, <= 0 for any number.
        :param max_size: most bytes of the reply; a first entry that is longer is returned nevertheless.
        :param patience: seconds that the bookie waits at most until the LAC that it knows is not below ``first``.
            The reply has the ``max_lac`` that the bookie knows, and the entries that it keeps, confirmed or not.
        """

    def long_poll(bookie_id: str, ledger_id: int, previous_lac: int, patience: float) -> "Deferred[ReadReply]":
        """Wait at the bookie until the LAC that this bookie knows is above ``previous_lac``.

        :param patience: seconds that the bookie waits at most.
        :returns: a reply with the ``max_lac`` that the bookie knows, and the entry after ``previous_lac`` if that is
            confirmed and the bookie keeps it; a wait that ended without a higher LAC is a success without an entry.
        """

    def read_lac(bookie_id: str, ledger_id: int) -> "Deferred[tuple[bytes | None, bytes | None]]":
        """Read the explicit LAC and the last entry of a ledger from one bookie.

        :returns: explicit LAC packet and last entry, as they are stored; None where the bookie has none.
        """

    def write_lac(bookie_id: str, ledger_id: int, master_key: bytes, lac: int, body: bytes) -> "Deferred[None]":
        """Store an explicit LAC packet.

        :param lac: the LAC that ``body`` contains.
        :param body: the packet, as :meth:`~bookkeeper_twisted.codec.digest.Digester.seal_lac` makes it.
        """

    def force(bookie_id: str, ledger_id: int) -> "Deferred[None]":
        """Make all acknowledged adds of ``ledger_id`` durable on the bookie ``bookie_id``, then fire."""

    def list_entries(bookie_id: str, ledger_id: int) -> "Deferred[Sequence[tuple[int, int]]]":
        """List the entries that a bookie holds of the ledger ``ledger_id``.

        :returns: first and last id (inclusive) of each contiguous range, ascending.
        """

    def bookie_info(bookie_id: str) -> "Deferred[tuple[int, int]]":
        """Ask the bookie ``bookie_id`` for total capacity and free space of its ledger directories, in bytes."""

    def open_flow() -> "IBookieClient":
        """Open a flow for the calls of one handle, which shares the connections and gets its own replies.

        A connection that is lost fails its outstanding requests, each of them once, in the order in which they
        were made; the flow continues with another connection.
        """

    def retire() -> None:
        """Refuse further requests with ClientClosedError.

        Requests under way end as usual, and then the flow ends; the connections stay open.
        """

    def close() -> "Deferred[None]":
        """Fail outstanding requests, in order, and all later calls with ClientClosedError.

        The client's own flow closes all connections and ends all flows; the flow of a handle leaves connections
        and other flows alone.
        """


class IEnsembleChange(Interface):
    """The replacement of failed bookies in the ensemble of one writer."""

    async def replace(
        failed: Mapping[int, str], first_entry_id: int, excluded: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Replace bookies of the newest ensemble.

        The caller completes no entry from ``first_entry_id`` on until the result is there, so that this is still
        the first entry of the new ensemble when the change applies (S16).

        :param failed: the ids of the failed bookies by position, at least one.
        :param first_entry_id: the first entry that is not completed.
        :param excluded: more bookies that must not be chosen.
        :returns: the ensemble of the entries from ``first_entry_id`` on, known to be in force.  A failed
            bookie stays in it if there were too few bookies to replace all failed ones.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie could be replaced; nothing has changed.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer must end.
        """

    def has_spare(ensemble: Collection[str]) -> bool:
        """Test whether a writable bookie outside an ``ensemble`` is known."""

    def stay(bookies: Collection[str], why: Exception) -> None:
        """Record that ``bookies`` that failed stay in the ensemble, and ``why`` no bookie could replace them."""
