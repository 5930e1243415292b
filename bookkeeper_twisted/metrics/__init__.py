"""The metrics of a bookie, grouped by layer, under the names that Apache's bookie exports.

For speed, a value is recorded once for many entries that were processed together, never for each entry:
``summary.success.record(ms, count)``.

Some numbers are exported under several names, because the names differ between versions of Apache's bookie, and
dashboards for older versions should work, too.
"""

from ..instruments import Instruments, new_registry, pieces, process_registry, render
from .bookie import BookieMetrics, JournalGroup, JournalMetrics
from .maintenance import MaintenanceMetrics, ScrubMetrics
from .requests import AuthorizationMetrics, ConnectionMetrics, RequestMetrics, watch_certificate
from .storage import DiskMetrics, StorageMetrics, directory_labels
from .throttles import AdaptiveMetrics, ThrottleMetrics

__all__ = [
    "AdaptiveMetrics", "AuthorizationMetrics", "BookieMetrics", "ConnectionMetrics", "DiskMetrics", "Instruments",
    "JournalGroup", "JournalMetrics", "MaintenanceMetrics", "RequestMetrics", "ScrubMetrics", "StorageMetrics",
    "ThrottleMetrics", "directory_labels", "new_registry", "pieces", "process_registry", "render", "watch_certificate",
]  # fmt: skip
