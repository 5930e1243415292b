"""A bookie or a client of ``python -m benchmarks tracing``, of the source tree that ``PYTHONPATH`` names first.

``bookie URI DIRECTORY`` serves until its standard input ends.  ``client URI`` appends on request: a line as ``{"keys":
{"trace_sample_ratio": 0.01}, "count": 30000}`` is answered by the seconds that it took, and those of the processor.
"""

import gc
import json
import sys
import time
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.stdio import StandardIO
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from bookkeeper_twisted.client import BookKeeper
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.embedding.production import make_bookie

_reactor: Any = reactor
_PAYLOAD = bytes(100)
_IN_FLIGHT = 200


class Dropping(SpanExporter):
    """An exporter that drops all spans, so that nothing is measured but what is done here."""

    def export(self, spans: object) -> SpanExportResult:
        """Succeed."""
        return SpanExportResult.SUCCESS


def _tracing() -> dict[str, Any]:
    """The keys of a process with a tracer; none in a tree that has no traces."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Dropping()))
    trace.set_tracer_provider(provider)
    try:
        import bookkeeper_twisted.tracing  # noqa: F401
    except ImportError:
        return {}
    return {"tracer": "opentelemetry"}


class Answers(LineOnlyReceiver):
    """Takes a line for each round, and answers with one; the end of the input ends the process."""

    delimiter = b"\n"

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._tracing = _tracing()
        self._writers: dict[str, Any] = {}

    async def _writer(self, keys: dict[str, Any]) -> Any:
        name = repr(keys)
        if name not in self._writers:
            config = ClientConfig(wire_protocol="v3", **({**self._tracing, **keys} if keys else {}))
            client = await BookKeeper.connect(_reactor, self._uri, config)
            self._writers[name] = await client.create_ledger(3, 3, 2)
        return self._writers[name]

    async def _round(self, keys: dict[str, Any], count: int) -> dict[str, float]:
        writer, end, running, left = await self._writer(keys), Deferred[None](), _IN_FLIGHT, count

        def again(_: object) -> None:
            nonlocal running, left
            if left:
                left -= 1
                writer.append(_PAYLOAD).addCallback(again)
            else:
                running -= 1
                if not running:
                    end.callback(None)

        gc.collect()
        begun, used = time.perf_counter(), time.process_time()
        for _ in range(_IN_FLIGHT):
            again(None)
        await end
        return {"wall": time.perf_counter() - begun, "cpu": time.process_time() - used}

    def lineReceived(self, line: bytes) -> None:
        """Measure a round."""
        work = Deferred.fromCoroutine(self._round(**json.loads(line)))
        work.addCallbacks(lambda found: self.sendLine(json.dumps(found).encode()), self._broken)

    def _broken(self, failure: Failure) -> None:
        failure.printTraceback()
        _reactor.stop()

    def connectionLost(self, reason: object = None) -> None:
        """End."""
        if _reactor.running:
            _reactor.stop()


def main() -> None:
    """Be what the arguments say."""
    role, uri, *more = sys.argv[1:]
    answers = Answers(uri)

    async def begin() -> None:
        if role == "bookie":
            (directory,) = more
            bookie_keys = {**answers._tracing, "traced_requests_max_per_second": 0} if answers._tracing else {}
            config = BookieConfig(
                bookie_port=0, listening_interface="lo", allow_loopback=True, metadata_service_uri=uri,
                journal_directories=(f"{directory}/journal",), ledger_directories=(f"{directory}/ledgers",),
                journal_pre_alloc_size_mb=16, journal_max_size_mb=256, **bookie_keys,
            )  # fmt: skip
            await make_bookie(_reactor, config).start()
        StandardIO(answers)
        answers.sendLine(b"ready")

    def failed(failure: Failure) -> None:
        failure.printTraceback()
        _reactor.stop()

    _reactor.callWhenRunning(lambda: Deferred.fromCoroutine(begin()).addErrback(failed))
    _reactor.run()


if __name__ == "__main__":
    main()
