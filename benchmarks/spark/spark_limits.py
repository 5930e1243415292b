"""``python -m benchmarks spark_limits [SECONDS]``: how exactly ``verify`` keeps a speed limit of the whole cluster.

Ledgers of different sizes are on three bookies; Spark, on ``local-cluster[2,1,1024]``, reads every replica: without a
limit, with one of bytes and with one of entries, which are chosen so that a run takes SECONDS (25).  Each run is a
line of JSON.  ``error`` is that of the rate between the first read and the last one, as the command prints it, and
``error of the application`` that of everything that was read over the time that the whole query took.
"""

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

from bookkeeper_twisted.blocking import BookKeeper
from bookkeeper_twisted.limits.ratelimit import UNLIMITED, Rate

from .spark_setting import session, three_bookies

EXECUTORS = 2
LEDGERS, LARGEST, SIZE = 60, 8_000, 1024
"""Ledgers, entries of the largest of them, a sixtieth of it in the smallest, and bytes of an entry."""


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_limits", description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=25.0, metavar="SECONDS")
    seconds: float = parser.parse_args(arguments).seconds
    with three_bookies() as (uri, _):
        with BookKeeper.connect(uri) as client:
            written = sum(_write(client, LARGEST * n // LEDGERS) for n in range(1, LEDGERS + 1))
        spark = session(f"local-cluster[{EXECUTORS},1,1024]")
        entries, n_bytes = _verified(spark, uri, "without limits", UNLIMITED)
        assert entries == 3 * written, f"{entries} entries were read, and {written} written to three bookies"
        _verified(spark, uri, "bytes", Rate(bytes=n_bytes / seconds))
        _verified(spark, uri, "entries", Rate(entries=entries / seconds))
        spark.stop()
    return 0


def _write(client: BookKeeper, entries: int) -> int:
    with client.create_ledger(3, 3, 2) as ledger:
        ledger.append_many([bytes(SIZE)] * entries)
    return entries


def _verified(spark: Any, uri: str, what: str, limit: Rate) -> tuple[int, int]:
    """Verify everything once, and print how fast it was; returns the entries and bytes that were read."""
    from bookkeeper_twisted.spark.pipelines import verify

    began = time.monotonic()
    findings = verify.verify(verify.fragments(spark, uri), limit=limit, parallelism=EXECUTORS).persist()
    sums = findings.selectExpr("sum(entries) AS entries", "sum(bytes) AS bytes", "max(ended) - min(began) AS seconds")
    row = sums.first()
    total, speed = time.monotonic() - began, verify.speed(findings)
    assert not findings.where("status != 'ok'").count()
    findings.unpersist()
    figures = {"limit of": what, "entries/s": round(speed.entries), "MB/s": round(speed.bytes / 1e6, 2),
               "seconds": round(row.seconds, 2), "seconds of the application": round(total, 2)}  # fmt: skip
    if limit:
        allowed = limit.bytes or limit.entries
        rate, done = (speed.bytes, row.bytes) if limit.bytes else (speed.entries, row.entries)
        figures |= {"limit": round(allowed), "error": f"{rate / allowed - 1:+.1%}",
                    "error of the application": f"{done / total / allowed - 1:+.1%}"}  # fmt: skip
    print(json.dumps(figures), flush=True)
    return int(row.entries), int(row.bytes)
