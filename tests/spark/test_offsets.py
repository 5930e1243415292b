"""Offsets of streams."""

import json

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.spark.offsets import WINDOW, StreamOffset


class OffsetTests(SynchronousTestCase):
    """One query."""

    def test_advance(self) -> None:
        """Ledgers move on, and leave the table when they are done."""
        offset = StreamOffset().advanced({3: 10, 4: 5}, {7})
        self.assertEqual([offset.position(n) for n in (3, 4, 7, 8)], [10, 5, None, 0])
        offset = offset.advanced({4: 6}, {3})
        self.assertEqual([offset.position(n) for n in (3, 4)], [None, 6])

    def test_round_trip(self) -> None:
        """What Spark stores as JSON comes back as it was."""
        offset = StreamOffset({30_000: 7}, frozenset({25_001, 25_002, 25_003, 25_009}), 25_000)
        stored = json.loads(json.dumps(offset.to_json()))
        self.assertEqual(StreamOffset.from_json(stored), offset)
        self.assertEqual(stored["done"], "25001-25003,25009")

    def test_floor(self) -> None:
        """Far behind the highest id, done ledgers are not listed one by one, and others stay in the table."""
        offset = StreamOffset({2: 9}, frozenset({1, WINDOW + 5})).with_floor(WINDOW + 6)
        self.assertEqual((offset.floor, offset.done), (6, frozenset({WINDOW + 5})))
        self.assertEqual([offset.position(n) for n in (1, 2, 5, 6)], [None, 9, None, 0])
        self.assertEqual(offset.with_floor(0).floor, 6)

    def test_floor_limit(self) -> None:
        """The floor does not pass a ledger of which nothing was read."""
        self.assertEqual(StreamOffset().with_floor(3 * WINDOW, 17).floor, 17)

    def test_another_version(self) -> None:
        """The checkpoint of another version is refused."""
        self.assertRaises(ConfigError, StreamOffset.from_json, {"version": 2})
