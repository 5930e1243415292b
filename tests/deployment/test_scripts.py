"""The scripts of the chart's jobs, with a shell that says what it is told to."""

import os
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from .chart import NAME, container_of, the

_SHELL = """#!/bin/sh
echo "$2 $3 $4" >> asked
test -e "$2" && cat "$2"
"""
_LINE = "bookie {{bookieAddr=BookieID:{0}, IP:10.0.0.1, Port:3181, Hostname:{0}}}\n"


class ScaleDownTests(SynchronousTestCase):
    """A bookie that leaves; ``tests.integration.test_rolling_restart`` has a real shell."""

    def setUp(self) -> None:
        self.place = Path(self.mktemp()).absolute()
        self.place.mkdir()
        program = self.place / "bookkeeper-twisted"
        program.write_text(_SHELL)
        program.chmod(0o755)

    def says(self, command: str, text: str) -> None:
        """Let a command of the shell print that; one that prints nothing fails."""
        (self.place / command).write_text(text)

    def bookies(self, *names: str) -> None:
        """Let these have cookies."""
        self.says("listbookies", "".join(["All Bookies :\n", *map(_LINE.format, names)]))

    def marked(self, count: int) -> None:
        """Let so many ledgers be under-replicated."""
        self.says("listunderreplicated", f"Under replicated ledger count {{count={count}}}\n")

    def run_(self, job: str, replicas: int = 3) -> tuple[int, str]:
        """The status of a job and what it prints, with so many replicas."""
        container = container_of(the("Job", job))
        environ = {each["name"]: each["value"] for each in container["env"]} | {
            "PATH": f"{self.place}:{os.environ['PATH']}", "REPLICAS": str(replicas),
        }  # fmt: skip
        command = [*container["command"], *container["args"]]
        done = subprocess.run(command, env=environ, cwd=self.place, capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_nobody(self) -> None:
        """Nobody leaves if there are as many replicas as before, or more; other clusters' bookies do not count."""
        self.bookies(f"{NAME}-0", f"{NAME}-2", f"{NAME}2-7", f"x-{NAME}-8", f"{NAME}-9.zone:3181", "10.0.0.9:3181")
        for replicas in (3, 5):
            self.assertEqual(self.run_("check-scale-down", replicas), (0, "no bookie leaves\n"))

    def test_marked(self) -> None:
        """Nobody may leave while ledgers are under-replicated."""
        self.bookies(*(f"{NAME}-{number}" for number in range(4)))
        self.marked(7)
        text = f"refused: 7 ledgers are under-replicated; bookie {NAME}-3 cannot leave now\n"
        self.assertEqual(self.run_("check-scale-down"), (1, text))
        self.marked(0)
        self.assertEqual(self.run_("check-scale-down"), (0, f"bookie {NAME}-3 may leave\n"))

    def test_together(self) -> None:
        """Two do not leave at a time; numbers are compared as numbers."""
        self.bookies(*(f"{NAME}-{number}" for number in range(12)))
        self.marked(0)
        text = f"refused: bookies 10 11 of {NAME} would leave; let one leave at a time\n"
        self.assertEqual(self.run_("check-scale-down", 10), (1, text))
        self.assertEqual(self.run_("check-scale-down", 11), (0, f"bookie {NAME}-11 may leave\n"))

    def test_unknown(self) -> None:
        """A store that does not answer is no permission."""
        self.assertNotEqual(self.run_("check-scale-down")[0], 0)
        self.bookies(*(f"{NAME}-{number}" for number in range(4)))
        self.assertNotEqual(self.run_("check-scale-down")[0], 0)
        self.says("listunderreplicated", "something else\n")
        self.assertEqual(self.run_("check-scale-down")[0], 1)

    def test_decommission(self) -> None:
        """Who has left is decommissioned when it has stopped, and a failure of that is one of the job."""
        self.bookies(f"{NAME}-0", f"{NAME}-3")
        self.assertNotEqual(self.run_("decommission")[0], 0)
        asked = (self.place / "asked").read_text().splitlines()
        self.assertEqual(asked[1:], [f"endpointinfo -b {NAME}-3", f"decommissionbookie -bookieid {NAME}-3"])
        self.says("decommissionbookie", "done\n")
        self.assertEqual(self.run_("decommission"), (0, "done\n"))
        self.assertEqual(self.run_("decommission", 4), (0, ""))

    def test_initialize(self) -> None:
        """A cluster that is there is as good as one that is made, and no answer is neither."""
        self.assertNotEqual(self.run_("initialize")[0], 0)
        self.says("whatisinstanceid", "id\n")
        self.assertEqual(self.run_("initialize"), (0, "id\n"))
        self.says("initnewcluster", "made\n")
        self.assertEqual(self.run_("initialize"), (0, "made\n"))
