"""Sealing and verifying entries, against worked examples and captured packets."""

import struct
from collections.abc import Iterator
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.errors import DigestMatchError
from bookkeeper_twisted.model import DigestType, Entry
from bookkeeper_twisted.testing.sealing import sealed
from tests.vectors.wire import REQUEST, Scenario, scenarios

_PROFILE = settings(max_examples=60)
_TYPES = st.sampled_from(DigestType)
_PAYLOADS = st.one_of(
    st.lists(st.binary(max_size=40), min_size=1, max_size=12),
    st.builds(lambda payload, count: [payload] * count, st.binary(max_size=40), st.integers(1, 40)),
)
_HEAD = "0000000000000001 0000000000000000 ffffffffffffffff 0000000000000005"
_CAPTURED = {"crc32": DigestType.CRC32, "crc32c": DigestType.CRC32C, "mac": DigestType.HMAC, "dummy": DigestType.DUMMY}


def _scenarios(kind: str) -> Iterator[tuple[Digester, Scenario]]:
    for scenario in scenarios():
        digest = scenario.name.partition(f"/{kind}-")[2]
        if digest in _CAPTURED:
            yield Digester(_CAPTURED[digest], bytes.fromhex(scenario.raw["ledger"]["password"])), scenario


class KeyTests(SynchronousTestCase):
    """Keys made from passwords."""

    def test_master_key(self) -> None:
        """The master key depends on the password only, the empty one included."""
        for digest_type in DigestType:
            empty, pw = Digester(digest_type, b""), Digester(digest_type, b"pw")
            self.assertEqual(empty.master_key.hex(), "850bf1071c5e3d8c24235676f8816ae0cbe2f14f")
            self.assertEqual(pw.master_key.hex(), "2aa226ba095b6969a64871977693b14671710d76")

    def test_sizes(self) -> None:
        """Each digest has the size of the format."""
        sizes = {digest_type.name: Digester(digest_type, b"").size for digest_type in DigestType}
        self.assertEqual(sizes, {"CRC32": 8, "HMAC": 20, "CRC32C": 4, "DUMMY": 0})

    def test_one_and_many(self) -> None:
        """The digest of one entry is what it is among many."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"pw")
            self.assertEqual(
                digester.digests([b"head", b""], [b"body", b"b"])[: digester.size], digester.digest(b"headbody")
            )


class ExampleTests(SynchronousTestCase):
    """Bytes computed apart from this code."""

    def test_entry_packets(self) -> None:
        """Entry 0 of ledger 1, payload ``hello``, under all four digests."""
        for digest_type, digest in (
            (DigestType.CRC32C, "e3a5f74d"),
            (DigestType.CRC32, "0000000030a56872"),
            (DigestType.HMAC, "b1f0ff29955d068a7855eecd5d4cb81fee2bf8df"),
            (DigestType.DUMMY, ""),
        ):
            run = sealed(Digester(digest_type, b"pw"), 1, 0, -1, 0, [b"hello"])
            self.assertEqual(run.entry(0), bytes.fromhex(_HEAD + digest) + b"hello", digest_type)

    def test_second_entry_of_a_run(self) -> None:
        """The lengths add up over a run, the LAC is the same."""
        run = sealed(Digester(DigestType.CRC32C, b""), 1, 0, -1, 0, [b"hello", b"world"])
        head = "0000000000000001 0000000000000001 ffffffffffffffff 000000000000000a"
        self.assertEqual(run.entry(1)[:32], bytes.fromhex(head))

    def test_lac_packet(self) -> None:
        """LAC 7 of ledger 1 under CRC32C."""
        packet = Digester(DigestType.CRC32C, b"").seal_lac(1, 7)
        self.assertEqual(packet, bytes.fromhex("0000000000000001 0000000000000007 62842849"))

    def test_captured_entries(self) -> None:
        """What Java's client sent under each digest, in V2 and V3, verifies and seals to the same bytes."""
        seen = set()
        for digester, scenario in _scenarios("add"):
            self.assertEqual(digester.master_key.hex(), scenario.raw["ledger"]["masterKey"])
            for frame in scenario.frames:
                if frame.direction != REQUEST or not frame.op.startswith("ADD"):
                    continue
                ids = struct.pack(">qq", *(scenario.raw["ledger"]["ledgerId"], self._entry_id(frame.meaning)))
                packet = frame.data[frame.data.index(ids) :]
                entry = digester.entry(scenario.raw["ledger"]["ledgerId"], None, packet)
                run = sealed(digester,
                    entry.ledger_id,
                    entry.entry_id,
                    entry.last_add_confirmed,
                    entry.length - len(entry.data),
                    [entry.data],
                )
                self.assertEqual(run.entry(entry.entry_id), packet)
                seen.add((digester.digest_type, frame.wire))
        self.assertEqual(len(seen), 8)

    def test_captured_lac_packets(self) -> None:
        """Explicit LACs Java wrote verify and seal to the same bytes."""
        seen = set()
        for digester, scenario in _scenarios("explicit-lac"):
            ledger_id = scenario.raw["ledger"]["ledgerId"]
            for frame in scenario.frames:
                if frame.direction == REQUEST and frame.op == "WRITE_LAC":
                    packet = frame.data[-16 - digester.size :]
                    lac = digester.verify_lac(ledger_id, packet)
                    self.assertEqual(lac, frame.number("lac"))
                    self.assertEqual(digester.seal_lac(ledger_id, lac), packet)
                    seen.add(digester.digest_type)
        self.assertEqual(seen, set(DigestType))

    def _entry_id(self, meaning: str) -> int:
        words = meaning.replace(",", " ").replace("entryId", "entry").split()
        return int(words[words.index("entry") + 1])


