"""``python -m benchmarks spark [ENTRIES SIZE]...``: what reading a ledger through Spark costs, against two other ways.

(a) a plain loop over the batch reads of our client in this process; (b) Spark over the same rows in Parquet on the
local disk.  Three bookies run in a process of their own; Spark has one core.  Each way counts the entries and adds up
their bytes, and the sums have to be the writer's.  Runs are interleaved; the best of three counts.  A last query
compares the sum of the CRC-32 of all payloads with the writer's.  Each ledger is one line of JSON; ``peaks`` are the
most memory in MiB that each kind of process had while Spark read the ledger.
"""

import argparse
import json
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted.blocking import BookKeeper

from .spark_setting import forget_peaks, peaks, session, three_bookies

CASES = ((500_000, 100), (5_000_000, 100), (100_000, 1024), (1_000_000, 1024))
RUNS = 3

LOOP, SPARK, PARQUET = "client, plain loop", "Spark, ledger", "Spark, Parquet"


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark", description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, metavar="ENTRIES SIZE", help="of each ledger")
    numbers: list[int] = parser.parse_args(arguments).numbers
    cases = list(zip(numbers[::2], numbers[1::2], strict=True)) or CASES
    with three_bookies() as (uri, directory), BookKeeper.connect(uri) as client:
        spark = session("local[1]")
        for entries, size in cases:
            ledger, checksum = _write(client, entries, size)
            frame = spark.read.format("bookkeeper").option("metadataServiceUri", uri).option("ledger", ledger).load()
            found = _Case(spark, client, ledger, frame, directory / f"{ledger}.parquet").measured(entries, size)
            row = frame.selectExpr("count(*) AS entries", "sum(crc32(payload)) AS checksum").first()
            assert (row.entries, row.checksum) == (entries, checksum), f"{row} is not what was written"
            print(json.dumps({**found, "checksum": "the writer's"}), flush=True)
        spark.stop()
    return 0


@attrs.define
class _Case:
    """One ledger, and the rows of it in Parquet."""

    spark: Any
    client: BookKeeper
    ledger: int
    frame: Any
    path: Path
    peaks: dict[str, int] = attrs.field(factory=dict)

    def measured(self, entries: int, size: int) -> dict[str, object]:
        """What each way costs."""
        self.frame.write.parquet(str(self.path))
        ways: dict[str, Callable[[], tuple[int, int]]] = {LOOP: self._loop, SPARK: self._ledger, PARQUET: self._parquet}
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(RUNS):
            for name, way in ways.items():
                began = time.perf_counter()
                found = way()
                best[name] = min(best[name], time.perf_counter() - began)
                assert found == (entries, entries * size), f"{name}: {found}"
        rates = {
            name: {"entries/s": round(entries / seconds), "MB/s": round(entries * size / seconds / 1e6, 1),
                   "of the loop": round(best[LOOP] / seconds, 2)}
            for name, seconds in best.items()
        }  # fmt: skip
        return {"entries": entries, "size": size, **rates, "peaks": self.peaks}

    def _loop(self) -> tuple[int, int]:
        entries = n_bytes = 0
        with self.client.open_ledger(self.ledger) as reader:
            for batch in reader.batches():
                entries += len(batch)
                n_bytes += sum(map(len, batch.payloads))
        return entries, n_bytes

    def _ledger(self) -> tuple[int, int]:
        forget_peaks()
        found = _sums(self.frame)
        self.peaks = {kind: max(mib, self.peaks.get(kind, 0)) for kind, mib in peaks().items()}
        return found

    def _parquet(self) -> tuple[int, int]:
        return _sums(self.spark.read.parquet(str(self.path)))


def _write(client: BookKeeper, entries: int, size: int) -> tuple[int, int]:
    """Write a ledger: its id, and the sum of the CRC-32 of all payloads."""
    checksum = 0
    with client.create_ledger(3, 3, 2) as ledger:
        for at in range(0, entries, 10_000):
            payloads = [
                n.to_bytes(8, "big") * (size // 8) + bytes(size % 8) for n in range(at, min(at + 10_000, entries))
            ]
            checksum += sum(map(zlib.crc32, payloads))
            ledger.append_many(payloads)
    return int(ledger.ledger_id), checksum


def _sums(frame: Any) -> tuple[int, int]:
    row = frame.selectExpr("count(*) AS entries", "sum(octet_length(payload)) AS bytes").first()
    return row.entries, row.bytes
