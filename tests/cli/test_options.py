"""The command line of ``twistd bookie``."""

import io
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted import __version__
from bookkeeper_twisted.cli.options import PROTECTION, ZOOKEEPER, Options, groups
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.embedding import standalone_configs
from bookkeeper_twisted.errors import ConfigError


def _parse(*arguments: str, environ: Mapping[str, str] = {}) -> list[BookieConfig]:
    options = Options()
    options.environ = environ
    options.parseOptions(list(arguments))
    return list(options.configs)


class OptionsTests(SynchronousTestCase):
    """Arguments, environment and file to configurations."""

    def _one(self, *arguments: str, environ: Mapping[str, str] = {}) -> BookieConfig:
        (config,) = _parse(*arguments, environ=environ)
        return config

    def _refusal(self, *arguments: str, environ: Mapping[str, str] = {}) -> str:
        refused = self.assertRaises(SystemExit, _parse, *arguments, environ=environ)
        self.assertIsInstance(refused.code, str)  # printed to stderr, status 1
        return str(refused.code)

    def _file(self, text: str | bytes) -> str:
        path = Path(self.mktemp())
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def test_version(self) -> None:
        """``twistd bookie --version`` is answered with our version beside Twisted's."""
        output = io.StringIO()
        self.patch(sys, "stdout", output)
        self.assertEqual(self.assertRaises(SystemExit, _parse, "--version").code, 0)
        self.assertRegex(output.getvalue(), rf"^bookkeeper-twisted {re.escape(__version__)}, Twisted [\d.]+\n$")

    def test_nothing_given(self) -> None:
        """Without arguments there is one bookie with the defaults."""
        self.assertEqual(self._one(), BookieConfig())

    def test_both_spellings(self) -> None:
        """A key takes its value after a blank or after ``=``."""
        self.assertEqual(self._one("--bookiePort", "7").bookie_port, 7)
        self.assertEqual(self._one("--bookiePort=7").bookie_port, 7)

    def test_priority(self) -> None:
        """Command line over environment over file."""
        path = self._file("bookiePort=1\nhttpServerPort=1\ndiskCheckInterval=1\n")
        environ = {"BK_bookiePort": "2", "BK_httpServerPort": "2"}
        config = self._one("--conf", path, "--bookiePort", "3", environ=environ)
        self.assertEqual((config.bookie_port, config.http_server_port, config.disk_check_interval), (3, 2, 1))
        self.assertEqual(config.origin("bookie_port"), "option --bookiePort")
        self.assertEqual(config.origin("disk_check_interval"), f"{path}:3")

    def test_data(self) -> None:
        """``--data`` places journal and entries; a key of its own wins over it, and it over the file."""
        path = self._file("journalDirectories=/j\nledgerDirectories=/l\n")
        config = self._one("--conf", path, "--data", "/d", "--ledgerDirectories", "/m")
        self.assertEqual(config.journal_directories, ("/d/journal",))
        self.assertEqual(config.ledger_directories, ("/m",))

    def test_relative_data(self) -> None:
        """A relative ``--data`` is taken from where the command runs, before twistd goes elsewhere."""
        self.assertEqual(self._one("--data", "d").journal_directories, (str(Path("d/journal").absolute()),))

    def test_unknown_key_in_the_file(self) -> None:
        """An unknown key in a file warns."""
        path = self._file("bookiePrt=1\n")
        warning = f"bookiePrt, {path}:1: unknown key, ignored; is bookiePort meant?"
        self.assertEqual(self._one("--conf", path).warnings, (warning,))

    def test_unknown_option(self) -> None:
        """An unknown option is refused: the typing error is at hand."""
        self.assertEqual(self._refusal("--bookiePrt", "1"), "bookie: option --bookiePrt not recognized")

    def test_stray_argument(self) -> None:
        """An argument that belongs to no option is refused."""
        self.assertEqual(self._refusal("bk_server.conf"), "bookie: Wrong number of arguments.")

    def test_bad_values(self) -> None:
        """A bad value is answered with key, origin and reason, from wherever it comes."""
        path = self._file("\nbookiePort=x\n")
        self.assertEqual(self._refusal("--conf", path), f"bookie: bookiePort = 'x', {path}:2: expected an integer")
        self.assertEqual(
            self._refusal(environ={"BK_bookiePort": "70000"}),
            "bookie: bookiePort = '70000', environment variable BK_bookiePort: must be from 0 to 65535",
        )
        self.assertEqual(
            self._refusal("--journalSyncData", "maybe"),
            "bookie: journalSyncData = 'maybe', option --journalSyncData: expected true or false",
        )

    def test_missing_file(self) -> None:
        """A file that is not there is named."""
        self.assertEqual(
            self._refusal("--conf", "/no/such"), "bookie: option --conf: /no/such: No such file or directory"
        )

    def test_endless_file(self) -> None:
        """A file without an end is refused."""
        self.assertEqual(
            self._refusal("--conf", "/dev/zero"), "bookie: option --conf: /dev/zero: longer than 16 MiB"
        )

    def test_binary_file(self) -> None:
        """A file that is no text is refused, not half read."""
        path = self._file(b"bookiePort=\xff\xfe\n")
        self.assertEqual(self._refusal("--conf", path), f"bookie: option --conf: {path}: not a text file")

    def test_help_is_grouped(self) -> None:
        """``--help`` has the keys by subject, none wider than a terminal."""
        text = Options().getUsage(80)
        headings = [line for line in text.splitlines() if line and line[0].isupper() and line.endswith(":")]
        self.assertEqual(headings[:4], ["Options:", "Address and identity:", "Directories:", "Metadata:"])
        self.assertLess(text.index("Journal:"), text.index("--journalSyncData="))
        self.assertLess(text.index("--journalSyncData="), text.index("Entry logs, caches:"))
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_help_names_every_key(self) -> None:
        """Each key of the table is in ``--help`` with its default."""
        text = " ".join(str(Options()).split())
        for field in fields_of(BookieConfig).values():
            self.assertIn(f"--{field.key}=", text)
        self.assertIn("[default: 10000 ms]", text)


