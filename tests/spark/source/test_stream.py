"""Planning micro-batches, on real bookies and without Spark."""

import json
import socket
from collections.abc import Iterable

import attrs
from pyarrow import RecordBatch

from bookkeeper_twisted.embedding import make_bookie
from bookkeeper_twisted.errors import ConfigError, NoSuchLedgerMetadataError
from bookkeeper_twisted.model import MAX_LEDGER_ID, Segment
from bookkeeper_twisted.spark.options import SinkOptions, SourceOptions
from bookkeeper_twisted.spark.reactor import THREAD
from bookkeeper_twisted.spark.sink.ledger_writing import WriteAttempt, client_of, write_partition
from bookkeeper_twisted.spark.sink.manifest import BatchKey
from bookkeeper_twisted.spark.sink.publishing import Publisher
from bookkeeper_twisted.spark.source import selection
from bookkeeper_twisted.spark.source.offsets import Admission, StreamOffset
from bookkeeper_twisted.spark.source.stream import StreamPlanner
from bookkeeper_twisted.spark.task.partition import Partition, read_partition, settings_of

from ..cluster_case import ClusterCase

ALL = Admission(None, None)
BATCHES = 6


class StreamCase(ClusterCase):
    """A stream over ledgers of one application."""

    def start(self, **options: str) -> StreamPlanner:
        """A query."""
        given = {"metadataserviceuri": self.uri, "startingoffsets": "earliest"} | options
        if not {"ledger", "ledgers"} & set(given):
            given["ledgerspattern"] = "application=events"
        self.options = SourceOptions.parse(given)
        planner = StreamPlanner(self.options)
        self.addCleanup(planner.close)
        return planner

    def events(self, count: int, **more: str) -> int:
        """A closed ledger of the application."""
        return self.ledger([b"%d" % n for n in range(count)], custom={"application": b"events"})

    def read(self, partitions: Iterable[Partition]) -> list[tuple[int, int]]:
        """Ledger and entry of everything that tasks give."""
        batches = [batch for one in partitions for batch in read_partition(one, settings_of(self.options))]
        return sorted(
            pair
            for batch in batches
            for pair in zip(batch["ledger_id"].to_pylist(), batch["entry_id"].to_pylist(), strict=True)
        )

    def advance(self, planner: StreamPlanner, start: StreamOffset, admission: Admission = ALL) -> StreamOffset:
        """The next offset, as it comes back from the checkpoint."""
        return StreamOffset.from_json(json.loads(json.dumps(planner.latest_offset(start, admission).to_json())))


