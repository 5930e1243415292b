"""From the command line to the service, and the plugin that names it."""

import json
import os
import resource
import subprocess
import sys
import warnings
from io import StringIO
from pathlib import Path
from typing import Any, cast

from twisted.application.service import IService, IServiceMaker
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import (
    ILogObserver,
    LogBeginner,
    LogEvent,
    Logger,
    LogLevel,
    LogPublisher,
    capturedLogs,
    textFileLogObserver,
)
from twisted.plugin import getPlugins
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from bookkeeper_twisted import __version__
from bookkeeper_twisted.cli import tap
from bookkeeper_twisted.cli.process.bookies import Bookies
from bookkeeper_twisted.cli.process.clock_steps import ClockSteps
from bookkeeper_twisted.cli.process.reloading import Reload
from bookkeeper_twisted.cli.process.service_manager import ServiceManager
from bookkeeper_twisted.config.bookie import BookieConfig


class ImportTests(SynchronousTestCase):
    """What ``twistd bookie`` imports."""

    def test_no_client(self) -> None:
        """A bookie without autorecovery imports no client: it starts sooner, and takes less memory."""
        code = (
            "import sys\n"
            "from twisted.internet import reactor\n"
            "from bookkeeper_twisted.cli import tap\n"
            "options = tap.Options()\n"
            "options.parseOptions(['--bookiePort', '0', '--allowLoopback', 'true'])\n"
            "tap.makeService(options)\n"
            "rooms = [f'bookkeeper_twisted.{room}' for room in ('client', 'blocking', 'aio', 'autorecovery', 'http')]\n"
            "print([room for room in rooms if room in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )  # fmt: skip
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)


