"""Runs as wire frames, ready to be sent: laid out and sealed in a claim log, or sealed as entries and then encoded."""

import math
from collections.abc import Callable, Iterator, Sequence

from bookkeeper_twisted.client.writing.exclusive_log import ExclusiveLog
from bookkeeper_twisted.client.writing.frame_shape import V2Shape
from bookkeeper_twisted.client.writing.log_terms import TermPool
from bookkeeper_twisted.codec import v2
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.model import DigestType

_LEDGER = 1
_ENTRIES = 2000
Best = Callable[[int, Sequence[Callable[[], None]]], list[float]]


def sealing_rows(rounds: int, best: Best) -> Iterator[tuple[str, float, float]]:
    """Name, bar (there is none: these are for the sight), figure."""
    digester = Digester(DigestType.CRC32C, b"")
    shape = V2Shape(_LEDGER, digester.size, digester.master_key)
    log = ExclusiveLog.unbounded(shape, TermPool(prepared=3))

    def in_log(payloads: Sequence[bytes]) -> None:
        log.offer_many(payloads)
        while (frames := log.take(1 << 20)) is not None:
            frames.seal(shape, digester, _LEDGER, 0, -1, 0)
            frames.data(0, frames.count)
            log.acknowledge(frames.end)

    def encoded(payloads: Sequence[bytes]) -> None:
        v2.encode_adds(digester.master_key, digester.seal(_LEDGER, 0, -1, 0, payloads), 0)

    for name, sizes in (("100 B", [100]), ("mixed", range(50, 150))):
        for count in (1, 16, 100, 1000):
            payloads = [bytes(sizes[i % len(sizes)]) for i in range(count)]

            def way(run: Callable[[Sequence[bytes]], None], payloads: Sequence[bytes] = payloads) -> Callable[[], None]:
                def runs() -> None:
                    for _ in range(_ENTRIES // len(payloads)):
                        run(payloads)

                return runs

            ours, theirs = best(rounds, [way(in_log), way(encoded)])
            yield f"runs of {count} laid out in a log / encoded, {name}", math.inf, ours / theirs