class RunTests(SynchronousTestCase):
    """Runs by columns against entries one by one."""

    @_PROFILE
    @given(_TYPES, _PAYLOADS, st.integers(0, 1 << 40), st.integers(-1, 1 << 40), st.integers(0, 1 << 40))
    def test_seal_and_verify(
        self, digest_type: DigestType, payloads: list[bytes], first: int, lac: int, length: int
    ) -> None:
        """A sealed run verifies, gives its payloads back, and each entry of it is the entry sealed alone."""
        digester = Digester(digest_type, b"pw")
        run = sealed(digester, 9, first, lac, length, payloads)
        digester.verify(run)
        self.assertEqual(list(digester.payloads(run)), payloads)
        for i, payload in enumerate(payloads):
            alone = sealed(digester, 9, first + i, lac, length, [payload])
            self.assertEqual(run.entry(first + i), alone.entry(first + i))
            length += len(payload)
            entry = Entry(9, first + i, payload, length, lac)
            self.assertEqual(digester.entry(9, first + i, run.entry(first + i)), entry)
            self.assertEqual(digester.entry(9, None, run.entry(first + i)), entry)

    @_PROFILE
    @given(st.sampled_from([t for t in DigestType if t is not DigestType.DUMMY]), _PAYLOADS, st.data())
    def test_any_damage_is_found(self, digest_type: DigestType, payloads: list[bytes], data: st.DataObject) -> None:
        """One changed bit anywhere is found, and the entry it is in is named; those before it are good (S18)."""
        digester = Digester(digest_type, b"")
        run = sealed(digester, 1, 10, 9, 0, payloads)
        index = data.draw(st.integers(0, len(payloads) - 1))
        entries = list(run.entries())
        bad = bytearray(entries[index])
        bad[data.draw(st.integers(0, len(bad) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        entries[index] = bytes(bad)
        damaged = EntryRun.of_entries(1, 10, entries)
        error = self.assertRaises(DigestMatchError, digester.verify, damaged)
        self.assertEqual((error.ledger_id, error.entry_id), (1, 10 + index))
        if index:
            digester.verify(damaged.slice(10, index))

    def test_large_runs(self) -> None:
        """Thousands of entries, uniform or not, verify, and a bad one among them is named."""
        digester = Digester(DigestType.CRC32C, b"")
        for payloads in ([b"x" * 10] * 3000, [b"x" * (i % 7) for i in range(3000)]):
            run = sealed(digester, 1, 0, -1, 0, payloads)
            digester.verify(run)
            self.assertEqual(list(digester.payloads(run)), payloads)
            start, _ = run.bounds(2999, 1)
            data = run.data[: start + 36] + bytes([run.data[start + 36] ^ 1]) + run.data[start + 37 :]
            damaged = EntryRun(1, 0, 3000, data, run.stride, run.offsets)
            self.assertEqual(self.assertRaises(DigestMatchError, digester.verify, damaged).entry_id, 2999)

    def test_wrong_ids(self) -> None:
        """Entries that are well sealed but of another ledger or entry id are refused under every digest (S18)."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"")
            for count in (1, 3):
                run = sealed(digester, 1, 5, -1, 0, [b"x"] * count)
                moved = EntryRun(1, 6, count, run.data, run.stride)
                other = EntryRun(2, 5, count, run.data, run.stride)
                self.assertEqual(self.assertRaises(DigestMatchError, digester.verify, moved).entry_id, 6)
                self.assertIn("is ledger 1", str(self.assertRaises(DigestMatchError, digester.verify, other)))

    def test_stranger_in_a_batch(self) -> None:
        """A well-sealed entry of another ledger or entry id is named at any index of a batch, even or uneven (S18)."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"pw")
            for count, uneven in product((3, 40), (False, True)):
                sizes = [5 + uneven * (i % 3) for i in range(count)]
                good = list(sealed(digester, 7, 100, 99, 0, [bytes(size) for size in sizes]).entries())
                for index, (ledger_id, shift) in product(
                    {0, 1, count // 2, count - 1}, ((8, 0), (7, 1), (7, -1), (7, 1 << 16), (7 + (1 << 56), 0))
                ):
                    stranger = sealed(digester, ledger_id, 100 + index + shift, 99, 0, [bytes(sizes[index])])
                    entries = [*good[:index], stranger.data[4:], *good[index + 1 :]]
                    run = EntryRun.of_entries(7, 100, entries)
                    error = self.assertRaises(DigestMatchError, digester.verify, run)
                    self.assertEqual((error.ledger_id, error.entry_id), (7, 100 + index))

    def test_neighbours_that_changed_places(self) -> None:
        """Entries of one batch in another order are refused, even and uneven."""
        digester = Digester(DigestType.CRC32C, b"")
        for payloads in ([b"x"] * 40, [b"x" * (1 + i % 2) for i in range(40)]):
            entries = list(sealed(digester, 1, 0, -1, 0, payloads).entries())
            entries[20], entries[22] = entries[22], entries[20]
            run = EntryRun.of_entries(1, 0, entries)
            self.assertEqual(self.assertRaises(DigestMatchError, digester.verify, run).entry_id, 20)

    def test_short_entries(self) -> None:
        """An entry with no room for header and digest is refused, wherever it is in the run."""
        digester = Digester(DigestType.HMAC, b"")
        good = sealed(digester, 1, 0, -1, 0, [b""]).entry(0)
        for entries, bad in (([good[:-1]], 0), ([good, b""], 1), ([good[:31]] * 2, 0)):
            run = EntryRun.of_entries(1, 0, entries)
            error = self.assertRaises(DigestMatchError, digester.verify, run)
            self.assertEqual(error.entry_id, bad)
            self.assertIn("too short", str(error))

    def test_wrong_password(self) -> None:
        """Under HMAC another password's entries are refused; the other digests know no password."""
        for digest_type in DigestType:
            run = sealed(Digester(digest_type, b"one"), 1, 0, -1, 0, [b"x", b"y"])
            other = Digester(digest_type, b"two")
            if digest_type is DigestType.HMAC:
                self.assertRaises(DigestMatchError, other.verify, run)
            else:
                other.verify(run)


class LacTests(SynchronousTestCase):
    """Explicit LAC packets."""

    def test_round_trip(self) -> None:
        """A sealed LAC is read back; bytes after it are ignored."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"pw")
            self.assertEqual(digester.verify_lac(3, digester.seal_lac(3, 12) + b"more"), 12)

    def test_refused(self) -> None:
        """Damage, another ledger, and too few bytes are refused."""
        digester = Digester(DigestType.CRC32C, b"")
        packet = digester.seal_lac(3, 12)
        for ledger_id, data in ((4, packet), (3, packet[:-1]), (3, b""), (3, packet[:15] + b"\xff" + packet[16:])):
            self.assertRaises(DigestMatchError, digester.verify_lac, ledger_id, data)
        self.assertRaises(DigestMatchError, Digester(DigestType.DUMMY, b"").verify_lac, 3, b"short")
