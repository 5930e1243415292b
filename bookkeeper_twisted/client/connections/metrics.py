"""The metrics of a client's connections: numbers of sockets and ledger handles by bookie, and the sizes of writes.

The sizes of writes are recorded in two histograms at each write.  All other values are computed when they are
exported.  Metrics that Apache's client has, too, have the same names here.
"""

from collections.abc import Callable

from ...instruments import Instruments
from ...protocol.client.request_writer import WriteHistograms
from .bookie_peer import BookiePeer

_CHANNEL = "per_channel_bookie_client_"
_OURS = "bookkeeper_client_"
_REQUESTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_BYTES = (128, 512, 1024, 4096, 16 << 10, 64 << 10, 128 << 10, 256 << 10)


class ClientMetrics:
    """The metrics of the connections of one client; no other client may share them.

    :ivar writes: the histograms of writes to sockets.
    """

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments
        self._bookies = set[str]()
        self.writes = WriteHistograms(
            instruments.histogram(_OURS + "requests_per_write", _REQUESTS),
            instruments.histogram(_OURS + "bytes_per_write", _BYTES),
        )

    def watch(self, peer: BookiePeer) -> None:
        """Export how many sockets to a bookie are open, were lost and so on, until the client ends.

        :param peer: the sockets to this bookie in one wire protocol.
        """

        bookie_id, wire = peer.key
        self._bookies.add(bookie_id)

        def export(name: str, read: Callable[[], float], kind: str = "gauge") -> None:
            self._instruments.gauge(name, read, kind, bookie=bookie_id, wire=str(wire.number))

        export(_CHANNEL + "ACTIVE_NON_TLS_CHANNEL_COUNTER", lambda: peer.counts().open, "counter")
        export(_CHANNEL + "FAILED_CONNECTION_COUNTER", lambda: peer.n_failed, "counter")
        export(_OURS + "connections_lost", lambda: peer.n_lost, "counter")
        export(_OURS + "connections_broken_tls", lambda: peer.n_broken_tls, "counter")
        export(_OURS + "reconnects", lambda: peer.n_reconnects, "counter")
        export(_OURS + "flows", lambda: peer.counts().flows)
        export(_OURS + "queued_bytes", lambda: peer.counts().queued)
        export(_OURS + "unacknowledged_bytes", lambda: peer.counts().unacknowledged)
        export(_OURS + "orphaned_replies", lambda: peer.counts().orphans)

    def __repr__(self) -> str:
        return f"<ClientMetrics of connections to {len(self._bookies)} bookies>"
