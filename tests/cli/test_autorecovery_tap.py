"""``twistd autorecovery``: options, the plugin, what is refused."""

from pathlib import Path
from typing import Any

from twisted.application.service import IService, IServiceMaker
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs
from twisted.plugin import getPlugins
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted.cli import autorecovery_tap
from bookkeeper_twisted.cli.options import AutorecoveryOptions, Options
from bookkeeper_twisted.cli.process.bookies import Bookies
from bookkeeper_twisted.cli.process.clock_steps import ClockSteps
from bookkeeper_twisted.cli.process.reloading import Reload
from bookkeeper_twisted.cli.process.service_manager import ServiceManager


class OptionsTests(SynchronousTestCase):
    """Keys of autorecovery, of its client, and of the bookie whose file they share."""

    def _parsed(self, *arguments: str, environ: dict[str, str] | None = None) -> AutorecoveryOptions:
        options = AutorecoveryOptions()
        options.environ = environ or {}
        options.parseOptions(list(arguments))
        return options

    def _file(self, text: str) -> str:
        path = Path(self.mktemp())
        path.write_text(text)
        return str(path)

    def test_sources(self) -> None:
        """File, environment and options count in this order, for autorecovery and its client."""
        path = self._file("auditorPeriodicCheckInterval=1\nrwRereplicateBackoffMs=1\nreadEntryTimeoutSec=1\n")
        environ = {"BK_rwRereplicateBackoffMs": "2", "BK_addEntryTimeoutSec": "2"}
        options = self._parsed("--conf", path, "--replicationConcurrentLedgers=3", environ=environ)
        config = options.config
        self.assertEqual(
            (config.auditor_periodic_check_interval, config.rw_rereplicate_backoff_ms), (1, 2)
        )  # fmt: skip
        self.assertEqual(config.replication_concurrent_ledgers, 3)
        self.assertEqual((options.client.read_entry_timeout_sec, options.client.add_entry_timeout_sec), (1.0, 2.0))

    def test_file_of_a_bookie(self) -> None:
        """Keys of the bookie are no reason to warn, keys of clients neither, mistakes are."""
        path = self._file("journalDirectories=/j\nstickyReadSEnabled=true\nauditorPeriodicCheckIntervall=1\n")
        options = self._parsed("--conf", path)
        self.assertTrue(options.client.sticky_reads_enabled)
        self.assertEqual(options.config.warnings, (
            f"auditorPeriodicCheckIntervall, {path}:3: unknown key, ignored; is auditorPeriodicCheckInterval meant?",
        ))
        self.assertEqual(options.client.warnings, ())

    def test_refused(self) -> None:
        """A value that cannot be used ends the process with one line that names this program."""
        refused = self.assertRaises(SystemExit, self._parsed, "--replicationConcurrentLedgers=0")
        self.assertRegex(str(refused.code), r"^autorecovery: replicationConcurrentLedgers = '0'")

    def test_services(self) -> None:
        """Both services run unless one is chosen; other words are refused with the choice."""
        self.assertEqual(self._parsed().config.auto_recovery_services, ("auditor", "worker"))
        self.assertEqual(self._parsed("--autoRecoveryServices=Worker").config.auto_recovery_services, ("worker",))
        refused = self.assertRaises(SystemExit, self._parsed, "--autoRecoveryServices=auditor,janitor")
        self.assertEqual(
            refused.code, "autorecovery: autoRecoveryServices = 'auditor,janitor', option --autoRecoveryServices: "
            "expected one or more of auditor, worker, separated by commas, each once",
        )  # fmt: skip

    def test_help(self) -> None:
        """``--help`` has the keys that count here, by subject, and no others."""
        text = AutorecoveryOptions().getUsage(80)
        for expected in (
            "Auditor:",
            "Replication worker:",
            "--replicationRateByBytes=",
            "--metadataServiceUri=",
            "--conf=",
        ):
            self.assertIn(expected, text)
        self.assertNotIn("--journalDirectories=", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


class DaemonOptionsTests(SynchronousTestCase):
    """Autorecovery in the process of a bookie."""

    def _parsed(self, *arguments: str) -> Options:
        options = Options()
        options.environ = {}
        options.parseOptions(["--data=/d", *arguments])
        return options

    def test_keys_of_clients(self) -> None:
        """They count where autorecovery runs, and are unknown where it does not."""
        path = Path(self.mktemp())
        path.write_text("readEntryTimeoutSec=7\n")
        alone = self._parsed("--conf", str(path))
        self.assertEqual(alone.configs[0].warnings, (f"readEntryTimeoutSec, {path}:1: unknown key, ignored",))
        both = self._parsed("--conf", str(path), "--autoRecoveryDaemonEnabled=true")
        self.assertEqual((both.configs[0].warnings, both.client.read_entry_timeout_sec), ((), 7.0))

    def test_standalone(self) -> None:
        """A standalone cluster has it once, with short pauses, unless it is switched off or has one bookie."""
        configs = self._parsed("--standalone=3").configs
        self.assertEqual([config.auto_recovery_daemon_enabled for config in configs], [True, False, False])
        self.assertEqual(configs[0].open_ledger_rereplication_grace_period, 5000)
        configs = self._parsed("--standalone=3", "--openLedgerRereplicationGracePeriod=9").configs
        self.assertEqual(configs[0].open_ledger_rereplication_grace_period, 9)
        for arguments in (["--standalone=1"], ["--standalone=2", "--autoRecoveryDaemonEnabled=false"]):
            self.assertFalse(self._parsed(*arguments).configs[0].auto_recovery_daemon_enabled)


class ServiceTests(SynchronousTestCase):
    """From options to a service; nothing is opened before it starts."""

    def _options(self, *arguments: str) -> AutorecoveryOptions:
        options = AutorecoveryOptions()
        options.environ = {}
        options.parseOptions(["--metadataServiceUri=memory:", "--allowLoopback=true", *arguments])
        return options

    def _service(self, options: AutorecoveryOptions) -> Bookies:
        reactor = MemoryReactorClock()
        return autorecovery_tap.autorecovery_service(reactor, options, lambda: None, ServiceManager(None, reactor))

    def test_service(self) -> None:
        """There is a service, and the log says which version it is."""
        with capturedLogs() as events:
            service = self._service(self._options())
        self.assertTrue(verifyObject(IService, service))
        self.assertIn("bookkeeper-twisted", events[0]["log_format"])

    def test_log_level(self) -> None:
        """The log of the process has the level of its options, info by default; a bad level is refused."""
        levels: list[str] = []
        said: list[int] = []
        self.patch(autorecovery_tap, "begin_log", lambda config: levels.append(config.log_level))
        self.patch(autorecovery_tap, "forbid_cores", lambda config: said.append(config.http_server_port))
        statuses: list[Any] = []

        def service(reactor: Any, options: AutorecoveryOptions, fail: Any, manager: ServiceManager) -> Bookies:
            statuses.append(fail.__self__)
            return Bookies(lambda failed: [], fail, manager, ClockSteps(reactor), reactor)

        self.patch(autorecovery_tap, "autorecovery_service", service)
        for arguments in ([], ["--logLevel=debug"]):
            autorecovery_tap.makeService(self._options(*arguments))
        self.assertEqual((levels, len(said)), (["info", "debug"], 2))
        self.assertTrue(all(isinstance(status.on_hangup.args[0], Reload) for status in statuses))
        refused = self.assertRaises(SystemExit, self._options, "--logLevel=2")
        self.assertRegex(str(refused.code), "^autorecovery: logLevel = '2', option --logLevel: expected one of debug, ")

    def test_unknown_interface(self) -> None:
        """An interface that is not there ends the process with one line."""
        options = self._options("--listeningInterface=nope0")
        refused = self.assertRaises(SystemExit, self._service, options)
        self.assertRegex(str(refused.code), "^autorecovery: .*nope0")

    def test_plugin(self) -> None:
        """twistd finds autorecovery by name."""
        found: list[Any] = list(getPlugins(IServiceMaker))
        (plugin,) = [p for p in found if p.tapname == "autorecovery"]
        self.assertEqual(plugin.module, autorecovery_tap.__name__)
        self.assertIs(plugin.makeService, autorecovery_tap.makeService)
