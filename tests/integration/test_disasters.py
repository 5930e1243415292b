"""``docs/disasters.rst``: a cluster is broken on purpose, and the commands of the page mend it."""

import re
import shutil
import signal
import subprocess
from collections.abc import Callable

from twisted.trial.unittest import SkipTest

from ..first_hour.reader import Unexpected
from ..guides.stage import OURS, ROOT, START, Practice, typed
from .test_guides import GuideCase

PAGE = "docs/disasters.rst"
_DISK_LOST = "A ledger disk or a journal disk is lost"


class DisasterTests(GuideCase):
    """One test for each section with commands."""

    def cluster(self, *needed: str, **keys: str) -> Practice:
        """Start four bookies, of which one is to be broken."""
        practice = self.practice(*needed, **keys)
        practice.start_others()
        practice.reader.serve(START)
        return practice

    def written(self, practice: Practice) -> list[int]:
        """Write ledgers, of which some are on the bookie that is to be broken."""
        ledgers = practice.write(8)
        self.assertNotEqual(practice.named(), [])
        return ledgers

    def test_all(self) -> None:
        """Each section with commands has a test, which follows it; each message is quoted as bookies say it."""
        text = (ROOT / PAGE).read_text()
        source = (ROOT / "tests/integration/test_disasters.py").read_text()
        self.assertEqual([title for title in typed(PAGE) if f'"{title}"' not in source], [])
        self.assertNotEqual(typed(PAGE), {})
        sources = "".join(path.read_text() for path in (ROOT / "bookkeeper_twisted").rglob("*.py"))
        quoted = re.findall(r"(?m)^\*(.+?)\* {2}", text)
        self.assertGreater(len(quoted), 5)
        said = {each: each.removeprefix("the bookie is read-only now: ") for each in quoted}
        self.assertEqual([each for each, words in said.items() if words not in sources], [])

    def _disk_lost(self, name: str) -> None:
        practice = self.cluster()
        ledgers = self.written(practice)
        practice.stop(signal.SIGKILL)
        shutil.rmtree(practice.directory / name)
        practice.refused(START, "its data is lost")
        practice.follow(PAGE, _DISK_LOST)
        self.assertEqual(practice.named(), [])
        practice.check(ledgers)
        practice.write(4)
        self.assertNotEqual(practice.named(), [])

    def test_no_other_bookie(self) -> None:
        """Where three bookies are all, nothing can be copied; with a fourth one it is, and the bookie begins anew."""
        practice = self.practice()
        practice.start_others("--standalone 2")
        practice.reader.serve(START)
        ledgers = self.written(practice)
        practice.stop(signal.SIGKILL)
        shutil.rmtree(practice.directory / "ledgers")
        practice.refused(START, "its data is lost")
        failed = self.assertRaises(Unexpected, practice.shell, f"recover -f {OURS}")
        for words in ("no bookie can take the place of b1", "Not recovered for lack of bookies: add a bookie"):
            self.assertIn(words, str(failed))
        conf = (practice.directory / "bk_server.conf").read_text()
        for word, other in (("bookieId=b1", "bookieId=b4"), ("=journal", "=b4/journal"), ("=ledgers", "=b4/ledgers")):
            self.assertIn(word, conf)
            conf = conf.replace(word, other)
        (practice.directory / "new_server.conf").write_text(conf)
        practice.follow(PAGE, "No bookie can take the place")
        self.assertEqual(practice.named(), [])
        practice.follow(PAGE, _DISK_LOST)
        practice.check(ledgers)

    def test_ledger_disk(self) -> None:
        """The entries of a ledger disk that was lost are on the others, and the bookie begins anew."""
        self._disk_lost("ledgers")

    def test_journal_disk(self) -> None:
        """So it is with a journal that was lost."""
        self._disk_lost("journal")

    def _alone(self, practice: Practice) -> list[int]:
        """Start the bookie with metadata of its own, and write ledgers that it alone has."""
        practice.reader.serve(START)
        return practice.write(3, copies=1)

    def alone(self, *needed: str, **keys: str) -> Practice:
        """Make the directory of a bookie that is a cluster by itself."""
        return self.practice(*needed, metadataServiceUri="sqlite:///metadata.db", **keys)

    def _index_lost(self, damage: Callable[[Practice], object], reason: str) -> None:
        practice = self.alone()
        ledgers = self._alone(practice)
        practice.stop()
        damage(practice)
        practice.refused(START, reason)
        practice.follow(PAGE, "An index is lost")
        practice.check(ledgers)
        practice.stop()
        practice.reader.serve(START)
        practice.check([*ledgers, *practice.write(1, copies=1)])

    def test_index(self) -> None:
        """The index is made again from the entry logs, with every entry."""

        def remove(practice: Practice) -> None:
            for path in (practice.directory / "ledgers/current").glob("index.sqlite*"):
                path.unlink()

        self._index_lost(remove, "no complete index of them")

    def test_damaged_index(self) -> None:
        """So it is where pages of the index were overwritten."""

        def overwrite(practice: Practice) -> None:
            with (practice.directory / "ledgers/current/index.sqlite").open("r+b") as file:
                file.seek(4096)
                file.write(bytes(2 * 4096))

        self._index_lost(overwrite, "index.sqlite is damaged")

    def test_older_index(self) -> None:
        """So it is where a copy of the index from before was put back."""

        def put_back(practice: Practice) -> None:
            current = practice.directory / "ledgers/current"
            copies = {path.name: path.read_bytes() for path in current.glob("index.sqlite*")}
            practice.reader.serve(START)
            practice.write(1, copies=1)
            practice.stop()
            for path in current.glob("index.sqlite*"):
                path.unlink()
            for name, content in copies.items():
                (current / name).write_bytes(content)

        self._index_lost(put_back, "is older than the mark in")

    def test_moved_disk(self) -> None:
        """A bookie whose ledger directory has another path serves what it had, with a new cookie."""
        practice = self.alone()
        ledgers = self._alone(practice)
        practice.stop()
        (practice.directory / "disk2").mkdir()
        (practice.directory / "ledgers").rename(practice.directory / "disk2/ledgers")
        practice.configure(**{**practice.keys, "ledgerDirectories": "disk2/ledgers"})
        practice.refused(START, "the keys of directories have to name those")
        practice.follow(PAGE, "A disk has moved")
        practice.check(ledgers)

    def test_address(self) -> None:
        """A bookie that is known by an address keeps this id where it has another one."""
        practice = self.alone(bookieId="")
        ledgers = self._alone(practice)
        (port,) = re.findall(r"serves on port (\d+)", practice.reader.servers[START].output)
        practice.stop()
        other = dict.fromkeys(("advertisedAddress", "listeningInterface"), "127.0.0.2")
        practice.configure(**{**practice.keys, **other, "bookiePort": port})
        practice.reader.environ["BK_bookiePort"] = port
        practice.refused(START, "starts the bookie that is stored here")
        words = {r"192\.0\.2\.7:3181": f"127.0.0.1:{port}", r"192\.0\.2\.8": "127.0.0.2"}
        practice.follow(PAGE, "An address or a host name has changed", words)
        self.assertIn("IP:127.0.0.2", practice.shell("listbookies -rw"))
        practice.check(ledgers)

    def test_cookie(self) -> None:
        """A cookie that was deleted is stored again from the directories."""
        practice = self.alone()
        ledgers = self._alone(practice)
        practice.stop()
        practice.shell(f"cookie_delete -force {OURS}")
        practice.refused(START, "the metadata store has no cookie of this bookie")
        practice.follow(PAGE, "The metadata store has lost a cookie")
        practice.check(ledgers)

    def test_full_disk(self) -> None:
        """A bookie on a disk that is full is writable again when ledgers are deleted."""
        practice = self.alone("curl", "mount", ledgerDirectories="disk/ledgers", httpServerEnabled="true",
                              logSizeLimit=str(4 << 20), diskCheckInterval="500", diskUsageThreshold="0.6",
                              diskUsageWarnThreshold="0.55", diskUsageLwmThreshold="0.5", flushInterval="500",
                              minUsableSizeForEntryLogCreation="0")  # fmt: skip
        disk = practice.directory / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(disk)], capture_output=True)
        if mounted.returncode:
            raise SkipTest(f"a disk cannot be mounted here: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(disk)])
        practice.reader.serve(START)
        self.assertEqual(practice.write(2, copies=1, size=160_000), [0, 1])
        kept = practice.write(1, copies=1)
        (disk / "something else").write_bytes(bytes(8 << 20))
        practice.wait("the bookie is read-only now: ")
        practice.follow(PAGE, "A disk is full", block=0)
        practice.follow(PAGE, "A disk is full", block=1)
        practice.wait("the bookie is writable again")
        self.assertEqual(re.findall(r"ledgerId=(\d+)", practice.shell("listledgers")), [str(each) for each in kept])
        practice.check([*kept, *practice.write(1, copies=1)])

    def test_lost_bookie(self) -> None:
        """A bookie that does not come back is decommissioned; its ledgers are on the others."""
        practice = self.cluster()
        ledgers = self.written(practice)
        practice.stop(signal.SIGKILL)
        practice.reader.serve("twistd -n --pidfile= autorecovery --conf bk_server.conf")
        practice.follow(PAGE, "A bookie is lost for good")
        self.assertEqual(practice.named(), [])
        practice.check(ledgers)
        practice.refused(START, "the metadata store has no cookie of this bookie")

    def test_metadata(self) -> None:
        """With a backup of the store its ledgers are there, and new ones have ids that no ledger had."""
        practice = self.alone("sqlite3")
        ledgers = self._alone(practice)
        practice.follow("docs/operating.rst", "Backup", block=0)
        newer = practice.write(2, copies=1)
        practice.stop(signal.SIGKILL)
        (practice.directory / "metadata.db").write_bytes(b"lost")
        practice.follow(PAGE, "The metadata store is lost")
        practice.check(ledgers)
        (again,) = practice.write(1, copies=1)
        self.assertGreater(again, max(newer))
        practice.check([again])

    def test_damage(self) -> None:
        """The check of what is stored passes where it is whole, and names an entry that is not."""
        practice = self.alone()
        self._alone(practice)
        practice.stop()
        practice.follow(PAGE, "Entries are damaged")
        (log,) = (practice.directory / "ledgers/current").glob("*.log")
        content = bytearray(log.read_bytes())
        at = content.index(b"entry 7 of ledger 0")
        content[at : at + 5] = b"ENTRY"
        log.write_bytes(content)
        done = subprocess.run(
            ["bash", "-c", "bookkeeper-twisted shell -conf bk_server.conf localconsistencycheck"],
            cwd=practice.directory, env=practice.reader.environ, capture_output=True, text=True,
        )  # fmt: skip
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