class StandaloneTests(SynchronousTestCase):
    """Several bookies in one process."""

    def test_bookies_share_metadata_and_nothing_else(self) -> None:
        """Ports count up; directories are apart; the metadata file is one; the address is this machine."""
        configs = _parse("--standalone", "3", "--data", "/d", "--bookiePort", "4000")
        self.assertEqual([c.bookie_port for c in configs], [4000, 4001, 4002])
        self.assertEqual([c.bookie_id for c in configs], ["", "", ""])
        self.assertEqual({c.metadata_service_uri for c in configs}, {"sqlite:////d/metadata.db"})
        self.assertEqual({(c.advertised_address, c.allow_loopback) for c in configs}, {("127.0.0.1", True)})
        directories = [d for c in configs for d in (*c.journal_directories, *c.ledger_directories)]
        self.assertEqual(len(set(directories)), 6)
        self.assertEqual([c.index_directories for c in configs], [c.ledger_directories for c in configs])

    def test_ports_of_the_system(self) -> None:
        """A port that changes at every start is no identity."""
        configs = _parse("--standalone", "2", "--data", "/d", "--bookiePort", "0")
        self.assertEqual([(c.bookie_port, c.bookie_id) for c in configs], [(0, "bookie-0"), (0, "bookie-1")])

    def test_one_http_server(self) -> None:
        """The first bookie has the HTTP server."""
        configs = _parse("--standalone", "2", "--data", "/d", "--httpServerEnabled", "true")
        self.assertEqual([c.http_server_enabled for c in configs], [True, False])
        self.assertEqual([c.prometheus_stats_http_enable for c in configs], [True, False])

    def test_given_metadata_and_address(self) -> None:
        """What was said explicitly is kept."""
        arguments = ("--metadataServiceUri", "memory:x", "--advertisedAddress", "h")
        (config,) = _parse("--standalone", "1", "--data", "/d", *arguments)
        self.assertEqual((config.metadata_service_uri, config.advertised_address), ("memory:x", "h"))

    def test_refusals(self) -> None:
        """A bad number, a missing directory and keys that can belong to one bookie only are refused."""
        for arguments, reason in (
            (("--standalone", "0", "--data", "/d"), "option --standalone: '0' is not a number from 1 to 100"),
            (("--standalone", "x", "--data", "/d"), "option --standalone: 'x' is not a number from 1 to 100"),
            (("--standalone", "2"), "option --standalone: needs --data DIR"),
            (
                ("--standalone", "2", "--data", "/d", "--bookieId", "b"),
                "bookieId, option --bookieId: cannot be set with --standalone",
            ),
            (
                ("--standalone", "2", "--data", "/d", "--listenEndpoint", "tcp:3181"),
                "listenEndpoint, option --listenEndpoint: cannot be set with --standalone",
            ),
        ):
            with self.subTest(reason):
                refused = self.assertRaises(SystemExit, _parse, *arguments)
                self.assertEqual(refused.code, f"bookie: {reason}")

    def test_ports_end(self) -> None:
        """Ports beyond the last one are refused like any bad value."""
        config = BookieConfig(bookie_port=65535)
        error = self.assertRaises(ConfigError, standalone_configs, config, 2, "/d")
        self.assertIn("must be from 0 to 65535", str(error))


class GroupsTests(SynchronousTestCase):
    """Keys by subject: :func:`groups`."""

    def test_every_key_once(self) -> None:
        """Each key is in one group."""
        for config in (BookieConfig, ClientConfig):
            found = [attribute for fields in groups(config).values() for attribute, _ in fields]
            self.assertEqual(sorted(found), sorted(fields_of(config)))

    def test_subjects(self) -> None:
        """A key is in the group it is declared in; what all configurations share comes last."""
        found = groups(BookieConfig)
        self.assertIn("journal_max_size_mb", dict(found["journal"]))
        self.assertEqual(list(found)[-2:], [PROTECTION, ZOOKEEPER])
        self.assertIn("zk_timeout", dict(found[ZOOKEEPER]))
        self.assertEqual([attribute for attribute, _ in found[PROTECTION]], ["allow_insecure_connections"])
