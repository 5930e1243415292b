"""Bookies in the reactor thread that the driver side uses, and a client."""

from collections.abc import Mapping
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding import make_bookie, standalone_configs
from bookkeeper_twisted.spark.driver.cluster import ClusterView, connect
from bookkeeper_twisted.spark.reactor import THREAD

CONFIG = BookieConfig(bookie_port=0, listening_interface="127.0.0.1", journal_pre_alloc_size_mb=1)


class ClusterCase(SynchronousTestCase):
    """Three bookies.

    :cvar config: what they have in common.
    :cvar client_config: of the client.
    :ivar configs: of the bookies.
    :ivar uri: of their metadata.
    :ivar client: a blocking client.
    """

    config = CONFIG
    # An idle writer confirms nothing by itself here: tests say up to where a ledger that is open can be read.
    client_config = ClientConfig(explicit_lac_interval=0)

    def setUp(self) -> None:
        self.configs = standalone_configs(self.config, 3, str(Path(self.mktemp()).absolute()))
        self.uri = self.configs[0].metadata_service_uri
        self.bookies: list[BookieService] = []
        for config in self.configs:
            self.bookies.append(make_bookie(THREAD.reactor, config))
            THREAD.wait(self.bookies[-1].start)
        self.addCleanup(self.stop_bookies)
        self.client = BookKeeper.connect(self.uri, self.client_config, thread=THREAD)
        self.addCleanup(self.client.close)

    def stop_bookies(self) -> None:
        """Stops the bookies that run."""
        while self.bookies:
            THREAD.wait(self.bookies.pop().stop)

    def connect(self) -> ClusterView:
        """What the driver sees."""
        cluster = connect(self.uri, self.client_config)
        self.addCleanup(cluster.close)
        return cluster

    def ledger(self, payloads: list[bytes], password: bytes = b"", custom: Mapping[str, bytes] | None = None) -> int:
        """A closed ledger on three bookies; its id."""
        with self.client.create_ledger(3, 3, 2, password, custom_metadata=custom) as writer:
            if payloads:
                writer.append_many(payloads)
        return writer.ledger_id
