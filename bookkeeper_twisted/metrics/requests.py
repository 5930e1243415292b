"""The metrics of a bookie's requests and connections, and of authorization."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from ..instruments import Histogram, Instruments

_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

# the bucket bounds that BP-62 specifies: latencies of batch reads in milliseconds, sizes of their replies in bytes
_BATCH_LATENCIES = (5, 10, 20, 50, 100, 200, 500, 1000, 3000)
_BATCH_SIZES = (128, 512, 1024, 2048, 4096, 16 * 1024, 128 * 1024, 1024 * 1024)


class BatchReadMetrics:
    """The metrics of batch reads as histograms: latencies in milliseconds, replies in bytes and entries."""

    def __init__(self, instruments: Instruments) -> None:
        prefix = "bookkeeper_server_BATCH_READ_ENTRY_"

        def latency(success: str) -> Histogram:
            return instruments.histogram(prefix + "REQUEST", _BATCH_LATENCIES, success=success)

        self.failure = latency("false")
        self.success = latency("true")
        self.size = instruments.histogram(prefix + "RESPONSE_SIZE", _BATCH_SIZES)
        self.entries = instruments.histogram(prefix + "RESPONSE_ENTRIES", _COUNTS)


class RequestMetrics:
    """The metrics of requests by operation; a latency is the time from the decoding of a request to its reply."""

    def __init__(self, instruments: Instruments, labels: Mapping[str, str] = MappingProxyType({})) -> None:
        """:param labels: labels for metrics of the ledger storage, which :func:`directory_labels` returned."""
        prefix = "bookkeeper_server_"
        self.add = instruments.latency(prefix + "ADD_ENTRY_REQUEST")
        self.read = instruments.latency(prefix + "READ_ENTRY_REQUEST")
        instruments.share(prefix + "ADD_ENTRY", self.add)
        instruments.share(prefix + "READ_ENTRY", self.read)
        instruments.share("bookie_read_entry", self.read, **labels)
        self.batch_read = BatchReadMetrics(instruments)
        self.fence_read = instruments.summary(prefix + "READ_ENTRY_FENCE_REQUEST")
        self.long_poll = instruments.summary(prefix + "READ_ENTRY_LONG_POLL_REQUEST")
        self.read_lac = instruments.summary(prefix + "READ_LAC_REQUEST")
        self.write_lac = instruments.summary(prefix + "WRITE_LAC_REQUEST")
        self.force = instruments.latency(prefix + "FORCE_LEDGER_REQUEST")
        self.bookie_info = instruments.summary(prefix + "GET_BOOKIE_INFO_REQUEST")
        self.list_entries = instruments.summary(prefix + "GET_LIST_OF_ENTRIES_OF_LEDGER_REQUEST")
        # Apache's bookie exports a second metric of each operation, without the time that a request waits in its
        # queues.  This bookie exports the same values under both names.
        instruments.share(prefix + "READ_ENTRY_FENCE_READ", self.fence_read)
        instruments.share(prefix + "READ_LAC", self.read_lac)
        instruments.share(prefix + "WRITE_LAC", self.write_lac)
        instruments.share(prefix + "FORCE_LEDGER", self.force)
        instruments.share(prefix + "GET_BOOKIE_INFO", self.bookie_info)
        instruments.share(prefix + "GET_LIST_OF_ENTRIES_OF_LEDGER", self.list_entries)
        self.refused_authentications = instruments.counter("bookie_connections_unauthenticated")
        self._instruments = instruments

    def watch_permits(self, name: str, in_progress: Callable[[], float], blocked: Callable[[], float]) -> None:
        """Export the number of requests in progress, and of requests that wait because too many are in progress.

        :param name: ``ADD_ENTRY`` or ``READ_ENTRY``.
        :param in_progress: returns the number of requests in progress.
        :param blocked: returns the number of waiting requests.
        """
        self._instruments.gauge(f"bookkeeper_server_{name}_IN_PROGRESS", in_progress)
        self._instruments.gauge(f"bookkeeper_server_{name}_BLOCKED", blocked)


class ConnectionMetrics:
    """The metrics of a bookie's connections.

    :ivar replies_per_write: histogram of the number of replies that one write to a socket contained.  A reply that
        answers several adds counts once for each add.
    """

    def __init__(self, instruments: Instruments) -> None:
        prefix = "bookie_connection_"
        self.replies_per_write = replies = instruments.histogram(prefix + "replies_per_write", _COUNTS)
        instruments.gauge(prefix + "replies", lambda: replies.sum, "counter")
        instruments.gauge(prefix + "writes", lambda: replies.count, "counter")
        self.accepted = instruments.counter("bookie_connections_accepted")
        self.refused = instruments.counter("bookie_connections_refused")
        self.refused_addresses = instruments.counter("bookie_connections_refused_by_share", of="address")
        self.refused_principals = instruments.counter("bookie_connections_refused_by_share", of="principal")
        self.evicted = instruments.counter("bookie_connections_evicted")
        self.timed_out = instruments.counter("bookie_connections_timed_out")
        self.broken = instruments.counter("bookie_connections_broken")
        self.shed = instruments.counter("bookie_connections_shed")
        self.failed_handshakes = instruments.counter("bookie_connections_failed_handshakes")
        self.broken_tls = instruments.counter("bookie_connections_broken_tls")
        self.active = instruments.counter("bookie_connections_active")
        self.pending_bytes = instruments.counter("bookie_connections_pending_bytes")
        self._instruments = instruments

    def watch_principals(self, kinds: Sequence[str], count: Callable[[str], float]) -> None:
        """Export the number of connections for each kind of principal (authenticated peer).

        :param count: returns the present number of connections of a kind; called for each export.
        """
        for kind in kinds:
            self._instruments.gauge("bookie_connections_by_principal", partial(count, kind), principal_kind=kind)


def watch_certificate(instruments: Instruments, server: str, expires_at: Callable[[], float]) -> None:
    """Export when the certificate of a server expires.

    :param server: ``bookie`` or ``http``, the value of the label ``server``.
    :param expires_at: returns the time of expiry, in seconds since the epoch.
    """
    instruments.gauge("tls_certificate_expires_at_seconds", expires_at, server=server)


class AuthorizationMetrics:
    """The metrics of authorization.

    :param actions: the permissions whose refusals are counted.
    :ivar refused: for each permission, the number of requests that were refused because their sender did not have it.
    """

    def __init__(self, instruments: Instruments, actions: Sequence[str]) -> None:
        self.refused = {
            action: instruments.counter("bookie_authorization_refused", action=action) for action in actions
        }
        self._instruments = instruments

    def watch_audit(self, lost: Callable[[], float]) -> None:
        """Export the number of lines that the audit log has lost.

        :param lost: returns the present number of lost lines; called for each export.
        """
        self._instruments.gauge("bookie_audit_log_lost_lines", lost, "counter")
