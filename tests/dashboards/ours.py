"""The dashboards and alerts of ``contrib``, and the metrics that they ask for."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .selectors import Selector

CONTRIB = Path(__file__).parents[2] / "contrib"
RULES = CONTRIB / "prometheus" / "bookkeeper-alerts.yml"
DASHBOARDS = sorted((CONTRIB / "grafana").glob("*.json"))

_SELECTOR = re.compile(
    r"\b((?:bookie|bookkeeper|auditor|replication_worker|ledger_checker|throttle|process|http_server)_\w+)(\{[^}]*\})?"
)
_OF_PROMETHEUS = re.compile(r'(?:job|instance)=~?"[^"]*",?')


def asked() -> list[Selector]:
    """The selectors of all dashboards and alerts, without the labels that Prometheus adds, each once.

    The texts of alerts are searched, too: what they tell the reader to look at has to be there.
    """
    texts = [each for path in DASHBOARDS for each in expressions(load(path))] + [RULES.read_text()]
    found = [match for text in texts for match in _SELECTOR.findall(text)]
    lines = dict.fromkeys(name + _OF_PROMETHEUS.sub("", labels).replace("{}", "") for name, labels in found)
    return [Selector.of(line) for line in lines]


def panels(dashboard: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The panels of a dashboard that show something."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(dashboard: Mapping[str, Any]) -> Iterator[str]:
    """The queries of a dashboard."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield target["expr"]


def load(path: Path) -> Mapping[str, Any]:
    """A dashboard."""
    found: Mapping[str, Any] = json.loads(path.read_text())
    return found
