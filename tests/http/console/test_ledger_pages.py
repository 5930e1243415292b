"""Ledgers in the console: the search, groups, one ledger, one entry on all of its bookies."""

import json
from typing import Any

from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.http.console import ledger_pages
from bookkeeper_twisted.http.console.cluster_parts import ClusterParts, unneeded_bookies
from bookkeeper_twisted.http.console.ledger_pages import LISTED, ROWS, SCANNED
from bookkeeper_twisted.http.console.replicas import MOST_SHOWN
from bookkeeper_twisted.metadata.undecoded import UndecodedLedgers
from bookkeeper_twisted.model import LedgerMetadata, LedgerState, Segment

from .cluster_case import ConsoleClusterCase


class SearchTests(ConsoleClusterCase):
    """Conditions, and pages."""

    def ids(self, query: str = "") -> list[int]:
        """The ledgers that a search finds."""
        return [row["id"] for row in self.json(f"ledgers?{query}")["ledgers"]]

    def test_rows(self) -> None:
        """A row has state, sizes, quorums and custom metadata as text, and no password."""
        ledger_id = self.ledger(b"abc", password=b"sesame", custom_metadata={"application": b"pulsar"})
        answer = self.json("ledgers")
        (row,) = answer["ledgers"]
        self.assertEqual((answer["next"], answer["scanned"]), (None, 1))
        self.assertEqual((row["id"], row["state"], row["length"], row["last"]), (ledger_id, "CLOSED", 3, 0))
        self.assertEqual((row["custom"], row["replicas"]), ({"application": "pulsar"}, 2))
        self.assertNotIn("sesame", str(answer))

    def test_conditions(self) -> None:
        """Ledgers are found by bookie, state, and the begin of custom metadata; all conditions hold together."""
        first = self.ledger(custom_metadata={"name": b"tenant/one"})
        second = self.ledger(close=False, custom_metadata={"name": b"tenant/two"})
        self.assertEqual(self.ids("state=open"), [second])
        self.assertEqual(self.ids("key=name&value=tenant/"), [first, second])
        self.assertEqual(self.ids("value=tenant/o"), [first])
        self.assertEqual(self.ids("key=other"), [])
        self.assertEqual(self.ids("state=closed&value=tenant/two"), [])
        bookie = self.bookies_of(first)[0]
        found = [each for each in (first, second) if bookie in self.bookies_of(each)]
        self.assertEqual(self.ids(f"bookie={bookie}"), found)
        self.assertEqual(self.ask("/api/v1/console/ledgers?state=shut").status, 400)

    def test_at_risk(self) -> None:
        """A ledger whose entries have one live replica is at risk; with two it is not."""
        ledger_id = self.ledger(b"x")
        self.assertEqual(self.ids("at_risk=true"), [])
        self.result(self.cluster.stop_bookie(self.bookies_of(ledger_id)[0]))
        self.assertEqual(self.ids("at_risk=true"), [ledger_id])

    def test_unpromised(self) -> None:
        """Of a ledger with two live bookies, one may lack entries if an acknowledgement is that of one bookie alone."""
        writer = self.result(self.client.create_ledger(3, 2, 1))
        self.result(writer.append(b"x"))
        self.result(writer.close())
        empty = self.result(self.client.create_ledger(3, 2, 1))
        self.result(empty.close())
        self.ledger(b"x")
        answer = self.json("ledgers?at_risk=true")
        self.assertEqual((answer["ledgers"], answer["unpromised"]), ([], [writer.ledger_id]))
        self.assertEqual(self.json("ledgers")["unpromised"], [])
        self.assertEqual([row["promised"] for row in self.json("ledgers")["ledgers"]], [1, 1, 2])
        self.result(self.cluster.stop_bookie(self.bookies_of(writer.ledger_id)[0]))
        row = self.json("ledgers?at_risk=true")["ledgers"][0]
        self.assertEqual((row["id"], row["replicas"], row["promised"]), (writer.ledger_id, 1, 0))

    def test_none_promised(self) -> None:
        """Two of three bookies of a write set are left, and the one that has acknowledged an entry need not be."""
        writer = self.result(self.client.create_ledger(3, 3, 1))
        self.result(writer.append(b"x"))
        self.result(writer.close())
        self.assertEqual(self.json("ledgers?at_risk=true")["unpromised"], [writer.ledger_id])
        self.result(self.cluster.stop_bookie(self.bookies_of(writer.ledger_id)[0]))
        answer = self.json("ledgers?at_risk=true")
        (row,) = answer["ledgers"]
        self.assertEqual((row["id"], row["replicas"], row["promised"], answer["unpromised"]), (0, 2, 0, []))

    def test_absent(self) -> None:
        """A row names bookies of all ensembles that are not there, not those of the last one alone."""
        segments = (Segment(0, ("gone-1", "gone-2")), Segment(5, ("bookie-0", "bookie-1")))
        metadata = LedgerMetadata(2, 2, 2, segments, state=LedgerState.CLOSED, last_entry_id=9, length=9)
        self.result(self.client.metadata.ledgers.create(7, metadata))
        (row,) = self.json("ledgers?at_risk=true")["ledgers"]
        self.assertEqual((row["bookies"], row["absent"]), (["bookie-0", "bookie-1"], ["gone-1", "gone-2"]))
        self.assertEqual(self.json("ledger?ledger_id=7")["absent"], ["gone-1", "gone-2"])

    def test_silent_is_at_risk(self) -> None:
        """The replicas of a bookie that is registered but does not answer are not left."""
        ledger_id = self.ledger(b"x", b"y", b"z")
        self.cluster.bookies[self.bookies_of(ledger_id)[0]].up = False
        (row,) = self.json("ledgers?at_risk=true")["ledgers"]
        self.assertEqual((row["id"], row["replicas"], row["doubtful"]), (ledger_id, 1, 1))

    def test_marked_is_at_risk(self) -> None:
        """Replicas that a mark names, as after a scrub, are not left, also if so many ledgers are marked that each
        mark is looked for.
        """
        first, second = self.ledger(b"x"), self.ledger(b"x")
        bookies = self.bookies_of(first)
        self.result(self.marks.mark(first, bookies[:1], None))
        self.assertEqual(self.ids("at_risk=true"), [first])
        self.assertEqual([row["replicas"] for row in self.json("ledgers")["ledgers"]], [1, 2])
        found = self.json(f"ledger?ledger_id={first}")
        self.assertEqual((found["replicas"], found["doubtful"]), (1, 1))
        self.result(self.marks.mark(second, (), None))
        third = self.ledger(b"x")
        self.result(self.marks.mark(third, self.bookies_of(third)[:1], None))
        self.patch(ledger_pages, "LISTED", 1)
        self.assertEqual(self.json(f"ledgers?at_risk=true&after={second}")["ledgers"][0]["id"], third)
        self.result(self.marks.lock(second, f"h: waits: no bookie has ledger {second} entry 0: lost"))
        found = self.json(f"ledger?ledger_id={second}")
        self.assertEqual((found["replicas"], found["doubtful"]), (0, 0))

    def test_many_marks(self) -> None:
        """A page of a search lists only so many marks as are listed sooner than those of its ledgers are read."""
        ledger_id, listed = self.ledger(b"x"), []
        self.result(self.marks.mark(ledger_id, self.bookies_of(ledger_id)[:1], None))

        async def many() -> Any:
            for number in range(LISTED * 9):
                listed.append(number)
                yield number + 1000

        self.patch(self.result(self.shared()).client.metadata.underreplication, "marked_ledgers", many)
        self.assertEqual(self.ids("at_risk=true"), [ledger_id])
        self.assertEqual(len(listed), LISTED + 1)

    def test_empty_is_safe(self) -> None:
        """A closed ledger without entries is not at risk, also if none of its bookies is there."""
        empty = LedgerMetadata(1, 1, 1, (Segment(0, ("gone",)),), state=LedgerState.CLOSED)
        opened = LedgerMetadata(1, 1, 1, (Segment(0, ("gone",)),))
        for number, metadata in enumerate((empty, opened)):
            self.result(self.client.metadata.ledgers.create(number, metadata))
        self.assertEqual(self.ids("at_risk=true"), [1])

    def test_high_ids(self) -> None:
        """Ids that a browser would round are strings in all answers, and are found by the ids that stand there."""
        high, last = (1 << 53) + 1, (1 << 63) - 1
        segments = (Segment(0, ("bookie-0",)), Segment(high, ("bookie-1",)))
        metadata = LedgerMetadata(1, 1, 1, segments, state=LedgerState.CLOSED, last_entry_id=high + 2)
        for ledger_id in ((1 << 53) - 1, high, last):
            self.result(self.client.metadata.ledgers.create(ledger_id, metadata))
        rows = self.json("ledgers")["ledgers"]
        self.assertEqual([row["id"] for row in rows], [(1 << 53) - 1, "9007199254740993", "9223372036854775807"])
        self.assertEqual(self.json("ledgers?after=9007199254740993")["ledgers"][0]["id"], "9223372036854775807")
        found = self.json("ledger?ledger_id=9007199254740993")
        self.assertEqual((found["id"], found["last"], found["segments"][1]),
                         ("9007199254740993", "9007199254740995", ["9007199254740993", ["bookie-1"]]))
        found = self.json("entry?ledger_id=9223372036854775807&entry_id=9007199254740994")
        self.assertEqual((found["ledger"], found["entry"]), ("9223372036854775807", "9007199254740994"))

    def many(self, count: int) -> None:
        """Ledgers without entries, odd ones open."""
        metadata = LedgerMetadata(1, 1, 1, (Segment(0, ("bookie-0",)),), state=LedgerState.CLOSED)
        opened = LedgerMetadata(1, 1, 1, (Segment(0, ("bookie-0",)),))
        for number in range(count):
            self.result(self.client.metadata.ledgers.create(number, opened if number % 2 else metadata))

    def test_pages(self) -> None:
        """An answer has a bounded number of rows and of ledgers that were looked at; all answers have each row once."""
        self.many(SCANNED + 3 * ROWS)
        found: list[int] = []
        after: Any = -1
        while after is not None:
            answer = self.json(f"ledgers?state=open&after={after}")
            self.assertLessEqual(len(answer["ledgers"]), ROWS)
            self.assertLessEqual(answer["scanned"], SCANNED)
            found += [row["id"] for row in answer["ledgers"]]
            after = answer["next"]
        self.assertEqual(found, list(range(1, SCANNED + 3 * ROWS, 2)))
        first = self.json("ledger_groups?key=name")
        self.assertEqual((first["scanned"], first["next"]), (SCANNED, SCANNED - 1))
        second = self.json(f"ledger_groups?key=name&after={first['next']}")
        self.assertEqual((second["scanned"], second["next"]), (3 * ROWS, None))

    def test_end(self) -> None:
        """Behind the highest id there is nothing, and ids above it are refused."""
        self.ledger(b"abc")
        answer = self.json(f"ledgers?after={(1 << 63) - 1}")
        self.assertEqual((answer["ledgers"], answer["next"]), ([], None))
        self.assertEqual(self.json(f"ledger_groups?key=a&after={(1 << 63) - 1}")["groups"], {})

    def test_groups(self) -> None:
        """Numbers and bytes by a key of the metadata, or by the first parts of its value."""
        for name, payload in ((b"a/one", b"xyz"), (b"a/two", b"xy"), (b"b/one", b"x")):
            self.ledger(payload, custom_metadata={"name": name})
        self.ledger(close=False)
        found = self.json("ledger_groups?key=name&depth=1")
        self.assertEqual((found["next"], found["scanned"]), (None, 4))
        self.assertEqual(found["groups"]["a"], {"ledgers": 2, "open": 0, "bytes": 10})
        self.assertEqual(found["groups"][""]["open"], 1)
        self.assertLess({"a/one", "a/two", "b/one"}, set(self.json("ledger_groups?key=name")["groups"]))
        self.assertEqual(self.ask("/api/v1/console/ledger_groups").status, 400)

    def test_long_values(self) -> None:
        """Long values of the metadata are cut in the list and in the groups, and say so."""
        for end in (b"", b"x", b"y"):
            self.ledger(custom_metadata={"name": b"a" * 199 + end * 2})
        groups = self.json("ledger_groups?key=name")["groups"]
        self.assertEqual({name: each["ledgers"] for name, each in groups.items()}, {"a" * 199: 1, "a" * 199 + "…": 2})
        self.assertEqual(self.json("ledgers?key=name")["ledgers"][1]["custom"], {"name": "a" * 199 + "…"})


