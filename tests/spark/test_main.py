"""The command line of ``bookkeeper-spark``, without Spark."""

import io
import sys

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import __version__
from bookkeeper_twisted.spark.main import COMMANDS, main


class CommandLineTests(SynchronousTestCase):
    """What it says of itself."""

    def _said(self, *arguments: str) -> str:
        output = io.StringIO()
        self.patch(sys, "stdout", output)
        self.assertEqual(self.assertRaises(SystemExit, main, arguments).code, 0)
        return output.getvalue()

    def test_version(self) -> None:
        """``--version`` is answered with the version."""
        self.assertEqual(self._said("--version"), f"bookkeeper-spark {__version__}\n")

    def test_help(self) -> None:
        """``--help`` names every command, an example and the page of the documentation."""
        text = self._said("--help")
        for named in (*COMMANDS, "Example:", "docs/spark.rst"):
            self.assertIn(named, text)
