"""Requests that carry a traceparent, on Apache's bookies."""

from twisted.internet import reactor
from twisted.internet.defer import gatherResults
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.client.production import system_chance
from bookkeeper_twisted.config.client import ClientConfig

from ..integration.test_traces import provider_of
from .actors import NamedBookies
from .cluster import shared_cluster


class TraceTests(TestCase):
    """A client whose every append and read is traced."""

    timeout = 120

    async def test_accepted(self) -> None:
        """Apache's bookie takes adds and reads of V3 that carry a traceparent, as it takes all pairs of the context."""
        exporter, cluster = provider_of(self), shared_cluster()
        config = ClientConfig(
            wire_protocol="v3", tracer="opentelemetry", trace_sample_ratio=1.0, trace_max_per_second=0,
            batch_read_enabled=False,
        )
        bookies = {"bookies": ",".join(cluster.apache).encode()}
        async with await BookKeeper.connect(reactor, cluster.uri, config, NamedBookies(system_chance())) as client:
            async with await client.create_ledger(3, 3, 3, custom_metadata=bookies) as writer:
                appended = await gatherResults([writer.append(b"%d" % number) for number in range(100)])
                self.assertEqual(appended, list(range(100)))
            self.assertEqual(set(writer.metadata.segments[0].bookies), set(cluster.apache))
            async with await client.open_ledger(writer.ledger_id) as reader:
                found = await reader.read(0, 99)
        self.assertEqual([entry.data for entry in found], [b"%d" % number for number in range(100)])
        spans = exporter.get_finished_spans()
        self.assertTrue(all(span.status.is_unset for span in spans))
        names = [span.name for span in spans]
        self.assertEqual((names.count("bookkeeper.append"), names.count("bookkeeper.add_request")), (100, 300))
        self.assertIn("bookkeeper.read_request", names)
        reached = {span.attributes["bookkeeper.reaches_bookies"] for span in spans if span.name == "bookkeeper.append"}
        self.assertEqual(reached, {True})
