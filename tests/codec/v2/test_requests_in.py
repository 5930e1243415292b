"""V2 requests at the bookie: bad input gets its code or ends the connection (safety, "Wire")."""

import struct
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.connection import ServerDecoder
from bookkeeper_twisted.codec.messages import ReadRequest, RejectedRequest
from bookkeeper_twisted.codec.runs import AddRun, BatchRead, ReadRun
from bookkeeper_twisted.codec.strides import FEW_A_RUN
from bookkeeper_twisted.codec.v2 import requests_in, requests_out
from bookkeeper_twisted.entries.entry_run import EntryRun
from bookkeeper_twisted.entries.mixed_runs import MixedRun, RunSequence
from bookkeeper_twisted.errors import CodecError, Status

from ..flatten import flat, single_runs
from ..wire_examples import KEY, OTHER_KEY, entry, quick, run


def frame(version: int, opcode: int, flags: int, rest: bytes) -> bytes:
    """A frame made byte by byte."""
    return struct.pack(">IBBH", 4 + len(rest), version, opcode, flags) + rest


def ids(*values: int) -> bytes:
    """Big-endian i64."""
    return struct.pack(f">{len(values)}q", *values)


def decode(data: bytes) -> tuple[list[object], CodecError | None]:
    """What a V2 connection gives; it starts with a read, so that nothing is tried as V3."""
    decoder = ServerDecoder()
    decoder.receive(requests_out.encode_reads(1, [1]))
    return [*decoder.receive_all(data)], decoder.error


