"""The interfaces of the client: its calls to bookies, and the replacement of bookies that fail."""

from collections.abc import Callable, Collection, Mapping, Sequence

from twisted.internet.defer import Deferred
from zope.interface import Interface

from ..codec.adds import Adds
from ..codec.runs import BatchReply, ReadReply


class IBookieClient(Interface):
    """Sends requests to bookies, for one ledger handle or for the client; all handles share the connections.

    A call that fails raises the :class:`~bookkeeper_twisted.errors.BookieError` that the bookie answered, or
    BookieHandleNotAvailableError (no connection, or a lost connection), RequestTimeoutError or ClientClosedError.  The
    text names the bookie, and that of a RequestTimeoutError also what was asked for.  Late replies and replies to
    cancelled calls are dropped.
    """

    def add(
        bookie_id: str, adds: Adds, done: Callable[[str, Sequence[int], Exception | None], None], fresh: bool = False
    ) -> None:  # fmt: skip
        """Send adds in one write: of new entries, or of entries that another bookie has stored.

        When replies arrive, ``done(bookie_id, indexes, error)`` is called with the indexes of the answered
        adds.  Each index occurs in exactly one call.

        :param adds: the add requests with the entries' headers and digests;
            :func:`~bookkeeper_twisted.codec.adds.stored_adds` makes them from entries that another bookie keeps.
        :param fresh: True if these entries were never sent before, to any bookie.  A V2 reply with their ids can then
            only belong to this request.
        """

    def read(
        bookie_id: str, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None
    ) -> "Deferred[ReadReply]":
        """Read one entry of a ledger from a bookie.

        :param entry_id: -1 for the last entry.
        :param flags: bits of :mod:`~bookkeeper_twisted.codec.operations`: ``FENCE``, ``HIGH_PRIORITY``.
        :param master_key: the master key of the ledger; only a read that fences needs it.
        :returns: fires with a successful reply, which contains the stored entry.  The ids and the digest of the entry
            are not verified.
        """

    def read_many(
        bookie_id: str, ledger_id: int, entry_ids: Sequence[int], context: Mapping[str, str] | None = None
    ) -> "Deferred[list[ReadReply]]":
        """Read several entries by requests that are sent in one write.

        :param entry_ids: ids of the entries, at least one.
        :param context: values by name for the ``requestContext`` of the first request, such as the ids of a trace; V2
            does not send them.
        :returns: replies in the order of ``entry_ids``; the error of one entry is in the ``status`` of its reply.
        """

    def read_batch(
        bookie_id: str, ledger_id: int, first: int, max_count: int, max_size: int, flags: int = 0,
        master_key: bytes | None = None, patience: float | None = None, context: Mapping[str, str] | None = None,
    ) -> "Deferred[BatchReply]":  # fmt: skip
        """Read one or more consecutive entries, beginning with ``first``.

        :param max_count: maximum number of entries, <= 0 for any number.
        :param max_size: maximum number of bytes of the reply; the first entry is returned even if it is longer.
        :param patience: maximum number of seconds for which the bookie waits until it knows a LAC of at least
            ``first``; None to read without waiting.  After a wait, the reply contains the highest LAC that the bookie
            knows (``max_lac``), and entries that may not be confirmed yet.
        :param context: values by name for the ``requestContext`` of the request, such as the ids of a trace; V2 does
            not send them.
        """

    def long_poll(bookie_id: str, ledger_id: int, previous_lac: int, patience: float) -> "Deferred[ReadReply]":
        """Let a bookie wait until it knows a LAC above ``previous_lac``.

        :param patience: seconds that the bookie waits at most.
        :returns: fires with a reply that contains the LAC that the bookie knows (``max_lac``), and the entry after
            ``previous_lac`` if this entry is confirmed and the bookie stores it.  If the wait ended without a higher
            LAC, the reply is a success without an entry.
        """

    def read_lac(bookie_id: str, ledger_id: int) -> "Deferred[tuple[bytes | None, bytes | None]]":
        """Read the explicit LAC and the last entry of a ledger from one bookie.

        :returns: the stored explicit LAC packet and the stored last entry; each is None if the bookie has none.
        """

    def write_lac(bookie_id: str, ledger_id: int, master_key: bytes, lac: int, body: bytes) -> "Deferred[None]":
        """Send an explicit LAC packet to a bookie, which keeps it for readers of the ledger.

        :param lac: the LAC that ``body`` contains.
        :param body: the packet, as :meth:`~bookkeeper_twisted.codec.digest.Digester.seal_lac` makes it.
        """

    def force(bookie_id: str, ledger_id: int) -> "Deferred[None]":
        """Make the bookie ``bookie_id`` sync all acknowledged adds of ``ledger_id``; fire when they are on disk."""

    def list_entries(bookie_id: str, ledger_id: int) -> "Deferred[Sequence[tuple[int, int]]]":
        """List the entries of the ledger ``ledger_id`` that a bookie has.

        :returns: first and last id (inclusive) of each contiguous range, ascending.
        """

    def bookie_info(bookie_id: str) -> "Deferred[tuple[int, int]]":
        """Ask the bookie ``bookie_id`` for the total and the free bytes of its ledger directories."""

    def open_flow() -> "IBookieClient":
        """Make a flow: an object for the requests of one ledger handle, over connections that all handles share.

        If a connection is lost, its outstanding requests fail, each once and in the order in which they were made.  The
        flow sends later requests over another connection.
        """

    def check_open() -> None:
        """Check that requests can be sent: neither the client nor this flow is closed or retired.

        :raises bookkeeper_twisted.errors.ClientClosedError: every request fails with this error from now on.
        """

    def retire() -> None:
        """Refuse further requests with ClientClosedError.

        Outstanding requests end as usual; then the flow (the requests of one handle) ends.  The connections stay open.
        """

    def close() -> "Deferred[None]":
        """Fail outstanding requests, in order, and all later calls with ClientClosedError.

        On the object for the whole client, this also closes all connections and ends the flows of all ledger handles.
        On the flow of one handle (:meth:`open_flow`), it ends only this flow.
        """


class IEnsembleChange(Interface):
    """The replacement of failed bookies in the ensemble of one ledger, for its writer."""

    async def replace(
        failed: Mapping[int, str], first_entry_id: int, excluded: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Replace failed bookies of the newest ensemble.

        The new ensemble begins with the entry ``first_entry_id``.  So the caller must not complete this entry or a
        later entry before this call has ended.

        :param failed: the ids of the failed bookies by position in the ensemble, at least one.
        :param first_entry_id: id of the first entry that has not completed.
        :param excluded: more bookies that must not be chosen.
        :returns: the new ensemble, once it is stored in the metadata or, in a recovery, in memory.  It still contains
            failed bookies if there were too few other bookies to replace all of them.
        :raises bookkeeper_twisted.errors.NotEnoughBookiesError: no bookie could be replaced; nothing has changed.
        :raises bookkeeper_twisted.errors.BookKeeperError: the writer must end with this error.
        """

    def has_spare(ensemble: Collection[str]) -> bool:
        """Test whether a known writable bookie is outside of ``ensemble``."""

    def stay(bookies: Collection[str], why: Exception) -> None:
        """Record that failed ``bookies`` stay in the ensemble, and ``why`` no other bookie could replace them."""
