"""Reads the figures that ``top`` shows from the metrics page of a bookie."""

from collections.abc import Mapping

import attrs
from prometheus_client.parser import text_string_to_metric_families

_ADDS = ("bookkeeper_server_ADD_ENTRY_REQUEST_count",)
_READS = (
    "bookkeeper_server_READ_ENTRY_REQUEST_count", "bookkeeper_server_BATCH_READ_ENTRY_RESPONSE_ENTRIES_sum",
)  # fmt: skip
_BYTES_IN, _BYTES_OUT = ("bookie_WRITE_BYTES",), ("bookie_READ_BYTES",)
_QUEUE, _CONNECTIONS = ("bookie_journal_JOURNAL_QUEUE_SIZE",), ("bookie_connections_active",)
_P99, _DISK = "bookkeeper_server_ADD_ENTRY_REQUEST", "bookie_ledger_dir_usage"
_STATUS = "bookie_SERVER_STATUS"
_WRITABLE = 1.0


@attrs.frozen
class MetricsSample:
    """The figures in the metrics page of a bookie; None for a figure that the page does not contain.

    :ivar at: when the page was read, in seconds of the reactor's clock.
    :ivar adds: entries added since the start of the bookie.
    :ivar reads: entries read since the start of the bookie, one by one or in batches.
    :ivar bytes_in: total size in bytes of the entries added since the start.
    :ivar bytes_out: total size in bytes of the entries read since the start.
    :ivar add_p99_ms: latency of successful adds, in ms, that 99 % of them do not exceed.
    :ivar journal_queue: number of adds that wait in the queues of the journals; adds of consecutive entries that
        arrive together count as one.
    :ivar disk_use: use of the fullest ledger disk, in percent.
    :ivar writable: whether the bookie reports that it is writable.
    """

    at: float
    adds: float | None = None
    reads: float | None = None
    bytes_in: float | None = None
    bytes_out: float | None = None
    add_p99_ms: float | None = None
    journal_queue: float | None = None
    disk_use: float | None = None
    connections: float | None = None
    writable: bool | None = None

    @classmethod
    def parse(cls, text: str, at: float) -> "MetricsSample":
        """Parse the ``text`` of a metrics page.

        :param at: when the page was read, in seconds of the reactor's clock.
        :raises ValueError: the text is not in the format of Prometheus.
        """
        sums: dict[str, float] = {}
        p99 = disk = None
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.value != sample.value:  # the value is NaN: a quantile of no observations
                    continue
                if sample.name == _P99 and sample.labels.get("quantile") == "0.99":
                    p99 = sample.value if sample.labels.get("success") != "false" else p99
                elif sample.name == _DISK:
                    disk = max(disk or 0.0, sample.value)
                else:
                    name = sample.name.removesuffix("_total")  # the parser appends "_total" to the names of counters
                    sums[name] = sums.get(name, 0.0) + sample.value
        status = sums.get(_STATUS)
        return cls(
            at, _sum(sums, _ADDS), _sum(sums, _READS), _sum(sums, _BYTES_IN), _sum(sums, _BYTES_OUT), p99,
            _sum(sums, _QUEUE), disk, _sum(sums, _CONNECTIONS), None if status is None else status == _WRITABLE,
        )  # fmt: skip


def _sum(sums: Mapping[str, float], names: tuple[str, ...]) -> float | None:
    found = [sums[name] for name in names if name in sums]
    return sum(found) if found else None
