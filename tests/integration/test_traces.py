"""Traces through real bookies over loopback, with the SDK of OpenTelemetry."""

import asyncio
import shutil
import tempfile
from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import gatherResults
from twisted.trial.unittest import SkipTest, TestCase

from bookkeeper_twisted import blocking
from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.production import make_bookie
from bookkeeper_twisted.testing import aio_cluster, blocking_cluster


def provider_of(case: Any) -> Any:
    """Set the global provider of a test, which keeps the spans in memory; return its exporter."""
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    except ImportError as error:
        raise SkipTest(f"needs the extra otel: {error}") from None
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    case.patch(trace, "_TRACER_PROVIDER", provider)
    return exporter


class ThreeBookiesTests(TestCase):
    """One client and three bookies."""

    def setUp(self) -> None:
        self.exporter = provider_of(self)
        self.bookies: list[BookieService] = []

    async def start(self) -> str:
        """Start the bookies; return the URI of their metadata."""
        directory = tempfile.mkdtemp(prefix="traces-")
        self.addCleanup(shutil.rmtree, directory)
        uri = f"sqlite:///{directory}/metadata"
        for number in range(3):
            path = f"{directory}/{number}"
            bookie: BookieService = make_bookie(reactor, BookieConfig(
                bookie_port=0, bookie_id=f"b{number}", listening_interface="127.0.0.1", metadata_service_uri=uri,
                advertised_address="127.0.0.1", allow_loopback=True, tracer="opentelemetry",
                journal_directories=(path + "/j",), ledger_directories=(path + "/l",),
                journal_pre_alloc_size_mb=1, journal_max_size_mb=2,
            ))  # fmt: skip
            self.addCleanup(bookie.stop)
            await bookie.start()
            self.bookies.append(bookie)
        return uri

    async def test_append_and_read(self) -> None:
        """An append of a traced caller, one of many at a time, is one trace; so is the read of what was appended."""
        from opentelemetry import trace

        uri, tracer = await self.start(), trace.get_tracer("program")
        config = ClientConfig(wire_protocol="v3", tracer="opentelemetry", trace_sample_ratio=0.0)
        async with await BookKeeper.connect(reactor, uri, config) as client:
            async with await client.create_ledger(3, 3, 3) as writer:
                others = [writer.append(b"before") for _ in range(20)]
                with tracer.start_as_current_span("program"):
                    appended = writer.append(b"traced")
                others += [writer.append(b"behind") for _ in range(20)]
                self.assertEqual(await appended, 20)
                await gatherResults(others)
            async with await client.open_ledger(writer.ledger_id) as reader:
                with tracer.start_as_current_span("reading"):
                    await reader.read_batch(0)
        for bookie in self.bookies:
            await bookie.stop()
        spans = self.exporter.get_finished_spans()
        by_id = {span.context.span_id: span for span in spans}
        (program,) = [span for span in spans if span.name == "program"]
        of_append = [span for span in spans if span.context.trace_id == program.context.trace_id]
        names = [span.name for span in of_append]
        self.assertEqual(
            {name: names.count(name) for name in names},
            {
                "program": 1, "bookkeeper.append": 1, "bookkeeper.add_request": 3, "bookie.add": 3,
                "bookie.journal_group": 3,
            },
        )  # fmt: skip
        parents = {span.name: by_id[span.parent.span_id].name for span in of_append if span.parent is not None}
        self.assertEqual(
            parents,
            {
                "bookkeeper.append": "program", "bookkeeper.add_request": "bookkeeper.append",
                "bookie.add": "bookkeeper.add_request", "bookie.journal_group": "bookie.add",
            },
        )  # fmt: skip
        for span in of_append:
            self.assertTrue(span.start_time <= span.end_time)
            if span.name == "bookie.add":
                (link,) = span.links
                self.assertEqual(by_id[link.context.span_id].name, "bookie.journal_group")
        (read,) = [span for span in spans if span.name == "bookie.batch_read"]
        above = by_id[by_id[by_id[read.parent.span_id].parent.span_id].parent.span_id]
        self.assertEqual((above.name, len(spans)), ("reading", len(of_append) + 4))


class DoorTests(TestCase):
    """The span of the caller is that of the thread and the task that calls, behind each door."""

    def setUp(self) -> None:
        self.exporter = provider_of(self)

    def parents(self) -> set[str]:
        """Names of the spans of which appends are a part, each in its own trace."""
        spans = self.exporter.get_finished_spans()
        by_id = {span.context.span_id: span.name for span in spans}
        found = [by_id[span.parent.span_id] for span in spans if span.name == "bookkeeper.append"]
        self.assertEqual(len(set(found)), len(found))
        return set(found)

    def test_blocking(self) -> None:
        """Of the blocking door."""
        from opentelemetry import trace

        tracer, config = trace.get_tracer("program"), ClientConfig(tracer="opentelemetry", trace_sample_ratio=0.0)
        with blocking_cluster() as cluster, cluster.connect(config) as client:
            writer: blocking.LedgerWriter = client.create_ledger()
            for name in ("one", "two"):
                with tracer.start_as_current_span(name):
                    writer.append(b"x")
            writer.append(b"x")
        self.assertEqual(self.parents(), {"one", "two"})

    def test_asyncio(self) -> None:
        """Of the asyncio door, where tasks take turns."""
        from opentelemetry import trace

        tracer, config = trace.get_tracer("program"), ClientConfig(tracer="opentelemetry", trace_sample_ratio=0.0)

        async def program() -> None:
            async with aio_cluster() as cluster, await cluster.connect(config) as client:
                writer = await client.create_ledger()

                async def append(name: str) -> None:
                    with tracer.start_as_current_span(name):
                        await asyncio.sleep(0)
                        await writer.append(b"x")

                await asyncio.gather(append("one"), append("two"), writer.append(b"x"))

        asyncio.run(program())
        self.assertEqual(self.parents(), {"one", "two"})
