"""The commands of the tutorial, of the guides for operators, and of other pages, on real processes."""

import importlib.util
import re
import shutil
import tempfile
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from benchmarks.shared.zookeeper import shared_zookeeper

from ..config.shipped_files import PULSAR, as_file
from ..guides.stage import OURS, ROOT, START, Practice, typed


class GuideCase(SynchronousTestCase):
    """Follows a page in a directory of its own."""

    timeout = 300

    def practice(self, *needed: str, **keys: str) -> Practice:
        """Make a directory; skip the test if a program is not installed.

        :param keys: of ``bk_server.conf``.
        """
        for program in needed:
            if shutil.which(program) is None:
                raise SkipTest(f"the page uses the program {program}, which is not installed")
        base = Path(tempfile.mkdtemp(prefix="guide-"))
        self.addCleanup(shutil.rmtree, base, ignore_errors=True)
        found = Practice(base / "work", **keys)
        self.addCleanup(found.end)
        return found

    def local(self, *needed: str, **keys: str) -> Practice:
        """Make a directory whose bookies are for this machine alone, whatever their command says."""
        practice = self.practice(*needed, **keys)
        local = {"listeningInterface": "127.0.0.1", "advertisedAddress": "127.0.0.1", "allowLoopback": "true"}
        practice.reader.environ.update({f"BK_{key}": text for key, text in local.items()})
        return practice


class TutorialTests(GuideCase):
    """``docs/tutorial.rst``."""

    page = "docs/tutorial.rst"

    def test_all(self) -> None:
        """From three bookies to a writer that is killed: each step does what the page says."""
        practice = self.practice()
        practice.reader.environ["BK_listeningInterface"] = "127.0.0.1"
        for name in re.findall(r"literalinclude:: \.\./(\S+)", (ROOT / self.page).read_text()):
            shutil.copy(ROOT / name, practice.directory)
        titles = ["Three bookies", "Append", "Follow", "Kill a bookie", "Kill the writer"]
        self.assertEqual(list(typed(self.page)), titles)
        for title in titles:
            practice.follow(self.page, title)
        practice.reader.leave()

    def test_listings(self) -> None:
        """Every program of the tutorial is on the page."""
        shown = set(re.findall(r"literalinclude:: \.\./(\S+)", (ROOT / self.page).read_text()))
        self.assertEqual(shown, {str(path.relative_to(ROOT)) for path in (ROOT / "examples/tutorial").glob("*.py")})


class OperatingTests(GuideCase):
    """``docs/operating.rst``; its section on backups is followed by ``test_disasters``."""

    page = "docs/operating.rst"

    def test_all(self) -> None:
        """A bookie of four is looked at, limited, restarted, and its metadata are saved."""
        practice = self.practice("curl", "sqlite3", httpServerEnabled="true")
        practice.start_others()
        start = "twistd -n --pidfile=bookie.pid bookie --conf bk_server.conf"
        practice.reader.serve(start)
        titles = ["Is all well?", "Which limits?", "Restart, update, and the way back", "Backup"]
        self.assertEqual(list(typed(self.page)), titles)
        ledgers = practice.write(4)
        for title in titles[:-1]:
            practice.follow(self.page, title)
        practice.follow(self.page, "Backup", {r"metadata\.db ": "others/metadata.db "})
        practice.check(ledgers)


