"""The workloads: what is sent, how often, and over what data.

Names say operation, payload size, requests in flight or entries a batch, and wire protocol.  Digests are
CRC32C, every add is synced, and there is one bookie unless the name says otherwise.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

import attrs

Kind = Literal["add", "long", "read", "batch", "group", "client", "tail", "restart", "start"]

DATA = {100: 1_000_100, 1024: 200_000}
"""Entries of the ledger that is read, by payload size."""

HOT = 80_000
"""The first entries of the 1 KiB ledger; they fit the read caches of every bookie at its defaults."""


@attrs.frozen
class Workload:
    """One workload.

    :ivar warmup, count: requests before and in the measured part; for ``client`` and ``tail``, entries.
    :ivar wire: version of the wire protocol.
    :ivar apache_wire: where Apache does not offer the operation in that version, the one it is driven by;
        such a workload is always driven by our own generator.
    :ivar ledgers: ledgers that are written in turn.
    :ivar run: entries that each of them gets in its turn; more than one only by our own generator.
    :ivar repeats: how often the adds are sent, each time to another ledger; for ``long``, by our own generator.
    :ivar bookies, acks: write quorum and ack quorum.
    :ivar entries: how much of the ledger is read, 0: all.
    :ivar registered: the killed bookie's registration stays until its session ends.
    :ivar tls: within TLS; such a workload is always driven by our own generator.
    """

    name: str
    kind: Kind
    size: int
    inflight: int
    warmup: int
    count: int
    wire: int = 2
    apache_wire: int | None = None
    ledgers: int = 1
    run: int = 1
    repeats: int = 1
    bookies: int = 1
    acks: int = 1
    batch: int = 1
    order: str = "seq"
    entries: int = 0
    registered: bool = False
    tls: bool = False

    def scaled(self, scale: float) -> "Workload":
        """The same with fewer requests; those in flight stay."""
        count, repeats = max(int(self.count * scale), 20), max(int(self.repeats * scale), 1)
        return attrs.evolve(self, warmup=int(self.warmup * scale), count=count, repeats=repeats)


WORKLOADS = (
    Workload("add-100B-1000-v2", "add", 100, 1000, 100_000, 600_000),
    Workload("add-1K-1000-v2", "add", 1024, 1000, 50_000, 400_000),
    Workload("add-1K-1000-v3", "add", 1024, 1000, 50_000, 300_000, wire=3),
    Workload("add-1K-100-v2", "add", 1024, 100, 20_000, 100_000),
    Workload("add-1K-1-v2", "add", 1024, 1, 200, 1_000),
    Workload("add-10K-200-v2", "add", 10_240, 200, 5_000, 40_000),
    Workload("long-10K", "long", 10_240, 200, 0, 52_429, repeats=16),
    Workload("long-64K", "long", 65_536, 64, 0, 8_192, repeats=16),
    Workload("long-1M", "long", 1_048_576, 8, 0, 512, repeats=16),
    Workload("add-1K-E3W3A2-v2", "group", 1024, 1000, 50_000, 150_000, bookies=3, acks=2),
    Workload("add-100B-1000ledgers-v2", "add", 100, 1000, 100_000, 400_000, ledgers=1000),
    Workload("read-1K-sequential-v2", "read", 1024, 200, 80_000, 400_000, entries=HOT),
    Workload("read-1K-sequential-v3", "read", 1024, 200, 80_000, 400_000, wire=3, entries=HOT),
    Workload("read-1K-random-v2", "read", 1024, 200, 5_000, 50_000, order="random"),
    Workload("batch-100B-x100", "batch", 100, 4, 1_000, 12_000, batch=100),
    Workload("batch-100B-x500", "batch", 100, 4, 300, 3_000, batch=500),
    Workload("batch-1K-x100", "batch", 1024, 4, 300, 4_000, batch=100),
    Workload("batch-1K-x500", "batch", 1024, 4, 100, 800, batch=500),
    Workload("batch-1K-x100-v3", "batch", 1024, 4, 300, 4_000, wire=3, apache_wire=2, batch=100),
    Workload("batch-1K-x500-v3", "batch", 1024, 4, 100, 800, wire=3, apache_wire=2, batch=500),
    Workload("bp62-headline-b100", "batch", 100, 1, 1_000, 10_001, batch=100),
    Workload("bp62-headline-b500", "batch", 100, 1, 200, 2_000, batch=500),
    Workload("bp62-headline-single", "read", 100, 1, 5_000, 60_000),
    Workload("client-batch-100B-x500", "client", 100, 4, 400_000, 1_500_000, batch=500),
    Workload("tail-read", "tail", 1024, 1, 12_000, 10_000),
    Workload("restart", "restart", 1024, 1000, 0, 65_536),
    Workload("restart-registration-left", "restart", 1024, 1000, 0, 65_536, registered=True),
    Workload("start", "start", 100, 1000, 0, 600_000),
    Workload("tls-add-100B-1000-v2", "add", 100, 1000, 50_000, 400_000, tls=True),
    Workload("tls-add-100B-1000-v3", "add", 100, 1000, 50_000, 300_000, wire=3, tls=True),
    Workload("tls-add-1K-1000-v2", "add", 1024, 1000, 30_000, 200_000, tls=True),
    Workload("tls-add-1K-1000-v3", "add", 1024, 1000, 30_000, 200_000, wire=3, tls=True),
    Workload("tls-add-10K-1000-v2", "add", 10_240, 1000, 5_000, 40_000, tls=True),
    Workload("tls-add-10K-1000-v3", "add", 10_240, 1000, 5_000, 40_000, wire=3, tls=True),
    Workload("tls-add-1K-1-v3", "add", 1024, 1, 200, 2_000, wire=3, tls=True),
    Workload("tls-read-1K-sequential-v2", "read", 1024, 200, 80_000, 200_000, entries=HOT, tls=True),
    Workload("tls-read-1K-sequential-v3", "read", 1024, 200, 80_000, 200_000, wire=3, entries=HOT, tls=True),
    Workload("tls-read-100B-1-v2", "read", 100, 1, 2_000, 20_000, tls=True),
    Workload("tls-batch-100B-x100", "batch", 100, 4, 1_000, 12_000, batch=100, tls=True),
    Workload("tls-batch-100B-x500", "batch", 100, 4, 300, 4_000, batch=500, tls=True),
    Workload("tls-batch-1K-x100", "batch", 1024, 4, 300, 5_000, batch=100, tls=True),
    Workload("tls-batch-1K-x500", "batch", 1024, 4, 100, 1_000, batch=500, tls=True),
)


def chosen(patterns: Sequence[str]) -> list[Workload]:
    """Those whose names match one of the patterns; all if there is none."""
    return [w for w in WORKLOADS if not patterns or any(fnmatchcase(w.name, pattern) for pattern in patterns)]
