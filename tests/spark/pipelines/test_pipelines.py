"""The pipelines on real bookies and Spark."""

import io
import re
import sqlite3
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.embedding import make_bookie
from bookkeeper_twisted.errors import BookieHandleNotAvailableError, NotUnderreplicatedError
from bookkeeper_twisted.ledger.findings import LossKind, ReplicaLoss
from bookkeeper_twisted.ledger.replica_scan import OK
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.spark import main
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.task.pacing import Pace

from ..session import SparkCase

PAYLOADS = [b"%d" % n * 20 for n in range(3000)]


class PaceTests(SynchronousTestCase):
    """Speed limits."""

    def test_pace(self) -> None:
        """Work keeps to its rate within a tenth."""
        clock = Clock()
        pace = Pace(Rate(0, 100_000), clock.seconds, clock.advance)
        for _ in range(1000):
            pace.spend(1, 5000)
            clock.advance(0.01)  # the work itself
        self.assertLess(abs(5_000_000 / clock.seconds() - 100_000), 10_000)


class PipelineTests(SparkCase):
    """Each pipeline once."""

    def run_command(self, *arguments: str) -> str:
        """What a command prints."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            self.status = main.main(["--parallelism", "2", *arguments])
        return printed.getvalue()

    def test_verify(self) -> None:
        """A bookie that is down is reported for its entries and nothing else; the others are whole."""
        ledger = self.ledger(PAYLOADS)
        self.assertIn("3,000 entries", self.run_command("verify", self.uri))
        self.assertEqual(self.status, 0)
        THREAD.wait(self.bookies.pop().stop)
        picture = Path(self.mktemp())
        text = self.run_command("verify", self.uri, "--mark", "--picture", str(picture))
        self.assertEqual(self.status, 1)
        self.assertIn(f"ledger {ledger} entries 0-2999 on bookie-2: unreachable", text)
        self.assertEqual(text.count("unreachable:"), 1)
        self.assertIn("0 ledgers are marked", text)
        self.assertIn("unreachable", picture.read_text())

    def test_verify_open_ledger(self) -> None:
        """Bookies that do not answer for a ledger in progress are reported; those that have nothing of it are not."""
        with self.client.create_ledger(3, 3, 2) as growing:
            growing.append_many(PAYLOADS[:10])
            for _ in range(2):
                THREAD.wait(self.bookies.pop().stop)
            text = self.run_command("verify", self.uri)
            self.assertEqual(self.status, 1)
            for down in ("bookie-1", "bookie-2"):
                self.assertIn(f"ledger {growing.ledger_id} entries 0-0 on {down}: unreachable", text)
        with self.client.create_ledger(1, 1, 1) as empty:
            self.stop_bookies()
            text = self.run_command("verify", self.uri, "--ledgers", str(empty.ledger_id))
            self.assertIn("on bookie-0: unreachable", text)

    def test_mistakes(self) -> None:
        """What cannot be is one sentence that names the argument, the ledger or the place, and nothing is left."""
        archive = Path(self.mktemp()).absolute()
        plain = str(self.ledger([b"x"]))
        for arguments, wanted in (
            (("verify", "nothing://here"),
             "no metadata driver for 'nothing://here'; known are memory:, metadata-store:, sqlite:, zk:"),
            (("verify", self.uri, "--ledgers", "77"), "ledger 77 does not exist"),
            (("verify", self.uri, "--ledgers", "one"),
             "ledgers = 'one', --ledgers: expected ledger ids and ranges, for example 3,5-9"),
            (("verify", self.uri, "--ledgers", ""), "--ledgers is empty"),
            (("replicate", self.uri, "--ledgers", "9-5"), "ledgers = '9-5', --ledgers: 9-5 is no range"),
            (("verify", self.uri, "--password-file", "/no/such"), "[Errno 2] No such file or directory: '/no/such'"),
            (("export", self.uri, "/proc/no/such", "--ledgers", plain), "Mkdirs failed to create"),
            (("usage", "/no/such"), "/no/such is no ledger directory: it has no directory current"),
            (("import", self.uri, str(archive)), f"[PATH_NOT_FOUND] Path does not exist: file:{archive}/ledgers"),
        ):  # fmt: skip
            printed = io.StringIO()
            with self.subTest(arguments), redirect_stderr(printed):
                self.assertEqual(self.run_command(*arguments), "")
                self.assertEqual(self.status, 2)
                (line,) = printed.getvalue().splitlines()
                self.assertTrue(line.startswith(f"bookkeeper-spark: {wanted}"), line)
        self.assertFalse(archive.exists())

    def test_verify_with_passwords(self) -> None:
        """Ledgers with different passwords are verified by those in their metadata, whatever the command is given."""
        for password in (b"one", b"two"):
            with self.client.create_ledger(3, 3, 2, password, DigestType.HMAC) as ledger:
                ledger.append_many(PAYLOADS[:100])
        wrong = Path(self.mktemp())
        wrong.write_text("guess")
        text = self.run_command("verify", self.uri, "--password-file", str(wrong))
        self.assertEqual((self.status, text.count("ok                      200 entries")), (0, 3), text)

    def test_verify_lost_replica(self) -> None:
        """What a bookie does not have is missing, and the ledger is marked for it."""
        from bookkeeper_twisted.spark.pipelines import verify

        with self.client.create_ledger(2, 2, 2) as ledger:
            ledger.append_many(PAYLOADS)
        kept = self.client.ledger_metadata(ledger.ledger_id).segments[0].bookies
        (other,) = {"bookie-0", "bookie-1", "bookie-2"} - set(kept)
        replicas = verify.fragments(self.spark, self.uri)
        port = next(bookie.port for n, bookie in enumerate(self.bookies) if f"bookie-{n}" == other)
        moved = replicas.replace({kept[0]: other}, subset=["bookie_id"])
        moved = moved.selectExpr(
            *[c for c in moved.columns if c != "port"], f"IF(bookie_id = '{other}', {port}, port) AS port"
        )
        findings = verify.verify(moved, parallelism=2).persist()
        found = [(r.bookie_id, r.first, r.last) for r in findings.where(f"status != '{OK}'").collect()]
        self.assertEqual(found, [(other, 0, 2999)])
        self.assertEqual(verify.lacking(findings), [(ledger.ledger_id, (other,))])
        verify.mark_underreplicated(self.uri, verify.lacking(findings))
        marks = self.connect().underreplication
        mark = THREAD.wait(lambda: marks.read_mark(ledger.ledger_id)).value
        self.assertEqual(tuple(mark.replicas), (other,))
        self.assertRaises(NotUnderreplicatedError, THREAD.wait, lambda: marks.read_mark(77))

    def test_three_damages(self) -> None:
        """Entries one bookie has lost, entries damaged on the disk of another and a bookie that is down are reported as
        such, and nothing else; replicate repairs them where bookies are writable."""
        lost, damaged, whole = (self.ledger([b"%d %d" % (n, i) * 20 for i in range(3000)]) for n in range(3))
        with self.client.create_ledger(3, 2, 2) as striped:
            striped.append_many(PAYLOADS[:300])
        for bookie in self.bookies:
            THREAD.wait(bookie.stop)
        index, log = self.files(0, "index.sqlite"), self.files(1, "*.log")
        with closing(sqlite3.connect(index[0])) as opened, opened:
            chosen = (lost, striped.ledger_id)
            gone = opened.execute("DELETE FROM runs WHERE ledger IN (?, ?) RETURNING first, last", chosen).fetchall()
            opened.execute("DELETE FROM state WHERE rowid = 3")  # numbers of rows, by which the start would miss them
        self.assertEqual(sum(last - first + 1 for first, last in gone), 3000 + 200)
        self.damage(log, b"1 1234" * 20)
        self.restart(0, 1)
        text = self.run_command("verify", self.uri, "--mark")
        lines = [": ".join(line.split(": ")[:2]) for line in text.splitlines() if re.match(r"ledger \d+ entries", line)]
        found = [line for line in lines if not line.startswith(f"ledger {striped.ledger_id} ")]
        wanted = [f"ledger {lost} entries 0-2999 on bookie-0: missing"]
        wanted += [f"ledger {damaged} entries 1234-1234 on bookie-1: damaged"]
        wanted += [f"ledger {one} entries 0-2999 on bookie-2: unreachable" for one in (lost, damaged, whole)]
        self.assertEqual(sorted(found), sorted(wanted))
        lacking = "bookie-0 missing 200 entries, bookie-2 unreachable 200 entries"
        self.assertIn(f"ledger {striped.ledger_id}: {lacking}", text)
        self.assertEqual(len(lines) - len(found), 2)
        self.assertIn("3 ledgers are marked", text)
        self.restart(2)
        text = self.run_command("replicate", self.uri)
        self.assertIn(f"ledger {lost} fragment 0 position", text)
        self.assertIn("repaired, 3,000 entries", text)
        self.assertIn("repaired, 1 entries", text)
        self.assertIn("repaired, 200 entries", text)
        self.assertEqual((text.count("repaired, "), self.status), (3, 0), text)
        self.run_command("verify", self.uri)
        self.assertEqual(self.status, 0)
        marks = self.connect().underreplication
        for ledger_id in (lost, damaged, striped.ledger_id):
            self.assertRaises(NotUnderreplicatedError, THREAD.wait, lambda n=ledger_id: marks.read_mark(n))
        self.assertEqual(THREAD.wait(marks.locked_ledgers), {})

    def test_verify_lost_log(self) -> None:
        """Of bookies whose logs are gone a striped ledger is one range of missing entries, ledgers without entries are
        counted, and each damaged ledger has a line of its own, however few ranges are listed."""
        with self.client.create_ledger(3, 2, 2) as striped:
            striped.append_many(PAYLOADS)
        other, empty = self.ledger(PAYLOADS[:7]), self.ledger([])
        for bookie in self.bookies:
            THREAD.wait(bookie.stop)
        for log in self.files(0, "*.log"):
            log.unlink()
        self.restart(0, 1, 2)
        self.patch(main, "_SHOWN", 1)
        lines = self.run_command("verify", self.uri).splitlines()
        self.assertEqual(lines[:2], [
            f"ledger {striped.ledger_id}: bookie-0 missing 2,000 entries", f"ledger {other}: bookie-0 missing 7 entries"
        ])  # fmt: skip
        self.assertRegex(
            lines[2], rf"^ledger {striped.ledger_id} entries \d+-(2999|2998) on bookie-0: missing: 2,000 entries: "
        )
        self.assertEqual(lines[3], "these are the first ranges of each ledger, 1 of 2")
        self.assertEqual(lines[4], "3 ledgers were looked at, 1 of them without entries")
        self.assertEqual(self.status, 1)
        self.assertEqual(self.run_command("verify", self.uri, "--ledgers", str(empty)).splitlines()[0],
                         "1 ledgers were looked at, 1 of them without entries")  # fmt: skip
        self.assertEqual(self.status, 0)
        THREAD.wait(self.bookies.pop().stop)
        text = self.run_command("verify", self.uri, "--ledgers", str(empty))
        self.assertIn(f"ledger {empty} has no entries; not registered: bookie-2", text)
        self.assertEqual(self.status, 1)

    def test_damages(self) -> None:
        """Ranges of a bookie go on over parts of the work and ensemble changes, and end where a sound entry is, or an
        ensemble without the bookie; every ledger gets its turn in the list."""
        from bookkeeper_twisted.spark.pipelines import verify

        rows = [
            (1, 0, "a", 0, 4, "missing", 5), (1, 0, "a", 5, 9, "missing", 5), (1, 1, "a", 10, 14, "missing", 5),
            (1, 3, "a", 30, 34, "missing", 5), (1, 3, "a", 35, 35, "ok", 1), (1, 3, "a", 36, 36, "missing", 1),
            (1, 0, "b", 0, 9, "ok", 10), (2, 0, "b", 0, 8, "damaged", 3), (2, 0, "b", 10, 19, "missing", 4),
        ]  # fmt: skip
        columns = "ledger_id BIGINT, fragment INT, bookie_id STRING, first BIGINT, last BIGINT, status STRING"
        found = [(*row, f"entry {row[3]}") for row in rows]
        findings = self.spark.createDataFrame(found, f"{columns}, entries BIGINT, detail STRING")
        damaged = verify.damages(findings)
        shown = [tuple(row)[:6] for row in verify.first_of_each(damaged.select(
            "ledger_id", "first", "last", "bookie_id", "status", "entries", "detail"), 99)]  # fmt: skip
        self.assertEqual(shown, [
            (1, 0, 14, "a", "missing", 15), (1, 30, 34, "a", "missing", 5), (1, 36, 36, "a", "missing", 1),
            (2, 0, 8, "b", "damaged", 3), (2, 10, 19, "b", "missing", 4),
        ])  # fmt: skip
        first = verify.first_of_each(damaged, 3)
        self.assertEqual([(row.ledger_id, row.detail) for row in first],
                         [(1, "entry 0"), (1, "entry 30"), (2, "entry 0")])  # fmt: skip
        totals = [tuple(row) for row in verify.by_ledger(damaged).collect()]
        self.assertEqual(totals, [(1, "a", "missing", 21), (2, "b", "damaged", 3), (2, "b", "missing", 4)])

    def test_replicate_to_another_bookie(self) -> None:
        """What a bookie kept that is gone goes to another one, whole ledgers and striped ones, and the metadata name
        it; without another one nothing changes."""
        ledgers = []
        for ensemble in (2, 3):
            with self.client.create_ledger(ensemble, 2, 2) as writer:
                writer.append_many(PAYLOADS[:500])
            ledgers.append(writer.ledger_id)
        pair = self.client.ledger_metadata(ledgers[0]).segments[0].bookies
        lost = int(pair[0][-1])
        THREAD.wait(self.bookies[lost].stop)
        marks = self.connect()
        for ledger_id in ledgers:
            THREAD.wait(lambda n=ledger_id: marks.underreplication.mark(n, (pair[0],)))  # type: ignore[misc]
        text = self.run_command("replicate", self.uri)
        (other,) = {f"bookie-{n}" for n in range(3)} - set(pair)
        self.assertIn(f"on {pair[0]}, now {other}: repaired, 500 entries", text)
        self.assertIn("no target", text)
        self.assertIn("1 of 2 replicas", text)
        self.assertEqual(set(self.client.ledger_metadata(ledgers[0]).segments[0].bookies), {pair[1], other})
        self.assertEqual(len(self.client.ledger_metadata(ledgers[1]).segments[0].bookies), 3)
        self.assertEqual(set(marks.marks()), {ledgers[1]})
        text = self.run_command("verify", self.uri, "--ledgers", str(ledgers[0]))
        self.assertEqual(self.status, 0, text)
        del self.bookies[lost]

    def test_ledgers_without_entries(self) -> None:
        """Of a ledger without entries verify reports the bookie that is gone, and both kinds of repair replace it."""
        empty: list[int] = []
        while len(empty) < 2:
            with self.client.create_ledger(2, 2, 2) as writer:
                pass
            if "bookie-0" in self.client.ledger_metadata(writer.ledger_id).bookies:
                empty.append(writer.ledger_id)
        THREAD.wait(self.bookies.pop(0).stop)
        text = self.run_command("verify", self.uri)
        found = re.findall(r"^ledger (\d+) has no entries; not registered: (.*)$", text, re.MULTILINE)
        wanted = [(str(one), "bookie-0") for one in empty]
        self.assertEqual((found, self.status), (wanted, 1), text)
        for ledger_id, options in zip(empty, ((), ("--gone-only",)), strict=True):
            text = self.run_command("replicate", self.uri, "--ledgers", str(ledger_id), *options)
            self.assertEqual((text.count("repaired, 0 entries"), self.status), (1, 0), text)
            self.assertEqual(self.client.ledger_metadata(ledger_id).bookies, {"bookie-1", "bookie-2"})
        text = self.run_command("verify", self.uri)
        self.assertEqual((re.findall("^ledger", text, re.MULTILINE), self.status), ([], 0))

    def test_failed_export(self) -> None:
        """An export that cannot read an entry leaves no table of ledgers, so nobody takes it for an archive."""
        damaged = self.ledger([b"%d %d" % (0, i) * 20 for i in range(3000)])
        for bookie in self.bookies:
            THREAD.wait(bookie.stop)
        for number in range(3):
            self.damage(self.files(number, "*.log"), b"0 2222" * 20)
        self.restart(0, 1, 2)
        path = Path(self.mktemp()).absolute()
        printed = io.StringIO()
        with redirect_stderr(printed):
            self.run_command("export", self.uri, str(path))
        self.assertEqual(self.status, 2)
        self.assertIn(f"ledger {damaged}", printed.getvalue())
        self.assertFalse((path / "ledgers").exists())

    def test_unsure(self) -> None:
        """Of bookies that could not be reached, and of those of a ledger whose end is not known, more may be lacking;
        bookies that are gone lack everything."""
        from bookkeeper_twisted.spark.pipelines import replicate

        rows = [
            (1, 0, 0, "a", 0, 9, True, True), (1, 0, 1, "gone", 0, 9, True, False), (1, 1, 0, "a", 10, 19, True, True),
            (2, 0, 0, "b", 0, 0, False, True), (2, 0, 1, "gone", 0, 0, False, False),
        ]  # fmt: skip
        columns = "ledger_id BIGINT, fragment INT, position INT, bookie_id STRING"
        replicas = self.spark.createDataFrame(
            rows, f"{columns}, first_entry_id BIGINT, last_entry_id BIGINT, end_known BOOLEAN, available BOOLEAN"
        )
        found = [
            (1, 0, 0, "a", "missing", 2, 3), (1, 0, 0, "a", "ok", 4, 9), (1, 0, 1, "gone", "unreachable", 0, 9),
            (1, 1, 0, "a", "unreachable", 10, 19), (2, 0, 0, "b", "ok", 0, 0),
        ]  # fmt: skip
        findings = self.spark.createDataFrame(found, f"{columns}, status STRING, first BIGINT, last BIGINT")
        check = replicate.check_of_entries(findings, replicas, {})
        lacking = ReplicaLoss(0, "a", LossKind.MISSING, ((2, 3),))
        everything = ReplicaLoss(1, "gone", LossKind.GONE, ((0, 9),))
        self.assertCountEqual(check.losses[1][0], [lacking, everything])
        self.assertEqual(check.unsure, {1: {"a", "gone"}, 2: {"b"}})
        check = replicate.check_of_bookies(replicas, {})
        self.assertEqual((check.losses[1], check.unsure), ({0: [everything]}, None))

    def restart(self, *numbers: int) -> None:
        """Start bookies that were stopped."""
        for number in numbers:
            self.bookies[number] = make_bookie(THREAD.reactor, self.configs[number])
            THREAD.wait(self.bookies[number].start)

    def files(self, bookie: int, pattern: str) -> list[Path]:
        """Files of a bookie."""
        found = sorted(Path(self.configs[bookie].ledger_directories[0]).rglob(pattern))
        self.assertTrue(found, pattern)
        return found

    def damage(self, logs: list[Path], needle: bytes) -> None:
        """Change one byte in an entry log."""
        for path in logs:
            data = path.read_bytes()
            if (at := data.find(needle)) >= 0:
                path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
                return
        self.fail("no log has the entry")

    def test_verify_keeps_to_a_limit(self) -> None:
        """With a limit the command says how far from it bookies were read; it is not exceeded."""
        self.ledger(PAYLOADS)
        text = self.run_command("verify", self.uri, "--max-entries-per-second", "6000")
        (error,) = re.findall(r"([+-]\d+\.\d)% of the limit of entries", text)
        self.assertLess(float(error), 10)

    def test_usage_and_plan(self) -> None:
        """The space of each ledger is counted, and that of deleted ones is what a compaction would win."""
        from bookkeeper_twisted.spark.pipelines import space

        kept, deleted = self.ledger(PAYLOADS), self.ledger(PAYLOADS)
        directories = [str(path) for path in sorted(Path(self.uri.partition("///")[2]).parent.glob("bookie-*/ledgers"))]
        self.stop_bookies()  # writes what is in memory
        self.client.delete_ledger(deleted)
        used = space.usage(space.entry_logs(self.spark, directories), 2).persist()
        stored = sum(map(len, PAYLOADS)) + len(PAYLOADS) * 40
        rows = {row.ledger_id: (row.bytes, row.logs) for row in space.by_ledger(used).collect()}
        self.assertEqual(rows, {kept: (3 * stored, 3), deleted: (3 * stored, 3)})
        ledgers = self.spark.createDataFrame([(kept,)], "ledger_id BIGINT")
        text = self.run_command("compaction-plan", self.uri, *directories)
        self.assertRegex(text, r"threshold 0\.5: +0 logs, +0 B won, +0 B copied\nthreshold 0\.6: +3 logs")
        plan = {
            row.threshold: (row.logs, row.won, row.copied) for row in space.compaction_plan(used, ledgers).collect()
        }
        self.assertEqual(plan, dict.fromkeys((0.6, 0.7, 0.8, 0.9), (3, 3 * stored, 3 * stored)))
        address = f"http://127.0.0.1:{self.start_with_http()}"
        asked = space.usage(space.entry_logs(self.spark, [address]), 2)
        rows = {row.ledger_id: (row.bytes, row.logs) for row in space.by_ledger(asked).collect()}
        self.assertEqual(rows, {kept: (stored, 1), deleted: (stored, 1)})
        self.assertIn(f"ledger {kept:>20}", self.run_command("usage", address))
        self.stop_bookies()
        error = self.assertRaises(BookieHandleNotAvailableError, space.entry_logs, self.spark, [address])
        self.assertIn(address, str(error))

    def start_with_http(self) -> int:
        """The port of the HTTP server of the first bookie, started anew."""
        config = attrs.evolve(
            self.configs[0], http_server_enabled=True, http_server_port=0, http_server_host="127.0.0.1"
        )  # fmt: skip
        self.bookies.append(make_bookie(THREAD.reactor, config))
        THREAD.wait(self.bookies[-1].start)
        return self.bookies[-1].http_port

    def test_export_and_import(self) -> None:
        """Ledgers that were exported and deleted come back with ids, entries, ends and metadata."""
        first = self.ledger(PAYLOADS, b"pw", {"application": b"a\xff"})
        with self.client.create_ledger(2, 2, 2, b"pw", DigestType.HMAC) as empty:
            pass
        before = {n: self.client.ledger_metadata(n) for n in (first, empty.ledger_id)}
        path = str(Path(self.mktemp()).absolute())
        password = Path(self.mktemp())
        password.write_text("pw\n")
        self.run_command(
            "export",
            self.uri,
            path,
            "--password-file",
            str(password),
            "--ledgers",
            f"{first},{empty.ledger_id}",
            "--max-entries-per-second",
            "1000000",
        )
        for ledger_id in before:
            self.client.delete_ledger(ledger_id)
        for _ in range(2):  # an import with the same id may be repeated
            self.run_command("import", self.uri, path, "--password-file", str(password), "--write-id", "once",
                             "--max-bytes-per-second", "100000000")  # fmt: skip
        for ledger_id, metadata in before.items():
            after = self.client.ledger_metadata(ledger_id)
            for name in ("last_entry_id", "length", "digest_type", "ensemble_size", "write_quorum_size", "password"):
                self.assertEqual(getattr(after, name), getattr(metadata, name), name)
            self.assertEqual((after.ctime, after.custom_metadata), (metadata.ctime, metadata.custom_metadata))
        with self.client.open_ledger(first, b"pw") as reader:
            self.assertEqual([entry.data for entry in reader], PAYLOADS)
        with self.assertRaisesRegex(Exception, f"ledger {first} exists"):
            from bookkeeper_twisted.spark.pipelines import archive

            archive.restore(archive.archived(self.spark, path), self.uri, 2)

    def test_export_with_passwords(self) -> None:
        """Ledgers with different passwords are exported at once, with those in their metadata."""
        ledgers = [self.ledger([b"of %s" % password], password) for password in (b"one", b"two", b"")]
        path = str(Path(self.mktemp()).absolute())
        self.assertIn("3 ledgers", self.run_command("export", self.uri, path))
        self.assertEqual(self.status, 0)
        entries = self.spark.read.parquet(f"{path}/entries").orderBy("ledger_id").collect()
        found = [(row.ledger_id, bytes(row.payload)) for row in entries]
        self.assertEqual(found, list(zip(ledgers, (b"of one", b"of two", b"of "), strict=True)))
        odd = self.ledger([b"x"], b"\xff")
        with redirect_stderr(io.StringIO()) as printed:
            self.run_command("export", self.uri, f"{path}/odd")
        self.assertIn(f"ledger {odd} cannot be exported: its password is no UTF-8 text", printed.getvalue())
