"""The cases: what is sent, and what has to come out."""

import attrs

FIRST_ID = 1 << 21
"""Where entry and request ids begin: up to 2^28 their varints have four bytes, so that V3 frames have one length."""


@attrs.frozen
class Case:
    """One workload against one bookie.

    :ivar mode: ``add``, ``read`` or ``batch``.
    :ivar size: payload bytes of an entry.
    :ivar warmup, count: requests before and in the measured part.
    :ivar rate_ratio: our rate over Apache's in the same run has to be at least this, None: not judged.
    :ivar p50_ratio: our median latency over Apache's has to be at most this.
    :ivar writes_per_1000, syncs_per_1000: at most so many for 1,000 acknowledged adds.
    """

    name: str
    mode: str
    wire: int
    size: int
    inflight: int
    warmup: int
    count: int
    batch: int = 1
    rate_ratio: float | None = None
    p50_ratio: float | None = None
    writes_per_1000: float | None = None
    syncs_per_1000: float | None = None


def _adds() -> list[Case]:
    cases = []
    for wire in (2, 3):
        for size, label in ((100, "100B"), (1024, "1K")):
            for inflight, count in ((1, 1500), (100, 60_000), (1000, 200_000)):
                full = inflight == 1000
                cases.append(
                    Case(
                        f"add-{label}-{inflight}-v{wire}", "add", wire, size, inflight, max(count // 4, 200), count,
                        rate_ratio=1.0 if full and wire == 2 else None,
                        p50_ratio=0.2 if inflight == 1 and wire == 2 else None,
                        writes_per_1000=20 if full else None,
                        syncs_per_1000=10 if full else None,
                    )
                )
    return cases


def _reads() -> list[Case]:
    cases = [
        Case(f"read-{label}-200-v{wire}", "read", wire, size, 200, 20_000, 100_000)
        for wire in (2, 3)
        for size, label in ((100, "100B"), (1024, "1K"))
    ]
    for wire in (2, 3):
        for size, label in ((100, "100B"), (1024, "1K")):
            for batch in (100, 500):
                count = 400_000 // batch if size == 1024 else 1_500_000 // batch
                ratio = 2.0 if wire == 2 else None  # Apache has no batch read in V3
                cases.append(
                    Case(f"batch-{label}-x{batch}-v{wire}", "batch", wire, size, 4, count // 5, count, batch, ratio)
                )
    return cases


CASES: list[Case] = [*_adds(), *_reads()]

READ_ENTRIES = {100: 1_000_100, 1024: 200_000}
"""Entries the reading cases find, by payload size."""

STARTUP_SECONDS = 0.6
IDLE_MIB = 80.0