class BadInputTests(SynchronousTestCase):
    """Each series of bad input."""

    def _single(self) -> list[int]:
        """Return a list that gets the number of those entries that are looked at one by one, with each call."""
        taken: list[int] = []
        parts = requests_in._parts

        def counted(entries: Sequence[bytes]) -> Iterator[object]:
            taken.append(len(entries))
            return parts(entries)

        self.patch(requests_in, "_parts", counted)
        return taken

    def test_closes(self) -> None:
        """Unknown and reserved opcodes and packets shorter than their fixed part end the connection."""
        for data in (
            *[frame(2, op, 0, ids(1, 2)) for op in (0, 4, 5, 6, 8, 9, 127, 255)],
            frame(2, 1, 0, KEY[:19]), frame(2, 1, 0, KEY), frame(2, 1, 0, KEY + bytes(15)),
            frame(2, 2, 0, bytes(15)), frame(2, 2, 1, ids(1, 2)), frame(2, 2, 1, ids(1, 2) + KEY[:19]),
            frame(2, 7, 0, bytes(35)), frame(2, 7, 1, bytes(36)), frame(2, 7, 1, bytes(36) + KEY[:19]),
            frame(2, 3, 0, b"\x0a\x04sasl"), frame(2, 3, 0, b""), frame(2, 3, 0, b"\xff"),
        ):  # fmt: skip
            items, error = decode(data)
            self.assertEqual(items, [], data.hex())
            self.assertIsInstance(error, CodecError, data.hex())

    def test_short_entries(self) -> None:
        """An entry of 16 to 23 bytes gets EBADREQ with its ids; from 24 on it is taken."""
        for size in (16, 23):
            (item,), error = decode(frame(2, 1, 0, KEY + ids(7, 9) + bytes(size - 16)))
            assert isinstance(item, RejectedRequest)
            self.assertEqual(item.reply.hex(), "00000018" + "02010000" + "00000064" + ids(7, 9).hex())
            self.assertIsNone(error)
        (item,), _ = decode(frame(2, 1, 0, KEY + ids(7, 9) + bytes(8)))
        self.assertIsInstance(item, AddRun)

    def test_runs_in_turn(self) -> None:
        """Runs of several ledgers in one chunk are taken one after the other, whatever is among them."""
        counts = (40, FEW_A_RUN + 1, 100, 1, 2, FEW_A_RUN, 64)
        runs = [run(7 + number, 5, [20] * count) for number, count in enumerate(counts)]
        chunks = [requests_out.encode_adds(KEY, each) for each in runs]
        taken = self._single()
        items, error = decode(b"".join(chunks))
        self.assertIsNone(error)
        self.assertEqual(flat(items), [each for chunk in chunks for each in flat(decode(chunk)[0])])
        self.assertLess(sum(taken), sum(counts) - 40 - 100)  # the longest are not looked at entry by entry
        self.assertLess(len(items), 4)  # nor is each run an item
        stride = len(chunks[2]) // 100
        odd = bytearray(chunks[2])
        odd[30 * stride + 8] ^= 1  # the key of an entry in the middle
        odd[70 * stride + 43] ^= 1  # the id of another
        items, error = decode(bytes(odd))
        self.assertIsNone(error)
        single = [each for at in range(0, len(odd), stride) for each in flat(decode(bytes(odd[at : at + stride]))[0])]
        self.assertEqual(flat(items), single)

    def test_end_of_a_run_in_front(self) -> None:
        """A chunk that begins with the last entries of a run, however few, is not looked at entry by entry."""
        taken = self._single()
        for left in (1, 2, 3, FEW_A_RUN - 1, FEW_A_RUN):
            runs = [run(7, 90, [20] * left), run(8, 5, [20] * 100), run(9, 0, [20] * 9)]
            items, error = decode(b"".join([requests_out.encode_adds(KEY, each) for each in runs]))
            self.assertIsNone(error)
            (adds,) = [item.entries for item in items if isinstance(item, AddRun)]
            assert isinstance(adds, RunSequence)
            self.assertEqual([each.data for each in adds.runs()], [each.data for each in runs])
        self.assertEqual(taken, [])

    def test_reserved_ids(self) -> None:
        """Entry ids below 0 are the journal's own, ledger ids below 0 invalid: EBADREQ, nothing is journaled."""
        for ledger_id, first in ((7, -1), (7, -0x8000), (-1, 5), (-1, -1)):
            for count in (1, 2, 40):
                if first < 0 and first + count > 0:
                    continue
                items, error = decode(requests_out.encode_adds(KEY, run(ledger_id, first, [50] * count)))
                self.assertIsNone(error)
                self.assertEqual({type(item) for item in items}, {RejectedRequest})
                replies = [item.reply for item in items if isinstance(item, RejectedRequest)]
                expected = [
                    struct.pack(">IIiqq", 24, 0x02010000, 100, ledger_id, first + i) for i in range(count)
                ]  # fmt: skip
                self.assertEqual(replies, expected)

    def test_reserved_ids_before_good_ones(self) -> None:
        """Only the reserved ids of a series are refused."""
        items, _ = decode(requests_out.encode_adds(KEY, run(7, -2, [50] * 40)))
        self.assertEqual([type(item) for item in items], [RejectedRequest, RejectedRequest, AddRun])
        good = items[2]
        assert isinstance(good, AddRun) and isinstance(good.entries, EntryRun)
        self.assertEqual((good.entries.first, good.entries.count), (0, 38))

    def test_reserved_ids_in_turns(self) -> None:
        """One reserved id in a mixture costs only its own add, and keeps its place."""
        frames = [
            requests_out.encode_adds(KEY, run(ledger, -1 if n == 5 else n, [50])) for n in range(9) for ledger in (1, 2)
        ]
        items, _ = decode(b"".join(frames))
        self.assertEqual([type(item) for item in items], [AddRun, RejectedRequest, RejectedRequest, AddRun])
        self.assertEqual(flat(items), [item for frame in frames for item in flat(decode(frame)[0])])

    def test_striped(self) -> None:
        """Ids with a gap after every other entry, as bookies of a striped ledger get them, are one mixed run."""
        ids = [n for n in range(30) if n % 3 != 1]
        frames = [requests_out.encode_adds(KEY, run(7, entry_id, [50])) for entry_id in ids]
        items, _ = decode(b"".join(frames))
        self.assertEqual([type(item.entries) for item in items], [MixedRun])  # type: ignore[attr-defined]
        self.assertEqual(flat(items), [item for frame in frames for item in flat(decode(frame)[0])])

    def test_long_stretches_stay_runs(self) -> None:
        """Where a ledger has many entries one after the other they are a run, of one size and of several."""
        count = FEW_A_RUN + 1
        for sizes in ([50] * count, [50, *[40] * FEW_A_RUN]):
            frames = [requests_out.encode_adds(KEY, run(ledger, 0, sizes)) for ledger in (1, 2, 3)]
            (item,), _ = decode(b"".join(frames))
            assert isinstance(item, AddRun) and isinstance(item.entries, RunSequence)
            self.assertEqual((item.entries.ledger_ids, item.entries.count), ([1, 2, 3], 3 * count))
            self.assertEqual(flat([item]), [one for frame in frames for one in flat(decode(frame)[0])])

    def test_replies_in_turn(self) -> None:
        """Runs that are one item are answered as if each had come alone; a part of them, too."""
        runs = [run(ledger, 5 * ledger, [20] * (FEW_A_RUN + ledger)) for ledger in (1, 2, 3)]
        (item,), _ = decode(b"".join([requests_out.encode_adds(KEY, each) for each in runs]))
        assert isinstance(item, AddRun) and isinstance(item.entries, RunSequence)
        alone = [decode(requests_out.encode_adds(KEY, each))[0][0].replies(Status.EFENCED) for each in runs]  # type: ignore[attr-defined]
        self.assertEqual(item.replies(Status.EFENCED), b"".join(alone))
        for part, reply in zip(item.entries.runs(), alone, strict=True):
            self.assertEqual(item.replies(Status.EFENCED, part), reply)

    def test_guessed_length(self) -> None:
        """A run that is longer or shorter than the one before it is taken whole."""
        counts = (100, 130, 60, 60, 100)
        runs = [run(7 + n % 2, 500 * n, [20] * count) for n, count in enumerate(counts)]
        (item,), _ = decode(b"".join([requests_out.encode_adds(KEY, each) for each in runs]))
        assert isinstance(item, AddRun) and isinstance(item.entries, RunSequence)
        self.assertEqual([each.data for each in item.entries.runs()], [each.data for each in runs])
        gap = [run(7, 0, [20] * 50), run(7, 900, [20] * 50), run(7, 950, [20] * 50), run(8, 0, [20] * 50)]
        (item,), _ = decode(b"".join([requests_out.encode_adds(KEY, each) for each in gap]))
        assert isinstance(item, AddRun) and isinstance(item.entries, RunSequence)
        self.assertEqual([(each.first, each.count) for each in item.entries.runs()], [(0, 50), (900, 100), (0, 50)])

    def test_header_and_key_divide_runs(self) -> None:
        """Adds that follow each other are one run only with one header and one key."""
        other = b"j" * len(KEY)
        for count, ledger in ((1, 7), (20, 7), (1, 8), (20, 8)):
            first, second = run(7, 0, [50] * count), run(ledger, count, [50] * count)
            for data, keys, flags in (
                (requests_out.encode_adds(KEY, first) + requests_out.encode_adds(other, second), [KEY, other], [0, 0]),
                (requests_out.encode_adds(KEY, first) + requests_out.encode_adds(KEY, second, 2), [KEY, KEY], [0, 2]),
            ):
                items, error = decode(data)
                self.assertIsNone(error)
                self.assertEqual([item.master_key for item in items], keys)  # type: ignore[attr-defined]
                self.assertEqual([item.flags for item in items], flags)  # type: ignore[attr-defined]
                self.assertEqual([item.entries.count for item in items], [count] * 2)  # type: ignore[attr-defined]

    def test_stranger_in_a_row(self) -> None:
        """An entry of another ledger or id in the middle of a series of one size is stored as what it is (S18)."""
        for count in (3, 40):
            for ledger_id, entry_id in ((8, count // 2), (7, 1000), (7, 0)):
                ids = [(7, i) for i in range(count)]
                ids[count // 2] = ledger_id, entry_id
                frames = [requests_out.encode_adds(KEY, run(ledger, entry, [50])) for ledger, entry in ids]
                items, error = decode(b"".join(frames))
                self.assertIsNone(error)
                self.assertEqual(flat(items), [item for frame in frames for item in flat(decode(frame)[0])])

    def test_another_key_in_a_row(self) -> None:
        """An add with another key or other flags in the middle of a series is an item of its own (S18)."""
        for count in (3, 40):
            for key, flags in ((b"j" * len(KEY), 0), (KEY, 2)):
                frames = [requests_out.encode_adds(KEY, run(7, i, [50])) for i in range(count)]
                frames[count // 2] = requests_out.encode_adds(key, run(7, count // 2, [50]), flags)
                items, error = decode(b"".join(frames))
                self.assertIsNone(error)
                self.assertEqual([item.master_key for item in items], [KEY, key, KEY])  # type: ignore[attr-defined]
                self.assertEqual([item.flags for item in items], [0, flags, 0])  # type: ignore[attr-defined]
                self.assertEqual(flat(items), [item for frame in frames for item in flat(decode(frame)[0])])

    def test_bad_versions(self) -> None:
        """Versions from 3 on get EBADVERSION in the form of their request, version echoed; the connection stays."""
        for version in (3, 100, 127, 128, 255):
            data = (
                frame(version, 1, 0, KEY + ids(7, 9) + bytes(20)) + frame(version, 2, 0, ids(7, 9))
                + frame(version, 7, 0, ids(7, 9, 77) + bytes(12)) + requests_out.encode_reads(7, [0])
            )  # fmt: skip
            items, error = decode(data)
            self.assertIsNone(error)
            refused = [item for item in items if isinstance(item, RejectedRequest)]
            self.assertEqual({item.status for item in refused}, {Status.EBADVERSION})
            self.assertEqual([item.reply[4:6] for item in refused], [bytes([version, op]) for op in (1, 2, 7)])
            self.assertEqual([item.reply[8:28].hex() for item in refused], ["00000067" + ids(7, 9).hex()] * 3)
            self.assertEqual((len(refused[2].reply), refused[2].reply[28:]), (36, ids(77)))
            self.assertIsInstance(items[3], ReadRun)

    def test_bad_version_is_still_read_as_its_operation(self) -> None:
        """A packet of a bad version has to be well formed: a fencing read needs its key, if it is above 2."""
        self.assertIsNotNone(decode(frame(3, 2, 1, ids(7, 9)))[1])
        (item,), error = decode(frame(200, 2, 1, ids(7, 9)))  # as a signed byte it is below 2
        self.assertIsInstance(item, RejectedRequest)
        self.assertIsNone(error)

    def test_fence_of_no_ledger(self) -> None:
        """Fencing a ledger id below 0 is refused: a fence is journaled under it."""
        for data in (frame(2, 2, 1, ids(-1, -1) + KEY), frame(2, 7, 1, ids(-1, 0, 5) + bytes(12) + KEY)):
            (item,), _ = decode(data)
            assert isinstance(item, RejectedRequest)
            self.assertEqual(item.status, Status.EBADREQ)


class ReadRunTests(SynchronousTestCase):
    """Chunks of plain reads."""

    def test_consecutive(self) -> None:
        """Reads of consecutive entries are a run with a range of ids, also where their lower bytes are used up."""
        for first in (0, 5, (1 << 16) - 20, (1 << 62) - 20, -20):
            (reads,), error = decode(requests_out.encode_reads(7, range(first, first + 40)))
            assert isinstance(reads, ReadRun) and error is None
            self.assertEqual((reads.ledger_ids, reads.entry_ids), ((7,) * 40, range(first, first + 40)))

    def test_a_damaged_byte(self) -> None:
        """Whatever byte of a chunk of reads is changed, its requests are what they are one by one."""
        frames = requests_out.encode_reads(7, range(250, 290))
        for at in (*range(4, 24), *range(20 * 24 + 4, 21 * 24), *range(39 * 24 + 4, 40 * 24)):
            for bits in (1, 0x80):
                damaged = bytearray(frames)
                damaged[at] ^= bits
                if at % 24 in (5, 7):
                    continue  # another operation, or a fencing read without a key
                singly = [item for i in range(0, len(damaged), 24) for item in decode(bytes(damaged[i : i + 24]))[0]]
                found, _ = decode(bytes(damaged))
                self.assertEqual(_reads(found), _reads(singly))


def _reads(items: Sequence[object]) -> list[object]:
    """Version, flags, ledger and entry of each plain read, and other items as they are."""
    found: list[object] = []
    for item in items:
        if isinstance(item, ReadRun):
            found += [(item.version, item.flags, *each) for each in zip(item.ledger_ids, item.entry_ids, strict=True)]
        else:
            found.append(str(item))
    return found


class FormTests(SynchronousTestCase):
    """Reads in all their forms."""

    def test_old_fencing_reads(self) -> None:
        """Before version 2 a fencing read has no key, whatever follows it; version 0 has no flags either."""
        for rest in (b"", KEY):
            (item,), _ = decode(frame(1, 2, 1, ids(7, -1) + rest))
            assert isinstance(item, ReadRequest)
            self.assertEqual((item.fence, item.master_key, item.header.version), (True, None, 1))
        (item,), _ = decode(struct.pack(">II", 20, 2) + ids(7, -1))
        assert isinstance(item, ReadRun)
        self.assertEqual((item.version, item.flags), (0, 0))

    def test_trailing_bytes(self) -> None:
        """An unneeded key is kept with the request, other trailing bytes are dropped."""
        (item,), _ = decode(frame(2, 2, 0, ids(7, 3) + KEY))
        assert isinstance(item, ReadRequest)
        self.assertEqual((item.fence, item.master_key), (False, KEY))
        (item,), _ = decode(frame(2, 2, 0, ids(7, 3) + b"1234567"))
        assert isinstance(item, ReadRun)
        self.assertEqual(list(item.entry_ids), [3])

    def test_batch_reads(self) -> None:
        """A batch read with odd limits is read as it is; judging them is not the codec's."""
        (item,), _ = decode(frame(2, 7, 5, ids(7, -1, -2) + struct.pack(">iq", -1, -(1 << 63)) + KEY))
        assert isinstance(item, BatchRead)
        self.assertEqual((item.flags, item.max_count, item.max_size, item.master_key), (5, -1, -(1 << 63), KEY))
        self.assertEqual((item.first, item.request_id), (-1, -2))

    def test_unknown_flags(self) -> None:
        """Unknown flag bits are kept and mean nothing."""
        (item,), _ = decode(frame(2, 2, 0xFFF8, ids(7, 0)))
        assert isinstance(item, ReadRun)
        self.assertEqual(item.flags, 0xFFF8)


class RowTests(SynchronousTestCase):
    """Rows give what single frames give."""

    @quick
    @given(
        st.lists(
            st.tuples(
                st.sampled_from([7, 8, -1]), st.integers(-1, 3), st.sampled_from([24, 24, 41]), st.integers(1, 30),
                st.sampled_from([KEY, KEY, OTHER_KEY]), st.sampled_from([0, 0, 2]), st.integers(0, 1),
            ),
            max_size=8,
        )
    )  # fmt: skip
    def test_same_as_one_by_one(self, parts: list[tuple[int, int, int, int, bytes, int, int]]) -> None:
        """Any mixture of adds in one chunk is the same as frame by frame; a run never mixes key or flags."""
        frames = []
        for ledger_id, first, size, count, key, flags, step in parts:
            for i in range(count):
                one = EntryRun.of_entries(ledger_id, first + i * step, [entry(ledger_id, first + i * step, size)])
                frames.append(requests_out.encode_adds(key, one, flags))
        singles = [item for data in frames for item in flat(decode(data)[0])]
        items, error = decode(b"".join(frames))
        self.assertIsNone(error)
        self.assertEqual(flat(items), singles)
        for item in items:
            if isinstance(item, AddRun):
                self.assertTrue(all(one.ids_match() for one in single_runs(item)))

    def test_sizes(self) -> None:
        """A chunk of adds in a row is one run with the bytes of each entry, and the frame it cuts is kept."""
        for size in (24, 100, 512, 2047, 2048, 2049, 3000):
            for count in (1, 2, 3, 40):
                entries = [ids(7, i, i - 1) + bytes([i]) * (size - 24) for i in range(count + 1)]
                data = requests_out.encode_adds(KEY, EntryRun.of_entries(7, 0, entries))
                decoder, cut = ServerDecoder(), len(data) - size // 2
                (item,) = decoder.receive(data[:cut])
                assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
                self.assertEqual((item.entries.first, list(item.entries.entries())), (0, entries[:count]))
                (item,) = decoder.receive(data[cut:])
                assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
                self.assertEqual((item.entries.first, list(item.entries.entries())), (count, entries[count:]))

    def test_payload_that_looks_like_a_frame(self) -> None:
        """Payloads are never taken for frames."""
        inner = requests_out.encode_adds(KEY, run(7, 100, [60]))
        entries = [ids(7, i, i - 1) + inner for i in range(40)]
        (item,), _ = decode(requests_out.encode_adds(KEY, EntryRun.of_entries(7, 0, entries)))
        assert isinstance(item, AddRun) and isinstance(item.entries, EntryRun)
        self.assertEqual(list(item.entries.entries()), entries)