class PageTests(GuideCase):
    """Commands of other pages, by the page and the section."""

    def test_running(self) -> None:
        """``docs/running.rst``, Running a bookie: alone, by a file, and three of them."""
        practice = self.local()
        (practice.directory / "var").mkdir()
        words = {"/var/lib/bookkeeper": "var", "/var/lib": "var", "sqlite:///+": "sqlite:///", "/tmp/": ""}
        practice.follow("docs/running.rst", "Running a bookie", words)
        self.assertEqual(len(practice.reader.servers), 3)
        practice.reader.leave()

    def test_log(self) -> None:
        """``docs/running.rst``, The log: the levels of a bookie that runs are changed."""
        practice = self.local("curl", httpServerEnabled="true")
        practice.reader.serve(f"{START} --metadataServiceUri=sqlite:///metadata.db")
        practice.follow("docs/running.rst", "The log")
        practice.wait("debug")

    def test_speed_limits(self) -> None:
        """``docs/storage.rst``, Speed limits: a limiter of a bookie that runs is changed."""
        practice = self.local("curl", httpServerEnabled="true", metadataServiceUri="sqlite:///metadata.db")
        practice.reader.serve(START)
        practice.follow("docs/storage.rst", "Speed limits")
        self.assertIn("compaction-write {entriesPerSecond=0, bytesPerSecond=50000000,", practice.shell("throttles"))

    def test_containers(self) -> None:
        """``docs/containers.rst``, In a container: the probes, and the hook before a stop."""
        practice = self.local("curl", httpServerEnabled="true", metadataServiceUri="sqlite:///metadata.db")
        practice.reader.serve(START)
        practice.reader.environ["BK_httpServerPort"] = practice.http_port
        words = {"localhost:8000": f"localhost:{practice.http_port}"}
        practice.follow("docs/containers.rst", "In a container", words)
        practice.wait("the bookie is set read-only")

    def test_autorecovery(self) -> None:
        """``docs/autorecovery.rst``, What runs where: apart, in a bookie, and once for several bookies."""
        practice = self.local(metadataServiceUri="sqlite:///metadata.db")
        practice.run("bookkeeper-twisted shell -conf bk_server.conf initnewcluster")
        practice.follow("docs/autorecovery.rst", "What runs where", {"/tmp/cluster": "cluster"})
        self.assertEqual(len(practice.reader.servers), 3)
        practice.reader.leave()

    def test_back_to_apache(self) -> None:
        """``docs/migration.rst``, Back to Apache's bookie: the directories are converted."""
        if importlib.util.find_spec("rocksdict") is None:
            raise SkipTest("rocksdict is not installed (extra rocksdb)")
        practice = self.local(metadataServiceUri="sqlite:///metadata.db")
        practice.reader.serve(START)
        practice.write(3, copies=1)
        practice.reader.leave()
        words = {"/var/lib/bookkeeper/": "", "entries=3000": "entries=300"}
        practice.follow("docs/migration.rst", "Back to Apache's bookie", words)
        practice.refused(START, "rebuildIndex=true")


class ZooKeeperPageTests(GuideCase):
    """Commands that need a ZooKeeper."""

    words = {r"pip install \S+": "true"}
    """What a wheel that is not published would be installed by; ``docs/install.rst`` has the same line."""

    def setUp(self) -> None:
        """Make a cluster without bookies; the place of Pulsar's is below it."""
        server = shared_zookeeper()
        self.root, self.hosts = server.new_root(), server.hosts
        self.uri = server.uri(self.root)
        self.cluster = self.local(metadataServiceUri=self.uri)
        self.cluster.shell("initnewcluster")

    def test_running(self) -> None:
        """``docs/running.rst``, In a cluster on ZooKeeper: a bookie joins."""
        words = {**self.words, r"zk\+hierarchical://[^']+": self.uri}
        self.cluster.follow("docs/running.rst", "In a cluster on ZooKeeper", words)
        self.assertIn(OURS, self.cluster.shell("listbookies -rw"))

    def test_migration(self) -> None:
        """``docs/migration.rst``, A bookie of ours in a cluster of Apache's: it joins, and all of them take entries."""
        self.cluster.start_others(f"--metadataServiceUri={self.uri}")
        words = {**self.words, "/var/lib/bookkeeper": "var"}
        self.cluster.follow("docs/migration.rst", "A bookie of ours in a cluster of Apache's", words)

    def test_pulsar(self) -> None:
        """``docs/pulsar.rst``, Bookies for Pulsar, and Autorecovery: with the file of Pulsar."""
        (self.cluster.directory / "bookkeeper.conf").write_text(as_file(PULSAR))
        uri = f"metadata-store:zk:{self.hosts}{self.root}"
        quiet = {"prometheusStatsHttpPort": "0", "prometheusStatsHttpAddress": "127.0.0.1", "metadataServiceUri": uri}
        self.cluster.reader.environ.update({f"BK_{key}": text for key, text in quiet.items()})
        words = {**self.words, "/var/lib/bookkeeper": "var", "bookie-1.example": "127.0.0.1"}
        self.cluster.follow("docs/pulsar.rst", "Bookies for Pulsar", words)
        self.cluster.follow("docs/pulsar.rst", "Autorecovery")
        self.assertEqual(len(self.cluster.reader.servers), 2)
        self.cluster.reader.leave()
