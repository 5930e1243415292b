"""The shell as a process."""

import os
import sys
from typing import Any

import attrs
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.utils import getProcessOutputAndValue
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.main import real_world
from bookkeeper_twisted.cli.shell import run_shell
from bookkeeper_twisted.metadata.drivers import create_driver
from examples.bookie_process import BookieProcess

_reactor: Any = reactor


class _Interrupted(ProcessProtocol):
    """A command that gets SIGINT when it has printed something.

    :ivar ended: fires with its exit status, None if a signal has ended it.
    """

    def __init__(self) -> None:
        self.complaints = b""
        self.ended: Deferred[int | None] = Deferred()

    def outReceived(self, data: bytes) -> None:
        self.transport.signalProcess("INT")  # type: ignore[union-attr]

    def errReceived(self, data: bytes) -> None:
        self.complaints += data

    def processEnded(self, reason: Failure) -> None:
        self.ended.callback(getattr(reason.value, "exitCode", None))


class ProcessTests(TestCase):
    """The whole program on an embedded store."""

    timeout = 60

    async def shell(self, *arguments: str) -> tuple[str, str, int]:
        """Runs a command to its end; gives what it printed, what it complained, its status."""
        command = ["-W", "error", "-m", "bookkeeper_twisted", "shell", *arguments]
        out, err, status = await getProcessOutputAndValue(sys.executable, command, self.environ, reactor=_reactor)
        return out.decode(), err.decode(), status

    @property
    def environ(self) -> dict[str, str]:
        """Of a command."""
        return {"PYTHONPATH": os.pathsep.join(sys.path), "BK_metadataServiceUri": f"sqlite:///{self.store}"}

    async def test_interrupt(self) -> None:
        """A command that waits ends at Ctrl-C, with one line and the status of an interrupted process."""
        self.store = os.path.abspath(self.mktemp())
        await self.shell("initnewcluster")
        driver: Any = create_driver(_reactor, f"sqlite:///{self.store}")
        await driver.open()
        self.addCleanup(driver.close)
        elected: Deferred[bool] = Deferred()
        driver.auditing.stand("auditor:1", lambda is_in: elected.callback(True) if is_in else None)
        await elected
        await driver.underreplication.mark(3, ("gone:1",), 5)
        waiting = _Interrupted()
        command = [sys.executable, "-W", "error", "-m", "bookkeeper_twisted", "shell"]
        _reactor.spawnProcess(
            waiting, sys.executable, [*command, "decommissionbookie", "-f", "-bookieid", "gone:1"], self.environ
        )
        self.assertEqual((await waiting.ended, waiting.complaints), (130, b"decommissionbookie: interrupted\n"))

    async def test_missing_store(self) -> None:
        """No verb makes a store but those whose purpose it is; the others say which one is missing, and what makes one.
        """
        folder = os.path.abspath(self.mktemp())
        environ = {
            "BK_metadataServiceUri": f"sqlite:///{folder}/metadata.db", "BK_allowLoopback": "true",
            "BK_journalDirectories": f"{folder}/journal", "BK_ledgerDirectories": f"{folder}/ledgers",
            "BK_advertisedAddress": "127.0.0.1",
        }  # fmt: skip
        operands = {"nukeexistingcluster": ["-p", f"{folder}/metadata.db", "-f"], "ledgermetadata": ["-l", "1"]}
        said: list[str] = []
        world = attrs.evolve(real_world(_reactor), environ=environ, out=said.append, complain=said.append)
        for name in sorted(set(COMMANDS) - {"initnewcluster", "metaformat"}):
            await run_shell([name, *operands.get(name, [])], world)
            self.assertFalse(os.path.exists(folder), name)
        missing = f"whatisinstanceid: {folder}/metadata.db does not exist "
        self.assertTrue([text for text in said if text.startswith(missing) and "initnewcluster makes" in text], said)
        root = f"ledgersRootPath={folder}/metadata.db"
        self.assertIn(f"There is no existing cluster, exiting nuke operation {{{root}}}", said)

    async def test_commands(self) -> None:
        """Output goes to one stream, errors to the other, and the status is that of the command."""
        self.store = os.path.abspath(self.mktemp())
        await self.shell("initnewcluster")
        out, err, status = await self.shell("whatisinstanceid")
        self.assertEqual((err, status), ("", 0))
        self.assertRegex(out, r"^Metadata Service Uri: InstanceId \{.*readInstanceId=[-0-9a-f]{36}\}\n$")
        self.assertEqual(await self.shell("listbookies", "-rw"), ("No bookie exists!\n", "", 0))
        out, err, status = await self.shell("ledgermetadata", "-l", "7")
        self.assertEqual((out, status), ("", 255))
        self.assertEqual(len(err.splitlines()), 1, err)

    async def test_bookie(self) -> None:
        """The commands that write work on a bookie that runs, found by its configuration file."""
        directory = os.path.abspath(self.mktemp())
        self.store = f"{directory}/ledgers/metadata.db"
        options = ("--bookieId=b", "--bookiePort=0", "--allowLoopback=true", "--advertisedAddress=127.0.0.1")
        http = ("--httpServerEnabled=true", "--httpServerHost=127.0.0.1", "--httpServerPort=0")
        process = BookieProcess.start(_reactor, directory, *options, *http)
        self.addCleanup(process.end)
        await process.serving
        one = ("-e", "1", "-w", "1", "-a", "1", "-n", "20")
        expected = "Ledger ID {ledgerId=0}\n20 entries written to ledger 0 (lastEntryId 19)\n"
        self.assertEqual(await self.shell("simpletest", *one), (expected, "", 0))
        with open(f"{directory}/b.conf", "w") as file:
            file.write("bookieId=b\n")
        expected = "Read entries from ledger {entries=10, ledgerId=1}\nBookie sanity test succeeded\n"
        self.assertEqual(await self.shell("-conf", f"{directory}/b.conf", "bookiesanity"), (expected, "", 0))
        out, err, status = await self.shell("bookieinfo")
        self.assertEqual((err, status), ("", 0), out)
        self.assertIn("bookie=BookieID:b, IP:127.0.0.1", out)
        limit = ("throttles", "scrub", "-bytes", "5e6")
        out, err, status = await self.shell("-conf", f"{directory}/b.conf", *limit)
        self.assertEqual((err, status), ("", 0), out)
        self.assertIn("scrub {entriesPerSecond=0, bytesPerSecond=5000000, ", out)
