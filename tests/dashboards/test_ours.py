"""The dashboards of ``contrib/grafana``: Grafana can show them, and Prometheus can read their queries."""

import re
from itertools import combinations
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .ours import DASHBOARDS, expressions, load, panels
from .promtool import as_yaml, promtool


def _plain(expression: str) -> str:
    """A query without Grafana's variables."""
    return re.sub(r"\$__(rate_interval|range)", "5m", expression).replace("$job", ".*").replace("$instance", ".*")


class DashboardTests(SynchronousTestCase):
    """What the files say."""

    timeout = 120

    def test_panels(self) -> None:
        """Each panel has a number, a title, an explanation, queries of the chosen Prometheus, a place."""
        self.assertEqual(len(DASHBOARDS), 3)
        for path in DASHBOARDS:
            dashboard = load(path)
            self.assertEqual(path.stem, dashboard["uid"])
            every = dashboard["panels"]
            self.assertEqual(len({panel["id"] for panel in every}), len(every))
            for panel in panels(dashboard):
                self.assertTrue(panel["title"] and panel["description"].endswith("."), panel["title"])
                self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                self.assertTrue(panel["targets"])
            for one, other in combinations([panel["gridPos"] for panel in every], 2):
                beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
                self.assertTrue(beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"])

    def test_variables(self) -> None:
        """A query has no variable but those of its dashboard and of Grafana."""
        for path in DASHBOARDS:
            dashboard = load(path)
            known = {variable["name"] for variable in dashboard["templating"]["list"]}
            used = set(re.findall(r"\$(\w+)", " ".join(expressions(dashboard))))
            self.assertLessEqual(used, known | {"__rate_interval", "__range"})

    def test_expressions(self) -> None:
        """Prometheus takes each query."""
        queries = [_plain(each) for path in DASHBOARDS for each in expressions(load(path))]
        rules = [{"record": f"query:{number}", "expr": each} for number, each in enumerate(queries)]
        content = {"groups": [{"name": "queries", "rules": rules}]}
        status, text = promtool("check", "rules", as_yaml(Path(self.mktemp()), content))
        self.assertEqual(status, 0, text)
        self.assertIn(f"{len(queries)} rules found", text)
