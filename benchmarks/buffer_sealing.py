"""Entries as wire frames, ready to be sent: sealed by columns, or sealed as stored entries and then encoded."""

import math
from collections.abc import Callable, Iterator, Sequence

from bookkeeper_twisted.codec import v2
from bookkeeper_twisted.codec.adds import mix_headers, seal_adds
from bookkeeper_twisted.codec.digest import Digester, pack_headers
from bookkeeper_twisted.model import DigestType

_LEDGER = 1
_ENTRIES = 2000
Best = Callable[[int, Sequence[Callable[[], None]]], list[float]]


def sealing_rows(rounds: int, best: Best) -> Iterator[tuple[str, float, float]]:
    """Name, bar (there is none: these are for the sight), figure."""
    digester = Digester(DigestType.CRC32C, b"")

    def of_one(payloads: Sequence[bytes]) -> None:
        count = len(payloads)
        headers = pack_headers(_LEDGER, 0, -1, 0, list(map(len, payloads)))
        seal_adds(digester, (_LEDGER,) * count, range(count), headers, payloads)

    def of_many(payloads: Sequence[bytes]) -> None:
        ids, zeros, lengths = range(len(payloads)), (0,) * len(payloads), list(map(len, payloads))
        seal_adds(digester, ids, zeros, mix_headers(ids, zeros, zeros, lengths), payloads)

    def encoded(payloads: Sequence[bytes]) -> None:
        v2.encode_adds(digester.master_key, digester.seal(_LEDGER, 0, -1, 0, payloads), 0)

    for name, sizes in (("100 B", [100]), ("variable", range(50, 150))):
        for count in (1, 16, 100, 1000):
            payloads = [bytes(sizes[i % len(sizes)]) for i in range(count)]

            def way(run: Callable[[Sequence[bytes]], None], payloads: Sequence[bytes] = payloads) -> Callable[[], None]:
                def runs() -> None:
                    for _ in range(_ENTRIES // len(payloads)):
                        run(payloads)

                return runs

            one, many, apart = best(rounds, [way(of_one), way(of_many), way(encoded)])
            yield f"batches of {count}, one ledger / sealed, then encoded, {name}", math.inf, one / apart
            yield f"batches of {count}, {count} ledgers / sealed, then encoded, {name}", math.inf, many / apart