class LedgerTests(ConsoleClusterCase):
    """One ledger, and its entries."""

    def test_ledger(self) -> None:
        """Ensembles with the states of their bookies; no mark if nothing is wrong."""
        ledger_id = self.ledger(b"x", password=b"sesame")
        found = self.json(f"ledger?ledger_id={ledger_id}")
        self.assertEqual(found["segments"], [[0, self.bookies_of(ledger_id)]])
        self.assertEqual((set(found["states"].values()), found["mark"]), ({"writable"}, None))
        self.assertNotIn("sesame", str(found))
        deleted = self.ask("/api/v1/console/ledger?ledger_id=77")
        self.assertEqual((deleted.status, deleted.body), (404, "Not Found\nledger 77 does not exist"))
        self.assertEqual(self.ask("/api/v1/console/ledger").status, 400)

    def test_underreplicated(self) -> None:
        """The mark says which replicas are missing and why; the lock, why the ledger is not repaired yet."""
        ledger_id = self.ledger(b"x")
        gone = self.bookies_of(ledger_id)[1]
        self.result(self.cluster.stop_bookie(gone))
        self.result(self.marks.mark(ledger_id, (gone,), 5000))
        found = self.json(f"ledger?ledger_id={ledger_id}")
        self.assertEqual((found["mark"]["missing"], found["mark"]["since"], found["replicas"]), ([gone], 5.0, 1))
        self.assertIsNone(found["unmarked"])
        self.assertEqual(found["mark"]["reason"], f"{gone} is not registered; no worker is at it at present")
        self.assertEqual(found["states"][gone], "unavailable")
        self.clock.advance(60)
        self.result(self.marks.lock(ledger_id, "h: cannot be repaired, tried again at 1970-01-01T00:00:59Z: few"))
        found = self.json(f"ledger?ledger_id={ledger_id}")
        self.assertEqual(found["mark"]["lock"], "h: cannot be repaired, tried again soon: few")

    def test_not_marked(self) -> None:
        """A ledger without a mark that lacks replicas is not called whole: it says who would mark it."""
        ledger_id = self.ledger(b"x")
        found = self.json(f"ledger?ledger_id={ledger_id}")
        self.assertEqual(found["unmarked"], {"level": "good", "text": "It is not marked as under-replicated."})
        self.result(self.cluster.stop_bookie(self.bookies_of(ledger_id)[0]))
        for why in ("no auditor is elected that would mark it", "the auditor has not marked it yet"):
            found = self.json(f"ledger?ledger_id={ledger_id}")
            self.assertEqual(found["unmarked"], {
                "level": "bad", "text": f"It lacks replicas, 1 of 2 are left; {why}."})
            if found["unmarked"]["text"].endswith("mark it."):
                self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
                self.settle()
        self.result(self.marks.set_enabled(False))
        why = "autorecovery is disabled, so the auditor does not mark it"
        self.assertTrue(self.json(f"ledger?ledger_id={ledger_id}")["unmarked"]["text"].endswith(f"left; {why}."))

    def test_silent(self) -> None:
        """A bookie that is registered but does not answer is named as such, and does not count as a replica."""
        ledger_id = self.ledger(b"x", b"y", b"z")
        first, second, third = self.bookies_of(ledger_id)
        self.cluster.bookies[first].up = False
        for gone in ("", second):
            found = self.json(f"ledger?ledger_id={ledger_id}")
            self.assertEqual((found["states"][first], found["states"][third]), ("does not answer", "writable"))
            left = 0 if gone else 1
            why = "no auditor is elected that would mark it" if gone else "no ledger is marked for that"
            self.assertEqual((found["replicas"], found["unmarked"]["text"]), (
                left, f"It lacks replicas, {left} of 2 are left; {first} does not answer; {why}."))
            self.result(self.cluster.stop_bookie(second))
        self.result(self.marks.mark(ledger_id, (first,), None))
        reason = self.json(f"ledger?ledger_id={ledger_id}")["mark"]["reason"]
        self.assertTrue(reason.startswith(f"{first} was damaged or away"), reason)

    def test_same(self) -> None:
        """An entry that is the same everywhere says so, with its payload and the verdict of each digest."""
        ledger_id = self.ledger(b"one", b"two")
        found = self.json(f"entry?ledger_id={ledger_id}&entry_id=1")
        self.assertEqual((found["verdict"], found["same"]), (
            "all 2 replicas are the same, as the bookies answer now", True))
        bookies = self.bookies_of(ledger_id)
        self.assertEqual([row["bookie"] for row in found["replicas"]], [bookies[1], bookies[2]])
        for row in found["replicas"]:
            self.assertEqual((bytes.fromhex(row["hex"]), row["verdict"], row["size"]), (b"two", "ok", 3))

    def test_different(self) -> None:
        """A damaged replica has a wrong digest and the first byte that differs; one that is missing says so."""
        ledger_id = self.ledger(b"one")
        first, second, _ = self.bookies_of(ledger_id)
        entries = self.cluster.bookies[first].entries[ledger_id]
        entries[0] = entries[0][:-1] + b"X"
        found = self.json(f"entry?ledger_id={ledger_id}&entry_id=0")
        self.assertEqual(found["verdict"], f"1 of 2 replicas are missing, damaged or different: {first}")
        self.assertFalse(found["same"])
        damaged, whole = found["replicas"]
        self.assertTrue(damaged["verdict"].startswith("wrong digest"), damaged)
        self.assertEqual((damaged["same"], damaged["differsAt"] is None, whole["verdict"]), (False, False, "ok"))
        self.cluster.bookies[second].up = False
        found = self.json(f"entry?ledger_id={ledger_id}&entry_id=0")
        self.assertEqual((found["verdict"], found["replicas"][1]["hex"]), (
            f"no replica that could be read is valid; 1 of 2 replicas could not be asked for: {second}", None))

    def test_no_entry(self) -> None:
        """Entries and ledgers that do not exist are answered with what is known."""
        ledger_id = self.ledger(b"one")
        found = self.json(f"entry?ledger_id={ledger_id}&entry_id=5")
        self.assertEqual((found["verdict"], found["same"], found["level"]), (
            "there is no entry 5: the ledger is closed and ends with entry 0", False, "unknown"))
        found = self.json(f"entry?ledger_id={self.ledger()}&entry_id=0")
        self.assertEqual(found["verdict"], "there is no entry 0: the ledger is closed and has no entry")
        opened = self.ledger(b"one", close=False)
        levels = [self.json(f"entry?ledger_id={opened}&entry_id={entry_id}")["level"] for entry_id in (0, 5)]
        self.assertEqual(levels, ["good", "unknown"])
        self.assertEqual(self.ask("/api/v1/console/entry?ledger_id=77&entry_id=0").status, 404)
        self.assertEqual(self.ask("/api/v1/console/entry?ledger_id=0").status, 400)

    def test_large(self) -> None:
        """Of a large entry the first bytes are shown."""
        ledger_id = self.ledger(b"x" * (MOST_SHOWN + 10))
        row = self.json(f"entry?ledger_id={ledger_id}&entry_id=0")["replicas"][0]
        self.assertEqual((row["size"], len(row["hex"])), (MOST_SHOWN + 10, 2 * MOST_SHOWN))


