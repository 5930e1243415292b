"""Apache BookKeeper's shell reads the files that our bookie has left behind."""

import re
import signal
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from benchmarks.shared.java import jars
from bookkeeper_twisted.client import BookKeeper
from examples.bookie_process import BookieProcess

from .shell import Said, run_shell

_LOCAL = ("--advertisedAddress=127.0.0.1", "--listeningInterface=127.0.0.1", "--allowLoopback=true", "--bookiePort=0")
_SMALL_JOURNALS = ("--journalMaxSizeMB=1", "--journalPreAllocSizeMB=1", "--journalMaxBackups=0", "--flushInterval=20")
_ENTRY = re.compile(r"^Entry \{entryId=(\d+), entrySize=\d+, ledgerId=(\d+), position=", re.M)
_PER_ENTRY = 4 + 32 + 4  # bytes in an entry log: length, header, CRC32C
_COUNT, _EACH, _SIZE = 2400, 200, 2000


def _text(entry_id: int) -> str:
    """What an entry holds."""
    return f"this is entry {entry_id}".ljust(_SIZE)


class OfflineTests(TestCase):
    """A bookie writes four times what its journal files hold, one after another, and stops."""

    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        jars()
        self.data = Path(self.mktemp()).absolute()
        self.conf = self.data.with_suffix(".conf")
        self.conf.write_text(f"journalDirectories={self.data}/journal\nledgerDirectories={self.data}/ledgers\n")
        process = BookieProcess.start(reactor, str(self.data), *_LOCAL, "--bookieId=b", *_SMALL_JOURNALS)
        self.addCleanup(process.end)
        await process.serving
        async with await BookKeeper.connect(reactor, f"sqlite:///{self.data}/ledgers/metadata.db") as client:
            writer = await client.create_ledger(1, 1, 1)
            for first in range(0, _COUNT, _EACH):
                await writer.append_many([_text(i).encode() for i in range(first, first + _EACH)])
            self.ledger_id = writer.ledger_id
            await writer.close()
        await process.end(signal.SIGTERM)

    async def shell(self, *arguments: object) -> Said:
        said: Said = await deferToThread(run_shell, self.conf, *arguments)
        self.assertEqual(said.status, 0, said.errors)
        return said

    def entries(self, said: Said) -> list[int]:
        """The ids of the ledger's entries that a command has listed."""
        return [int(entry) for entry, ledger in _ENTRY.findall(said.output) if int(ledger) == self.ledger_id]

    async def test_journals(self) -> None:
        """``readjournal`` finds in each journal, recycled ones too, consecutive entries, the last ones at the end."""
        names = sorted(path.stem for path in (self.data / "journal" / "current").glob("*.txn"))
        found: list[int] = []
        for name in names:
            said = await self.shell("readjournal", "-msg", int(name, 16))
            for entry_id in self.entries(said):
                self.assertIn(_text(entry_id), said.output)
                found.append(entry_id)
        self.assertEqual(found, list(range(_COUNT - len(found), _COUNT)))
        self.assertIn(len(found), range(1, _COUNT))  # less than all: files were used again

    async def test_entry_log(self) -> None:
        """``readlog`` lists every entry once; ``readlogmetadata`` has their bytes."""
        listed = self.entries(await self.shell("readlog", 0))
        self.assertEqual(sorted(listed), list(range(_COUNT)))
        said = await self.shell("readlogmetadata", 0)
        self.assertIn(f"{{ledgerId={self.ledger_id}, size={_COUNT * (_SIZE + _PER_ENTRY)}}}", said.output)
