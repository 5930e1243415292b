"""The metrics of an auditor.  The metrics that Apache's auditor also has are exported under the names used there."""

from collections.abc import Callable

from ...instruments import Instruments
from ...model import AuditorCheck

_PREFIX = "auditor_"


class AuditorMetrics:
    """The metrics of the auditor of one process, elected or not.  All times are in milliseconds.

    :ivar audit: durations of the audits of lost bookies.
    :ivar index: the same durations as ``audit``, for dashboards made for Apache.  Apache's auditor has this metric for
        its first phase, the reads of all metadata.  Here an audit has one phase: it marks ledgers while it reads.
    :ivar published: durations of the audits that have marked at least one ledger.
    :ivar checks: durations of each periodic check.
    :ivar marked, marked_bytes: number and length of the ledgers that each audit or check marked.
    :ivar delayed: number of audits that were scheduled after a delay, because one bookie was lost.
    :ivar cancelled: number of delayed audits that were cancelled, because the lost bookie returned.
    :ivar skipped: periodic checks that were postponed because an audit was delayed.
    :ivar checked: ledgers that were checked.
    :ivar inconclusive: ledgers whose check was inconclusive, because a bookie could not answer.
    :ivar failed: audits and checks that failed and are tried again.
    """

    def __init__(self, instruments: Instruments) -> None:
        self.audit = instruments.summary(_PREFIX + "AUDIT_BOOKIES_TIME")
        self.index = instruments.summary(_PREFIX + "BOOKIE_TO_LEDGERS_MAP_CREATION_TIME")
        self.published = instruments.summary(_PREFIX + "URL_PUBLISH_TIME_FOR_LOST_BOOKIE")
        self.checks = {
            AuditorCheck.ALL_LEDGERS: instruments.summary(_PREFIX + "CHECK_ALL_LEDGERS_TIME"),
            AuditorCheck.PLACEMENT: instruments.summary(_PREFIX + "PLACEMENT_POLICY_CHECK_TIME"),
            AuditorCheck.REPLICAS: instruments.summary(_PREFIX + "REPLICAS_CHECK_TIME"),
        }
        self.marked = instruments.summary(_PREFIX + "NUM_UNDER_REPLICATED_LEDGERS")
        self.marked_bytes = instruments.summary(_PREFIX + "UNDER_REPLICATED_LEDGERS_TOTAL_SIZE")
        self.bookies_per_ledger = instruments.summary(_PREFIX + "NUM_BOOKIES_PER_LEDGER")
        self.fragments_per_ledger = instruments.summary(_PREFIX + "NUM_FRAGMENTS_PER_LEDGER")
        self.checked = instruments.counter(_PREFIX + "NUM_LEDGERS_CHECKED")
        self.delayed = instruments.counter(_PREFIX + "NUM_BOOKIE_AUDITS_DELAYED")
        self.cancelled = instruments.counter(_PREFIX + "NUM_DELAYED_BOOKIE_AUDITS_CANCELLED")
        self.skipped = instruments.counter(_PREFIX + "NUM_SKIPPING_CHECK_TASK_TIMES")
        self.inconclusive = instruments.counter(_PREFIX + "inconclusive_ledgers")
        self.failed = instruments.counter(_PREFIX + "failed_runs")
        self.elections = instruments.counter(_PREFIX + "elections")
        self.findings = CheckResults()
        self._watch(instruments)

    def _watch(self, instruments: Instruments) -> None:
        findings = self.findings
        gauges: dict[str, Callable[[], float]] = {
            "NUM_LEDGERS_NOT_ADHERING_TO_PLACEMENT_POLICY": lambda: findings.not_adhering,
            # Always 0: only Apache's zone-aware policy has a result between "satisfied" and "violated" ("softly
            # adhering"), and this package does not have that policy.
            "NUM_LEDGERS_SOFTLY_ADHERING_TO_PLACEMENT_POLICY": lambda: 0,
            "NUM_UNDERREPLICATED_LEDGERS_ELAPSED_RECOVERY_GRACE_PERIOD": lambda: findings.left_behind,
            "NUM_LEDGERS_HAVING_NO_REPLICA_OF_AN_ENTRY": lambda: findings.no_replica,
            "NUM_LEDGERS_HAVING_LESS_THAN_AQ_REPLICAS_OF_AN_ENTRY": lambda: findings.below_ack_quorum,
            "NUM_LEDGERS_HAVING_LESS_THAN_WQ_REPLICAS_OF_AN_ENTRY": lambda: findings.below_write_quorum,
            "underreplicated_ledgers": lambda: findings.marked,
            "left_out_ledgers": lambda: findings.left_out,
            "in_office": lambda: findings.in_office,
        }
        for name, read in gauges.items():
            instruments.gauge(_PREFIX + name, read)


class CheckResults:
    """The results of the last complete periodic checks, which the metrics export.

    :ivar marked: number of ledgers that are marked as underreplicated, at the last count; 0 if this process is not the
        elected auditor.
    :ivar left_behind: number of ledgers whose underreplicated marks are older than the grace period for marks.
    :ivar left_out: number of ledgers that audits could not read, and that are read again; 0 like ``marked``.
    :ivar in_office: 1 while this process is the elected auditor of the cluster, else 0.
    """

    def __init__(self) -> None:
        self.not_adhering = 0
        self.left_behind = 0
        self.marked = 0
        self.no_replica = 0
        self.below_ack_quorum = 0
        self.below_write_quorum = 0
        self.left_out = 0
        self.in_office = 0
