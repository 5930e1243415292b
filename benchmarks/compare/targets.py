"""What has to come out: ratios of our bookie to an Apache bookie, or to itself without TLS, in the same run."""

import attrs

PLAIN = "plain"
"""Our bookie with connections in clear, beside those within TLS."""

RAW = "raw"
"""No bookie, but the bare calls: those that write the same bytes to a journal and to a log, or a server of them."""

HIGHER_IS_BETTER = frozenset({"rate"})

FIGURES = {
    "rate": "entries/s",
    "cpu": "CPU s per million",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "seconds": "seconds",
    "idle_mib": "MiB idle",
    "loaded_mib": "MiB after adds",
}
"""What is measured, and how a reader calls it."""


@attrs.frozen
class Target:
    """One figure of a workload, as a ratio.

    :ivar figure: a key of :data:`FIGURES`.
    :ivar bound: at least this for a rate, at most this for what costs.
    :ivar against: the configuration of Apache's bookie, :data:`PLAIN`, or :data:`RAW`.
    """

    workload: str
    figure: str
    bound: float
    against: str = "java"

    @property
    def beside_apache(self) -> bool:
        """Whether the ratio is to Apache's bookie, and neither to the bare calls nor to ours in clear."""
        return self.against not in (PLAIN, RAW)

    def met(self, ratio: float) -> bool:
        """Whether a ratio is good enough."""
        return ratio >= self.bound if self.figure in HIGHER_IS_BETTER else ratio <= self.bound

    @property
    def text(self) -> str:
        """The bound with its direction."""
        return f"{'≥' if self.figure in HIGHER_IS_BETTER else '≤'} {self.bound:g}"


OF_PLAIN, OF_PLAIN_COSTS = 0.6, 1.67
"""What a bookie reaches within TLS, and what it costs, of what it does in clear."""


OF_RAW, OVER_RAW = 0.85, 1.18
"""What a bookie reaches of the rate of the bare calls, and what it takes longer than they."""


def _long(*workloads: str) -> list[Target]:
    """Against Apache's bookie; and against the bare calls, which say whether the disk is the limit."""
    return [Target(name, "rate", *bound) for name in workloads for bound in ((1.3, "java"), (OF_RAW, RAW))]


def _within_tls(*workloads: str) -> list[Target]:
    """Against Apache's bookie with TLS: no slower, no dearer; against ours in clear, what is lost at most."""
    bounds = (("rate", 1.0, "java"), ("cpu", 1.0, "java"), ("rate", OF_PLAIN, PLAIN), ("cpu", OF_PLAIN_COSTS, PLAIN))
    return [Target(workload, *bound) for workload in workloads for bound in bounds]


TARGETS = (
    Target("add-100B-1000-v2", "rate", 1.8),
    Target("add-100B-1000-v2", "cpu", 0.6),
    Target("add-100B-1000-v2", "p99_ms", 1.0),
    Target("add-1K-1000-v2", "rate", 1.5),
    Target("add-1K-1000-v2", "cpu", 0.6),
    Target("add-1K-1000-v2", "p99_ms", 0.4),
    Target("add-1K-1000-v3", "rate", 1.2),
    Target("add-1K-1000-v3", "cpu", 0.6),
    Target("add-1K-1000-v3", "p99_ms", 0.4),
    Target("add-1K-100-v2", "rate", 1.2, "tuned"),
    Target("add-1K-1-v2", "p50_ms", 0.8, "tuned"),
    Target("add-1K-1-v2", "p50_ms", OVER_RAW, RAW),
    Target("add-10K-200-v2", "rate", 1.5),
    *_long("long-10K", "long-64K", "long-1M"),
    Target("add-1K-E3W3A2-v2", "rate", 1.3),
    Target("add-100B-1000ledgers-v2", "rate", 1.0),
    Target("read-1K-sequential-v2", "rate", 1.6),
    Target("read-1K-sequential-v2", "rate", OF_RAW, RAW),
    Target("read-1K-sequential-v3", "rate", 1.2),
    Target("read-1K-random-v2", "rate", 2.0, "sorted"),
    Target("batch-100B-x100", "rate", 7.0),
    Target("batch-100B-x500", "rate", 15.0),
    Target("batch-1K-x100", "rate", 5.0),
    Target("batch-1K-x500", "rate", 4.0),
    Target("batch-1K-x100-v3", "rate", 3.0),
    Target("batch-1K-x500-v3", "rate", 3.0),
    Target("bp62-headline-b100", "rate", 6.0),
    Target("bp62-headline-b500", "rate", 10.0),
    Target("bp62-headline-single", "rate", 2.5),
    Target("client-batch-100B-x500", "rate", 2.0),
    Target("tail-read", "p50_ms", 0.4),
    Target("restart", "seconds", 0.6),
    Target("restart-registration-left", "seconds", 0.3),
    Target("start", "seconds", 0.4),
    Target("start", "idle_mib", 0.4),
    Target("start", "loaded_mib", 0.4),
    *_within_tls("tls-add-100B-1000-v2", "tls-add-100B-1000-v3", "tls-add-1K-1000-v2", "tls-add-1K-1000-v3"),
    *_within_tls("tls-add-10K-1000-v2", "tls-add-10K-1000-v3"),
    Target("tls-add-1K-1-v3", "p50_ms", 1.0, "tuned"),
    Target("tls-add-1K-1-v3", "p50_ms", OF_PLAIN_COSTS, PLAIN),
    *_within_tls("tls-read-1K-sequential-v2", "tls-read-1K-sequential-v3", "tls-read-100B-1-v2"),
    *_within_tls("tls-batch-100B-x100", "tls-batch-100B-x500", "tls-batch-1K-x100", "tls-batch-1K-x500"),
)

BATCH_FACTOR = 22.5
"""BP-62: entries by batches of 100 over entries one by one, for one synchronous caller, at least."""

WRITES_PER_1000 = 20.0
SYNCS_PER_1000 = 10.0
"""Socket writes and syncs for 1,000 acknowledged adds with 1,000 in flight, at most."""

SERVING_SECONDS = 0.6
IDLE_MIB = 80.0
"""Our bookie alone, on embedded metadata: time to serve and memory without load, at most."""


def against(workload: str) -> list[str]:
    """The configurations of Apache's bookie, PLAIN, or RAW, that a workload is compared with, without repetition."""
    return list(dict.fromkeys(target.against for target in TARGETS if target.workload == workload))
