"""Handles."""

from collections import OrderedDict
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.ledger_handle import LedgerHandle, LedgerHandles
from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.storage.interfaces import LedgerRow

from .rig import KEY, Rig, run


class _Looked(OrderedDict[int, LedgerHandle]):
    """Counts the items that are gone through."""

    count = 0

    def items(self) -> Any:
        for item in super().items():
            self.count += 1
            yield item


class _Key(bytes):
    """A key of a request that must not be compared byte by byte up to the first that differs."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the time of this comparison tells how much of a guess is right")

    __ne__ = __eq__
    __hash__ = bytes.__hash__


class HandlesTests(SynchronousTestCase):
    """Who has one, and for how long."""

    def setUp(self) -> None:
        self.rig = Rig(journals=2)
        self.handles = LedgerHandles(self.rig.storage, self.rig.engine.commits, limit=3)

    def test_one_a_ledger(self) -> None:
        """S3: there is one handle of a ledger."""
        self.assertIs(self.handles.get(1), self.handles.get(1))

    def test_state_comes_from_storage(self) -> None:
        """A new handle knows what storage knows."""
        packet = (1).to_bytes(8, "big") + (7).to_bytes(8, "big")
        self.rig.storage.put_ledger(LedgerRow(1, KEY, True, packet))
        handle = self.handles.get(1)
        self.assertTrue(handle.known and handle.row.fenced and handle.key_journaled)
        self.assertEqual(handle.last_add_confirmed, 7)
        self.assertIs(handle.commit, self.rig.engine.commits[1])

    def test_accepting(self) -> None:
        """Handles come together only if each ledger takes adds with the key without a closer look."""
        self.rig.storage.put_ledger(LedgerRow(1, KEY))
        self.rig.storage.put_ledger(LedgerRow(2, KEY, True))
        self.rig.storage.put_ledger(LedgerRow(3))
        self.assertIsNone(self.handles.accepting([1], KEY), "not open")
        for ledger_id in (1, 2, 3):
            self.handles.get(ledger_id)
        self.assertEqual(self.handles.accepting([1, 1], KEY), [self.handles.get(1)] * 2)
        self.assertIsNone(self.handles.accepting([1], b"x" * 20), "another key")
        self.assertIsNone(self.handles.accepting([1, 2], KEY), "fenced")
        self.assertIsNone(self.handles.accepting([1, 3], b""), "the key is not known yet")

    def test_keys_are_compared_in_constant_time(self) -> None:
        """The time of an answer tells nothing of a ledger's key, whether one ledger or several are asked for."""
        for ledger_id in (1, 2):
            self.rig.storage.put_ledger(LedgerRow(ledger_id, KEY))
        handle = self.handles.get(1)
        self.handles.get(2)
        handle.authorize(_Key(KEY))
        self.assertRaises(UnauthorizedAccessError, handle.authorize, _Key(b"x" * 20))
        self.assertRaises(UnauthorizedAccessError, handle.authorize, _Key(b""))
        self.assertIsNotNone(self.handles.accepting([1, 2], _Key(KEY)))
        self.assertIsNone(self.handles.accepting([1, 2], _Key(b"x" * 20)))

    def test_accepting_compares_each_key(self) -> None:
        """A key is asked for again where the next ledger has another one."""
        self.rig.storage.put_ledger(LedgerRow(1, KEY))
        self.rig.storage.put_ledger(LedgerRow(2, b"x" * 20))
        self.handles.get(1)
        self.handles.get(2)
        for ledger_ids in ([1, 2], [2, 1], [1, 1, 2]):
            self.assertIsNone(self.handles.accepting(ledger_ids, KEY))

    def test_ledgers_share_their_key(self) -> None:
        """S11: a key that many ledgers have is in memory once."""
        first, second = self.handles.get(1), self.handles.get(2)
        for handle in (first, second):
            self.handles.save(handle, LedgerRow(handle.ledger_id, bytes([5] * 20)))
        self.assertIs(first.row.master_key, second.row.master_key)

    def test_accepting_counts_as_use(self) -> None:
        """S11: handles of ledgers that take turns stay, those used longest ago go."""
        for ledger_id in (1, 2, 3):
            self.rig.storage.put_ledger(LedgerRow(ledger_id, KEY))
            self.handles.get(ledger_id)
        self.handles.accepting([1, 2], KEY)
        self.handles.get(4)
        self.assertEqual([self.handles.peek(i) is not None for i in (1, 2, 3, 4)], [True, True, False, True])

    def test_many(self) -> None:
        """S11: of many handles the oldest goes, the others stay in their order, and few are looked at for that."""
        handles = LedgerHandles(self.rig.storage, self.rig.engine.commits, limit=5000)
        looked = handles._handles = _Looked()
        for ledger_id in range(5200):
            handles.get(ledger_id)
            self.assertIs(handles.peek(ledger_id - 5000), None)
        self.assertEqual((len(handles), [*handles._handles][:2]), (5000, [200, 201]))
        self.assertLessEqual(looked.count, 200)

    def test_asking_leaves_no_trace(self) -> None:
        """S11: looking for unknown ledgers makes no handles."""
        for ledger_id in range(100):
            self.assertIsNone(self.handles.find(ledger_id))
            self.assertIsNone(self.handles.peek(ledger_id))
        self.assertEqual(len(self.handles), 0)

    def test_unknown_is_not_found(self) -> None:
        """A handle made by a refused add is not a known ledger."""
        self.handles.get(1)
        self.assertIsNone(self.handles.find(1))

    def test_oldest_idle_goes(self) -> None:
        """S11: beyond the limit the handle used longest ago goes, unless something depends on it."""
        for ledger_id in (1, 2, 3):
            self.handles.get(ledger_id)
        self.handles.get(2).fencing = []
        self.handles.get(1)
        self.handles.get(4)
        self.assertEqual([self.handles.peek(i) is not None for i in (1, 2, 3, 4)], [True, True, False, True])
        self.handles.get(5)
        self.assertEqual([self.handles.peek(i) is not None for i in (1, 2, 4, 5)], [False, True, True, True])

    def test_reopened_handle(self) -> None:
        """A bookie that has let a handle go still refuses a wrong key and a fenced ledger."""
        rig = Rig()
        rig.add(run(1, 0))
        rig.bookie.fence(1, KEY)
        rig.drain()
        fresh = LedgerHandles(rig.storage, rig.engine.commits).get(1)
        self.assertTrue(fresh.row.fenced)
        self.assertRaises(UnauthorizedAccessError, fresh.authorize, b"x" * 20)
        self.assertEqual(fresh.key_records(), b"")