class BookiesServiceTests(SynchronousTestCase):
    """Options to a service; nothing is opened before it starts."""

    def _service(self, options: tap.Options) -> Bookies:
        reactor = MemoryReactorClock()
        return tap.bookies_service(reactor, options, lambda: None, ServiceManager(None, reactor))

    def _options(self, *arguments: str) -> tap.Options:
        options = tap.Options()
        options.environ = {}
        own = ("--metadataServiceUri=memory:", "--allowLoopback=true")
        options.parseOptions(["--data", self.mktemp(), *own, *arguments])
        return options

    def test_service(self) -> None:
        """There is a service, and the directories are not touched yet."""
        options = self._options()
        service = self._service(options)
        self.assertTrue(verifyObject(IService, service))
        self.assertFalse(Path(options["data"]).exists())

    def test_open_files(self) -> None:
        """The limit of open files is raised to what this process may have, once."""
        limits: list[tuple[int, tuple[int, int]]] = []
        tap.allow_files(lambda number: (1024, 4096), lambda number, both: limits.append((number, both)))
        tap.allow_files(lambda number: (4096, 4096), lambda number, both: limits.append((number, both)))
        self.assertEqual(limits, [(resource.RLIMIT_NOFILE, (4096, 4096))])

    def test_cores(self) -> None:
        """A process with private keys or secrets writes no core dump; one without may, as far as its limit says."""
        limits: list[tuple[int, tuple[int, int]]] = []
        keys: list[dict[str, Any]] = [
            {"zk_client_secure": True, "zk_ssl_trust_store_location": "t", "zk_ssl_key_store_location": "k"},
            {"tls_provider_factory_class": "TLSContextFactory", "tls_key_store": "k"}, {"token_key_file": "k"},
            {"http_server_tls_enable": True, "http_server_key_store_path": "k"}, {"client_auth_token_file": "k"},
            {"sasl_jaas_config": "k", "bookie_auth_provider_factory_class": "sasl"},
        ]  # fmt: skip
        for each in keys:
            tap.forbid_cores(BookieConfig(**each), lambda number, both: limits.append((number, both)))
        self.assertEqual(limits, [(resource.RLIMIT_CORE, (0, 0))] * 6)
        tap.forbid_cores(BookieConfig(), lambda number, both: limits.append((number, both)))
        self.assertEqual(len(limits), 6)

    def test_collections(self) -> None:
        """The garbage collector of the process is asked to look seldom, and still to look at all generations."""
        thresholds: list[tuple[int, int, int]] = []
        tap.collect_seldom(lambda *given: thresholds.append(given))
        ((youngest, *older),) = thresholds
        self.assertGreaterEqual(youngest, 50_000)
        self.assertTrue(all(0 < each <= 10 for each in older))

    def test_switches(self) -> None:
        """Threads that compute are asked to give way before a reply is late."""
        seconds: list[float] = []
        tap.switch_often(seconds.append)
        self.assertTrue(all(0 < each < 0.005 for each in seconds) and len(seconds) == 1)

    def test_log_level(self) -> None:
        """Events below the level are not in the log that twistd begins later, what was logged before then included."""
        publisher, errors, log = LogPublisher(), StringIO(), StringIO()
        beginner = LogBeginner(publisher, errors, sys, warnings)
        tap.begin_log(BookieConfig(log_level="warn"), beginner)
        logger = Logger("ours", observer=publisher)
        logger.info("early")
        beginner.beginLoggingTo([textFileLogObserver(log)], redirectStandardIO=False)
        logger.debug("a socket")
        logger.info("late")
        logger.warn("a disk")
        self.assertRegex(log.getvalue(), r"^\S+ \[ours#warn\] a disk\n$")

    def test_json(self) -> None:
        """With ``logFormat=json`` each line of a file is one object, and an observer that writes no file stays."""
        publisher, errors, log = LogPublisher(), StringIO(), StringIO()
        events: list[LogEvent] = []
        beginner = LogBeginner(publisher, errors, sys, warnings)
        tap.begin_log(BookieConfig(log_format="json"), beginner)
        other = cast(ILogObserver, events.append)
        beginner.beginLoggingTo([textFileLogObserver(log), other], redirectStandardIO=False)
        logger = Logger("ours", observer=publisher)
        logger.warn("{n} disks", n=2)
        logger.debug("a socket")
        line = json.loads(log.getvalue())
        self.assertEqual((line["level"], line["message"], line["fields"]), ("warn", "2 disks", {"n": 2}))
        self.assertEqual(len(events), 1)

    def test_log_format(self) -> None:
        """Lines are text unless JSON is asked for; another format is refused."""
        self.assertEqual(self._options().configs[0].log_format, "text")
        self.assertEqual(self._options("--logFormat=JSON").configs[0].log_format, "json")
        refused = self.assertRaises(SystemExit, self._options, "--logFormat=xml")
        self.assertEqual(refused.code, "bookie: logFormat = 'xml', option --logFormat: expected one of text, json")

    def test_log_level_by_default(self) -> None:
        """Lines of the level debug are left out unless they are asked for; a bad level is refused with its origin."""
        self.assertEqual(self._options().configs[0].log_level, "info")
        self.assertEqual(self._options("--logLevel=DEBUG").configs[0].log_level, "debug")
        refused = self.assertRaises(SystemExit, self._options, "--logLevel=loud")
        self.assertEqual(
            refused.code,
            "bookie: logLevel = 'loud', option --logLevel: expected one of debug, info, warn, error, critical",
        )

    def test_process(self) -> None:
        """The process of ``twistd bookie`` is set up once, before there is a bookie."""
        said: list[str] = []
        levels: list[str] = []
        for name in ("allow_files", "collect_seldom", "switch_often"):
            self.patch(tap, name, lambda name=name: said.append(name))
        self.patch(tap, "begin_log", lambda config: levels.append(config.log_level))
        self.patch(tap, "forbid_cores", lambda config: levels.append("no cores"))
        statuses: list[Any] = []

        def service(reactor: Any, options: tap.Options, fail: Any, manager: ServiceManager) -> Bookies:
            said.append("bookie")
            statuses.append(fail.__self__)
            return Bookies(lambda failed: [], fail, manager, ClockSteps(reactor), reactor)

        self.patch(tap, "bookies_service", service)
        tap.makeService(self._options("--logLevel=warn"))
        self.assertEqual(levels, ["warn", "no cores"])
        self.assertIsInstance(statuses[0].on_hangup.args[0], Reload)
        self.assertEqual((sorted(said[:3]), said[3:]), (["allow_files", "collect_seldom", "switch_often"], ["bookie"]))

    def test_unknown_metadata(self) -> None:
        """A metadata store that no driver takes ends the process with one line."""
        options = self._options("--metadataServiceUri=carrier-pigeon://loft")
        refused = self.assertRaises(SystemExit, self._service, options)
        self.assertRegex(str(refused.code), "^bookie: .*carrier-pigeon")

    def test_unknown_keys_are_logged(self) -> None:
        """The version, and what the configuration has to say about its keys, go to the log."""
        path = Path(self.mktemp())
        path.write_text("bookiePrt=1\npageSize=1\n")
        options = self._options("--conf", str(path), "--standalone=2")
        with capturedLogs() as events:
            self._service(options)
        said = [(e["log_level"], e["log_format"].format(**e)) for e in events]
        self.assertEqual(
            said,
            [
                (LogLevel.info, f"bookkeeper-twisted {__version__}"),
                (LogLevel.warn, f"bookiePrt, {path}:1: unknown key, ignored; is bookiePort meant?"),
                (LogLevel.info, f"pageSize, {path}:2: has no effect here"),
            ],
        )

    def test_plugin(self) -> None:
        """twistd finds the bookie by name, and the plugin's module is this one."""
        found: list[Any] = list(getPlugins(IServiceMaker))
        (plugin,) = [p for p in found if p.tapname == "bookie"]
        self.assertEqual(plugin.module, tap.__name__)
        self.assertIs(plugin.options, tap.Options)
        self.assertIs(plugin.makeService, tap.makeService)