class StreamTests(StreamCase):
    """Following ledgers."""

    def test_beside_a_sink(self) -> None:
        """What a sink publishes beside the ledgers that are followed does not make the offsets longer."""
        sink = SinkOptions.parse({"metadataserviceuri": self.uri, "manifest": "copy"})
        writer = client_of(sink)
        self.addCleanup(THREAD.wait, writer.close)
        publisher, planner = Publisher(THREAD.reactor, writer, sink), self.start()
        offset, sizes = planner.initial_offset(), []
        for batch_id in range(BATCHES):
            event, key = self.events(1), BatchKey("copy", "query", batch_id)
            end = self.advance(planner, offset)
            self.assertEqual(self.read(planner.partitions(offset, end)), [(event, 0)])
            offset = end
            rows = RecordBatch.from_pydict({"payload": [b"copied"]})
            written = write_partition(sink, WriteAttempt(key, 0, batch_id), [rows])
            THREAD.wait(lambda key=key, written=written: publisher.commit(key, written))  # type: ignore[misc]
            sizes.append(len(offset.done.ranges))
        self.assertEqual(sizes[1:], [2] * (BATCHES - 1))  # the query drew one id at its begin

    def test_new_ledgers_and_entries(self) -> None:
        """Closed, growing and new ledgers are followed, each entry once; others are left alone."""
        first = self.events(5)
        self.ledger([b"not ours"] * 3)
        planner = self.start()
        offset = planner.initial_offset()
        with self.client.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as growing:
            growing.append_many([b"x"] * 4)
            end = self.advance(planner, offset)
            self.assertEqual(
                self.read(planner.partitions(offset, end)),
                [(first, n) for n in range(5)]
                + [(growing.ledger_id, n) for n in range(end.next_entry[growing.ledger_id])],
            )
            offset = end
            growing.append_many([b"x"] * 4)
            second = self.events(2)
        end = self.advance(planner, offset)
        known = offset.position(growing.ledger_id) or 0
        self.assertEqual(
            self.read(planner.partitions(offset, end)),
            [(growing.ledger_id, n) for n in range(known, 8)] + [(second, 0), (second, 1)],
        )
        self.assertEqual(self.advance(planner, end), end)
        self.assertEqual(end.next_entry, {})

    def test_low_id(self) -> None:
        """A ledger whose id is far below the highest one, as an import may give it, is followed like any other."""
        self.events(1)
        planner = self.start()
        with self.client.create_ledger_adv(50_000, 3, 3, 2, custom_metadata={"application": b"events"}):
            pass
        offset = self.advance(planner, planner.initial_offset())
        for ledger_id in (200, 49_999, 50_001):
            custom = {"application": b"events"}
            with self.client.create_ledger_adv(ledger_id, 3, 3, 2, custom_metadata=custom) as writer:
                writer.write(0, b"x")
            end = self.advance(planner, offset)
            self.assertEqual(self.read(planner.partitions(offset, end)), [(ledger_id, 0)])
            offset = end

    def test_high_id(self) -> None:
        """Ledgers with ids as high as those of the sink's records are followed, and the records leave no trace."""
        sink = SinkOptions.parse({"metadataserviceuri": self.uri, "manifest": "copy"})
        writer = client_of(sink)
        self.addCleanup(THREAD.wait, writer.close)
        for batch_id in range(2):
            key = BatchKey("copy", "query", batch_id)
            THREAD.wait(lambda key=key: Publisher(THREAD.reactor, writer, sink).commit(key, []))  # type: ignore[misc]
        planner = self.start()
        offset = planner.initial_offset()
        for ledger_id in (1 << 62, MAX_LEDGER_ID):
            with self.client.create_ledger_adv(ledger_id, 3, 3, 2, custom_metadata={"application": b"events"}) as new:
                new.write(0, b"x")
            end = self.advance(planner, offset)
            self.assertEqual(self.read(planner.partitions(offset, end)), [(ledger_id, 0)])
            offset = end
        high = [(first, last) for first, last in offset.done.ranges if last >= 1 << 62]
        self.assertEqual(high, [(1 << 62, 1 << 62), (MAX_LEDGER_ID, MAX_LEDGER_ID)])

    def test_others_are_looked_at_once(self) -> None:
        """The metadata of a ledger that does not match are not read again, not after a restart either."""
        other = self.ledger([b"not ours"])
        self.events(1)
        planner = self.start()
        offset = self.advance(planner, planner.initial_offset())
        self.assertTrue(offset.is_done(other))
        self.client.delete_ledger(other)
        mine = self.events(1)
        again = self.start()
        self.assertEqual(self.read(again.partitions(offset, self.advance(again, offset))), [(mine, 0)])

    def test_ledgers_of_others_make_no_batch(self) -> None:
        """Ledgers that do not match leave the offset as it is, or a query would never end that its sink feeds."""
        self.events(1)
        planner = self.start()
        offset = self.advance(planner, planner.initial_offset())
        for _ in range(2):
            self.ledger([b"not ours"])
            self.assertIs(planner.latest_offset(offset, ALL), offset)

    def test_ledgers_after_the_target(self) -> None:
        """A query that ends with what was there takes no notice of ledgers that are created later, open ones too."""
        self.events(1)
        planner = self.start()
        planner.set_target()
        offset = self.advance(planner, planner.initial_offset())
        with self.client.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}):
            self.assertIs(planner.latest_offset(offset, ALL), offset)

    def test_replay(self) -> None:
        """A query that starts again plans the same entries for the same two offsets."""
        self.events(5)
        planner = self.start()
        offset = planner.initial_offset()
        end = self.advance(planner, offset, Admission(3, None))
        once = self.read(planner.partitions(offset, end))
        self.events(5)
        again = self.start()
        self.assertEqual(self.read(again.partitions(offset, end)), once)

    def test_admission(self) -> None:
        """A micro-batch has at most so many entries, or bytes; what is left comes in the next ones."""
        ledger = self.events(5)
        planner = self.start()
        seen: list[tuple[int, int]] = []
        offset = planner.initial_offset()
        sizes = []
        for admission in (Admission(2, None), Admission(None, 2.5), Admission(None, 0.1), ALL):
            end = self.advance(planner, offset, admission)
            found = self.read(planner.partitions(offset, end)) if end != offset else []
            sizes.append(len(found))
            seen += found
            offset = end
        self.assertEqual((sizes, seen), ([2, 2, 1, 0], [(ledger, n) for n in range(5)]))

    def test_latest(self) -> None:
        """A query that begins with the latest entries gives none that were there before."""
        self.events(5)
        planner = self.start(startingoffsets="latest")
        offset = planner.initial_offset()
        new = self.events(1)
        end = self.advance(planner, offset)
        self.assertEqual(self.read(planner.partitions(offset, end)), [(new, 0)])

    def test_available_now(self) -> None:
        """With a target, a query ends with what was there when the target was set."""
        ledger = self.events(3)
        planner = self.start()
        offset = planner.initial_offset()
        planner.set_target()
        self.events(3)
        end = self.advance(planner, offset)
        self.assertEqual(self.read(planner.partitions(offset, end)), [(ledger, n) for n in range(3)])
        self.assertEqual(self.advance(planner, end), end)

    def test_deleted_ledger(self) -> None:
        """A ledger that is deleted before it is read to its end is an error that names it, or is passed over."""
        ledger = self.events(5)
        planner = self.start()
        middle = self.advance(planner, planner.initial_offset(), Admission(2, None))
        self.client.delete_ledger(ledger)
        for fresh in (self.start(), self.start(ledger=str(ledger))):
            error = self.assertRaises(NoSuchLedgerMetadataError, fresh.latest_offset, middle, ALL)
            self.assertIn(f"ledger {ledger} ", str(error))
        accepting = self.start(failondataloss="false")
        self.assertEqual(self.advance(accepting, middle).next_entry, {})
        self.assertEqual(len(self.flushWarnings()), 1)

    def test_deleted_ledgers_of_a_range(self) -> None:
        """A ledger that was read to its end need not exist any more, also one in a large range."""
        ledgers = [self.events(1) for _ in range(3)]
        self.patch(selection, "ASKED_EACH", 1)
        options = {"ledgers": f"{ledgers[0]}-{ledgers[2]}"}
        planner = self.start(**options)
        self.assertEqual(ledgers, list(range(ledgers[0], ledgers[2] + 1)))
        end = self.advance(planner, planner.initial_offset())
        self.client.delete_ledger(ledgers[1])
        self.assertEqual(self.advance(self.start(**options), end), end)
        self.assertRaises(NoSuchLedgerMetadataError, planner.latest_offset, StreamOffset(), ALL)

    def test_available_now_while_a_ledger_grows(self) -> None:
        """With a target, a ledger is read as far as it went when the target was set, however far it is now."""
        with self.client.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as growing:
            for _ in range(3):
                growing.append(b"x")
            planner = self.start()
            planner.set_target()
            for _ in range(3):
                growing.append(b"x")
            end = self.advance(planner, planner.initial_offset())
            self.assertEqual(end.next_entry, {growing.ledger_id: 2})
            self.assertEqual(self.advance(planner, end), end)

    def test_entries_before_the_newest_ensemble(self) -> None:
        """What is before the newest ensemble of an open ledger is confirmed, though no bookie was told so."""
        writer = self.client.create_ledger(3, 3, 2)
        writer.append(b"x")
        ledgers = self.connect().ledgers
        stored = THREAD.wait(lambda: ledgers.read(writer.ledger_id))
        first = stored.value.segments[0]
        segments = (first, Segment(1, first.bookies[::-1]))
        changed = attrs.evolve(stored.value, segments=segments)
        THREAD.wait(lambda: ledgers.write(writer.ledger_id, changed, stored.version))
        planner = self.start(ledger=str(writer.ledger_id))
        self.assertEqual(self.advance(planner, planner.initial_offset()).position(writer.ledger_id), 1)

    def test_start_beyond_the_end(self) -> None:
        """A query that is to begin beyond the end of a ledger fails, or begins at its end."""
        with self.client.create_ledger(3, 3, 2) as growing:
            options = {"ledger": str(growing.ledger_id), "startingoffsets": f'{{"{growing.ledger_id}": 9}}'}
            self.assertRaises(ConfigError, self.start(**options).initial_offset)
            offset = self.start(**options, failondataloss="false").initial_offset()
            self.assertEqual(offset.position(growing.ledger_id), 0)
        self.assertEqual(len(self.flushWarnings()), 1)

    def test_bookies_move(self) -> None:
        """Tasks are sent to where bookies are now, also if nothing else has asked them since they moved."""
        self.events(1)
        planner = self.start()
        start = planner.initial_offset()
        offset = self.advance(planner, start)
        self.read(planner.partitions(start, offset))
        closed = self.events(4)
        self.move_bookies()
        end = self.advance(planner, offset)
        self.assertEqual(self.read(planner.partitions(offset, end)), [(closed, n) for n in range(4)])

    def test_bookies_of_an_open_ledger_move(self) -> None:
        """Bookies that are found no more are looked up again: the ledger waits once, and is followed."""
        with self.client.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as growing:
            growing.append(b"x")
            planner = self.start()
            offset = self.advance(planner, planner.initial_offset())
            growing.append(b"confirms the first")
            self.move_bookies()
            self.assertEqual(self.advance(planner, offset), offset)
            (warning,) = self.flushWarnings()
            self.assertIn(f"ledger {growing.ledger_id} waits", warning["message"])
            self.assertEqual(self.advance(planner, offset).position(growing.ledger_id), 1)

    def move_bookies(self) -> None:
        """Start all bookies again, on other ports."""
        ports = [bookie.port for bookie in self.bookies]
        self.stop_bookies()
        for port in ports:
            taken = socket.socket()
            self.addCleanup(taken.close)
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
        for config in self.configs:
            self.bookies.append(make_bookie(THREAD.reactor, config))
            THREAD.wait(self.bookies[-1].start)

    def test_ledger_whose_bookies_are_down(self) -> None:
        """An open ledger that no bookie answers for waits, and is not taken for done."""
        with self.client.create_ledger(3, 3, 2, custom_metadata={"application": b"events"}) as growing:
            growing.append_many([b"x"] * 3)
            planner = self.start()
            self.stop_bookies()
            end = self.advance(planner, planner.initial_offset())
            self.assertEqual(end.position(growing.ledger_id), 0)
            self.assertIn(growing.ledger_id, end.next_entry)
        self.flushWarnings()
