"""The configuration of a running process, read again after SIGHUP."""

import os
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.condition import Condition
from bookkeeper_twisted.cli.options import AutorecoveryOptions, Options
from bookkeeper_twisted.cli.process.reloading import Reload
from bookkeeper_twisted.config.bookie import BookieConfig


class _Service:
    """Takes what it is given."""

    role = "bookie"
    bookie_id = "b"
    port = http_port = 0

    def __init__(self, config: BookieConfig) -> None:
        self.config = config
        self.taken = 0

    def start(self) -> "Deferred[None]":
        return succeed(None)

    def stop(self) -> "Deferred[None]":
        return succeed(None)

    def condition(self) -> Condition:
        return Condition("serving")

    def take(self, config: BookieConfig) -> None:
        self.config, self.taken = config, self.taken + 1


class ReloadTests(SynchronousTestCase):
    """A process with two services and a file."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())

    def start(self, text: str, *arguments: str, environ: dict[str, str] | None = None) -> None:
        """Start with a file of this text."""
        self.path.write_text(text)
        options = Options()
        options.environ = environ or {}
        options.parseOptions(["--conf", str(self.path), "--data", "d", "--metadataServiceUri=memory:", *arguments])
        config = options.configs[0]
        self.services = [_Service(config), _Service(config)]
        self.reload = Reload(options.read, (config, options.client), self.services)

    def lines(self, text: str | None) -> list[str]:
        """What is logged after SIGHUP with another file."""
        if text is None:
            self.path.unlink()
        else:
            self.path.write_text(text)
        with capturedLogs() as events:
            self.reload()
        self.always = [event.get("log_always", False) for event in events]
        return [f"{event['log_level'].name}: {formatEvent(event)}" for event in events]

    def test_changed(self) -> None:
        """What can change is changed in all services; one line has the keys, and those that need a restart."""
        self.start("gcWaitTime=5000\nbookiePort=3181\n")
        said = self.lines("gcWaitTime=6000\nlogLevels=kazoo:error\nbookiePort=3182\nmaxConnections=7\n")
        self.assertEqual(
            said,
            [
                "info: SIGHUP, the configuration was read again: changed gcWaitTime: 5000 -> 6000, "
                "logLevels: empty -> kazoo:error; a restart is needed for bookiePort, maxConnections"
            ],
        )
        self.assertEqual(self.always, [True])
        for service in self.services:
            self.assertEqual((service.config.gc_wait_time, service.config.bookie_port), (6000, 3181))
            self.assertEqual(service.config.levels, {"default": "info", "kazoo": "error"})

    def test_restart_is_said_again(self) -> None:
        """A key that needs a restart is named after each SIGHUP until it has its old value."""
        self.start("")
        needed = "info: SIGHUP, the configuration was read again: a restart is needed for bookiePort"
        self.assertEqual(self.lines("bookiePort=1\n") + self.lines("bookiePort=1\n"), [needed, needed])
        self.assertEqual(
            self.lines("bookiePort=3181\n"),
            ["info: SIGHUP, the configuration was read again: nothing has changed"],
        )

    def test_broken(self) -> None:
        """A file that cannot be read or has one bad value changes nothing, and one line says why."""
        self.start("gcWaitTime=5000\n")
        for text, said in (
            ("gcWaitTime=6000\nlogLevel=loud\n", "logLevel = 'loud', "),
            ("gcWaitTime=6000\ngcWaitTime=7000\n", "gcWaitTime, .*: set before"),
            ("gcWaitTime=6000\nlogLevel=\\u12\n", "hexadecimal"),
            ("\0" * 100, "not a text file"),
            (None, "option --conf: .*: No such file"),
        ):
            (line,) = self.lines(text)
            self.assertRegex(line, f"^error: SIGHUP changes nothing: the configuration cannot be used: .*{said}")
        self.assertEqual([service.taken for service in self.services], [0, 0])

    def test_pipe(self) -> None:
        """A pipe has nothing more to read, and nobody who writes to it may come: it is not opened."""
        self.start("gcWaitTime=5000\n")
        self.path.unlink()
        os.mkfifo(self.path)
        with capturedLogs() as events:
            self.reload()
        self.assertIn("a pipe cannot be read again", formatEvent(events[0]))
        self.assertEqual([service.taken for service in self.services], [0, 0])

    def test_does_not_fit(self) -> None:
        """Live values that do not fit to those of one service change no service."""
        self.start("minUsableSizeForEntryLogCreation=5\n")
        self.services[1].config = BookieConfig(gc_wait_time=1, minor_compaction_interval=1)
        object.__setattr__(self.services[1].config, "listen_endpoint", "ssl:1")
        object.__setattr__(self.services[1].config, "tls_provider_factory_class", "TLSContextFactory")
        (line,) = self.lines("gcWaitTime=6000\n")
        self.assertRegex(line, "^error: SIGHUP changes nothing: .*listenEndpoint")
        self.assertEqual([service.taken for service in self.services], [0, 0])

    def test_file_wins(self) -> None:
        """A value that an administrator has changed becomes that of the file again, or the default."""
        self.start("gcWaitTime=5000\n")
        self.services[0].take(BookieConfig(gc_wait_time=7))
        (line,) = self.lines("gcWaitTime=5000\n")
        self.assertTrue(line.endswith("changed gcWaitTime: 7 -> 5000"), line)
        self.assertEqual(self.services[0].config.gc_wait_time, 5000)

    def test_sources(self) -> None:
        """The command line and the environment still win over the file."""
        self.start("", "--gcWaitTime=5000", environ={"BK_scrubInterval": "7"})
        self.assertTrue(self.lines("gcWaitTime=6000\nscrubInterval=8\n")[0].endswith("nothing has changed"))

    def test_secret(self) -> None:
        """Neither a changed secret nor a bad value of one is in the line."""
        self.start("allowInsecureConnections=true\n")
        said = self.lines("allowInsecureConnections=true\nhttpServerKeyStorePassword=hunter2\n")
        self.assertNotIn("hunter2", said[0])
        self.assertIn("a restart is needed for httpServerKeyStorePassword", said[0])

    def test_warnings(self) -> None:
        """A key that is unknown, and was not in the file at the start, is warned of as the start does."""
        self.start("prop=1\n")
        line, warning = self.lines("prop=1\ngcWaitTme=1\n")
        self.assertTrue(line.endswith("again: nothing has changed"), line)
        self.assertRegex(warning, "^warn: gcWaitTme, .*:2: unknown key, ignored; is gcWaitTime meant.$")

    def test_keys_of_the_client(self) -> None:
        """Keys of the client of autorecovery need a restart, in a bookie's process and in one of its own."""
        self.start("readEntryTimeoutSec=1\n", "--autoRecoveryDaemonEnabled=true")
        self.assertTrue(self.lines("readEntryTimeoutSec=2\n")[0].endswith("restart is needed for readEntryTimeoutSec"))
        options = AutorecoveryOptions()
        options.environ = {}
        options.parseOptions(["--conf", str(self.path), "--metadataServiceUri=memory:"])
        services: list[Any] = [_Service(options.config)]
        self.reload = Reload(options.read, (options.config, options.client), services)
        said = self.lines("readEntryTimeoutSec=3\nreplicationRateByBytes=9\n")
        self.assertIn("changed replicationRateByBytes: -1 -> 9; a restart is needed for readEntryTimeoutSec", said[0])
        self.assertEqual(services[0].config.replication_rate_by_bytes, 9)

    def test_other_directory(self) -> None:
        """Paths of the command line are those of the directory of the start."""
        self.path = Path(self.mktemp())
        self.start("")
        other = Path(self.mktemp())
        other.mkdir()
        before = Path.cwd()
        os.chdir(other)
        self.addCleanup(os.chdir, before)
        self.path = before / self.path
        self.assertTrue(self.lines("")[0].endswith("nothing has changed"))
