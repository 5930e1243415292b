"""The command line of ``bookkeeper-spark``, without Spark."""

import io
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import __version__
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.spark.main import COMMANDS, client_options, main, parser


class ClientOptionTests(SynchronousTestCase):
    """The file of ``--conf``."""

    def test_options(self) -> None:
        """Keys of the client become options; others are left out with a warning that has no value in it."""
        output = io.StringIO()
        self.patch(sys, "stderr", output)
        path = Path(self.mktemp())
        path.write_text("tlsTrustStore=ca.pem\ntlsProviderFactoryClass=TLSContextFactory\nbookiePort=planted\n")
        wanted = {"bookkeeper.tlsTrustStore": "ca.pem", "bookkeeper.tlsProviderFactoryClass": "TLSContextFactory"}
        self.assertEqual(client_options(str(path)), wanted)
        self.assertIn("bookiePort", output.getvalue())
        self.assertNotIn("planted", output.getvalue())
        self.assertEqual(client_options(None), {})

    def test_mistakes(self) -> None:
        """A file that is not there, and a key without its effect, are refused by name."""
        path = Path(self.mktemp())
        path.write_text("tlsTrustStore=ca.pem\n")
        for name, wanted in ((str(path), "tlsProviderFactoryClass"), ("/none", "option --conf: /none: No such file")):
            self.assertIn(wanted, str(self.assertRaises(ConfigError, client_options, name)))

    def test_taken(self) -> None:
        """Each command takes the file."""
        for command in ("verify uri", "replicate uri", "export uri path", "import uri path", "usage p",
                        "compaction-plan uri p"):  # fmt: skip
            self.assertEqual(parser().parse_args([*command.split(), "--conf", "c"]).conf, "c")


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