class UndecodedTests(ConsoleClusterCase):
    """A ledger whose metadata cannot be decoded, between two others."""

    def setUp(self) -> None:
        super().setUp()
        ids = [self.ledger(b"x", custom_metadata={"name": b"a"}, close=close) for close in (True, True, False)]
        self.first, self.broken, self.opened = ids
        ledgers: Any = self.client.metadata.ledgers
        version = ledgers._store.read_ledger(self.broken).version
        ledgers._store.write_ledger(self.broken, b"BookieMetadataLedgerTSERsion\t3\n\xff\x00\xff", version)

    def test_search(self) -> None:
        """All others are found behind it, and it is named: it may fulfil any condition."""
        for query, ids in (("", [self.first, self.opened]), ("state=open", [self.opened]), ("at_risk=true", [])):
            answer = self.json(f"ledgers?{query}")
            self.assertEqual([row["id"] for row in answer["ledgers"]], ids)
            self.assertEqual((answer["undecoded"], answer["scanned"], answer["next"]), ([self.broken], 3, None))
        self.assertEqual(self.json(f"ledgers?after={self.broken}")["undecoded"], [])

    def test_named_once(self) -> None:
        """One behind the last row of an answer is named in the next answer, where it is looked at."""
        self.patch(ledger_pages, "ROWS", 1)
        answer = self.json("ledgers")
        self.assertEqual((answer["undecoded"], answer["next"]), ([], self.first))
        self.assertEqual(self.json(f"ledgers?after={self.first}")["undecoded"], [self.broken])

    def test_groups(self) -> None:
        """It is in no group, and named."""
        answer = self.json("ledger_groups?key=name")
        self.assertEqual((answer["undecoded"], answer["scanned"]), ([self.broken], 3))
        self.assertEqual(answer["groups"]["a"]["ledgers"], 2)

    def test_ledger(self) -> None:
        """Its page, and that of an entry, say what is not known of it, and why."""
        for path in (f"ledger?ledger_id={self.broken}", f"entry?ledger_id={self.broken}&entry_id=0"):
            answer = self.ask(f"/api/v1/console/{path}")
            self.assertEqual(answer.status, 500)
            self.assertIn("metadata cannot be decoded, so its state, bookies and entries are not known", answer.body)
            self.assertIn("the version line is missing", answer.body)

    def test_unavailable_bookie(self) -> None:
        """The list of bookies is shown, and none that is unavailable counts as one that no ledger needs; that audits
        leave the ledger out is said while no mark names the bookie.
        """
        self.result(self.cluster._registration.write_cookie("old:1", b"4\nbookieHost: \"x\"\n", None))
        admin, undecoded = self.result(self.shared()), UndecodedLedgers()
        self.assertEqual(self.result(unneeded_bookies(admin, frozenset({"old:1"}), undecoded)), frozenset())
        self.assertEqual(undecoded.ids, {self.broken})
        self.client.metadata.auditing.stand("bookie-3", lambda is_auditor: None)
        self.settle()
        parts = ClusterParts(self.shared, self.clock)
        cluster: Any = self.result(parts.cluster())
        repair: Any = self.result(parts.repair())
        for text in (cluster["marksAlone"], repair["limit"]):
            self.assertIn("no mark names old:1, unavailable: ", text)
            self.assertTrue(text.endswith(
                "; 1 ledger is left out of audits and read again, as its metadata cannot be read or decoded, such as "
                f"ledger {self.broken}"
            ), text)  # fmt: skip

    def test_store_fails(self) -> None:
        """A store that cannot be read is not taken for metadata that cannot be decoded."""
        async def fails(*_: object) -> Any:
            raise MetadataError("no connection")

        self.patch(type(self.client.metadata.ledgers), "read", fails)
        for path in ("ledgers", "ledger_groups?key=name"):
            self.assertEqual(self.ask(f"/api/v1/console/{path}").status, 500)

    def test_list(self) -> None:
        """In the list of metadata that Apache's bookie has, it is null; the others are there."""
        answer = self.ask("/api/v1/ledger/list?print_metadata=true&decode_meta=true")
        found = json.loads(answer.body)
        self.assertEqual(list(found), [str(self.first), str(self.broken), str(self.opened)])
        self.assertIsNone(found[str(self.broken)])
        self.assertEqual(found[str(self.opened)]["state"], "OPEN")
