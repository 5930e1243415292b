"""The alerts of ``contrib/prometheus``, evaluated by Prometheus itself: each fires when it should, and not before."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from .ours import RULES
from .promtool import as_yaml, promtool

PAGE = Path(__file__).parents[2] / "docs" / "metrics.rst"

_MINUTES = 480
_B1, _B2 = 'job="bookie",instance="b1"', 'job="bookie",instance="b2"'
_DISK = f'bookie_ledger_dir_usage{{{_B1},ledgerDir="/l"}}'
_USABLE = f'bookie_ledger_dir_usable{{{_B1},ledgerDir="/l"}}'
_JOURNAL_DISK = f'bookie_journal_dir_usage{{{_B1},journalDir="/j",journalIndex="0"}}'
_FAILED_ADDS = f'bookkeeper_server_ADD_ENTRY_REQUEST_count{{{_B1},success="false"}}'
_FAILED_FLUSHES = f'bookie_flush_count{{{_B1},success="false"}}'
_QUEUE = f'bookie_journal_JOURNAL_QUEUE_SIZE{{{_B1},journalIndex="0"}}'
_MEMORY = f'bookie_journal_JOURNAL_MEMORY_USED{{{_B1},journalIndex="0"}}'
_FAST = f'bookkeeper_server_ADD_ENTRY_REQUEST_ms_bucket{{{_B1},le="100.0"}}'
_MARKED = f"auditor_underreplicated_ledgers{{{_B1}}}"
_LOST = f"auditor_NUM_LEDGERS_HAVING_NO_REPLICA_OF_AN_ENTRY{{{_B1}}}"

_CERTIFICATE = f'tls_certificate_expires_at_seconds{{{_B1},server="bookie"}}'

HEALTHY = {
    f"up{{{_B1}}}": "1x480",
    f"bookie_SERVER_STATUS{{{_B1}}}": "1x480",
    f"bookie_SERVER_STATUS{{{_B2}}}": "1x480",
    _DISK: "70+0.005x480",
    _USABLE: "1x480",
    _JOURNAL_DISK: "40x480",
    _FAILED_FLUSHES: "3x480",
    _FAST: "0+1000x480",
    f'bookkeeper_server_ADD_ENTRY_REQUEST_ms_bucket{{{_B1},le="200.0"}}': "0+1000x480",
    f'bookkeeper_server_ADD_ENTRY_REQUEST_ms_bucket{{{_B1},le="+Inf"}}': "0+1000x480",
    f'bookkeeper_server_ADD_ENTRY_REQUEST_count{{{_B1},success="true"}}': "0+1000x480",
    _FAILED_ADDS: "0+1x480",
    _QUEUE: "100x480",
    f"bookie_JOURNAL_QUEUE_MAX_SIZE{{{_B1}}}": "10000x480",
    _MEMORY: "10x480",
    f'bookie_journal_JOURNAL_MEMORY_MAX{{{_B1},journalIndex="0"}}': "1000x480",
    f"bookie_damaged_runs{{{_B1}}}": "0x480",
    f"bookie_damaged_entry_logs{{{_B1}}}": "0x480",
    _CERTIFICATE: "9000000x480",
    f"auditor_in_office{{{_B1}}}": "1x480",
    f"auditor_in_office{{{_B2}}}": "0x480",
    _MARKED: "900-2x450 0x30",
    f"auditor_underreplicated_ledgers{{{_B2}}}": "0x480",
    _LOST: "0x480",
}
"""Series of eight hours, a value a minute, that are no reason for an alert."""


@attrs.frozen
class Fault:
    """One series that differs.

    :ivar alert: the one alert that this is a reason for.
    :ivar quiet, fires: minutes after which the alert does not fire yet, and after which it does.
    """

    alert: str
    series: str
    values: str
    quiet: int
    fires: int


FAULTS = (
    Fault("BookieDown", f"up{{{_B1}}}", "1x29 0x450", 31, 32),
    Fault("BookieReadOnly", f"bookie_SERVER_STATUS{{{_B2}}}", "1x29 0x450", 34, 35),
    Fault("BookieNotRegistered", f"bookie_SERVER_STATUS{{{_B2}}}", "1x29 -1x450", 34, 35),
    Fault("LedgerDirectoryGone", _USABLE, "1x29 0x450", 31, 32),
    Fault("LedgerDiskFullInADay", _DISK, "70x29 70+0.05x450", 209, 210),
    Fault("JournalDiskAlmostFull", _JOURNAL_DISK, "40x29 91x450", 39, 40),
    Fault("CheckpointsFail", _FAILED_FLUSHES, "3x29 3+1x450", 34, 40),
    Fault("SlowAdds", _FAST, "0+1000x29 30000+900x450", 35, 50),
    Fault("FailingAdds", _FAILED_ADDS, "0+1x29 30+20x450", 35, 50),
    Fault("JournalQueueFull", _QUEUE, "100x29 9000x450", 34, 35),
    Fault("JournalQueueFull", _MEMORY, "10x29 900x450", 34, 35),
    Fault("DamagedEntries", f"bookie_damaged_runs{{{_B1}}}", "0x29 1x450", 29, 30),
    Fault("DamagedEntries", f"bookie_damaged_entry_logs{{{_B1}}}", "0x29 1x450", 29, 30),
    Fault("CertificateExpires", _CERTIFICATE, "9000000x29 1000000x450", 89, 90),
    Fault("AuditorMissing", f"auditor_in_office{{{_B1}}}", "1x29 0x450", 39, 40),
    Fault("AuditorMissing", f"auditor_in_office{{{_B1}}}", "1x29 _x450", 40, 45),
    Fault("UnderreplicatedLedgersNotFalling", _MARKED, "900-2x59 700x450", 175, 185),
    Fault("LedgersWithoutReplica", _LOST, "0x29 1x450", 29, 30),
)


def _test(series: Mapping[str, str], expected: Mapping[int, set[str]]) -> dict[str, Any]:
    """A unit test of Prometheus.

    :param expected: by minute, the names of the alerts that fire.
    """
    firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)],
            }
            for minute, names in expected.items()
        ],
    }


class AlertTests(SynchronousTestCase):
    """The rules."""

    timeout = 120

    def check(self, *tests: dict[str, Any]) -> None:
        """Lets Prometheus run tests of the rules."""
        content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": list(tests)}
        status, text = promtool("test", "rules", as_yaml(Path(self.mktemp()), content))
        self.assertEqual(status, 0, text)

    def test_rules(self) -> None:
        """Prometheus takes the rules, templates included; each says what to do."""
        status, text = promtool("check", "rules", RULES)
        self.assertEqual(status, 0, text)
        rules = re.split(r"^ +- alert: ", RULES.read_text(), flags=re.M)[1:]
        self.assertEqual({rule.split()[0] for rule in rules}, {fault.alert for fault in FAULTS})
        for rule in rules:
            for part in (r"severity: (critical|warning)$", r'summary: ".+"$', r"runbook: >-$"):
                self.assertEqual(len(re.findall(part, rule, re.M)), 1, rule)

    def test_documentation(self) -> None:
        """The page about metrics lists each alert with its severity."""
        rules = re.findall(r"- alert: (\w+)$.*?severity: (\w+)$", RULES.read_text(), re.M | re.S)
        self.assertEqual(re.findall(r"^``([A-Z]\w+)`` +(critical|warning) ", PAGE.read_text(), re.M), rules)

    def test_healthy(self) -> None:
        """A healthy cluster is no reason for an alert."""
        self.check(_test(HEALTHY, {minute: set() for minute in range(0, _MINUTES, 30)}))

    def test_faults(self) -> None:
        """Each alert fires for its reason, alone, and not before the reason has lasted."""
        self.check(
            *[
                _test({**HEALTHY, fault.series: fault.values}, {fault.quiet: set(), fault.fires: {fault.alert}})
                for fault in FAULTS
            ]
        )

    def test_notices(self) -> None:
        """A test that expects what is not so fails."""
        with self.assertRaises(self.failureException):
            self.check(_test(HEALTHY, {60: {"BookieDown"}}))
