"""Plants in the replies to batch reads, from the codec to the bookie."""

from .plant import Plant

_BATCH = ["tests.bookie.requests.test_batch_processor", "tests.bookie.requests.test_batch_replies"]
_REPLIES = ["tests.codec.v3.test_replies_out"]
_PROCESSOR = "bookie/requests/batch_processor.py"
_WIRES = "codec/wires.py"

PLANTS = (
    Plant(
        "a V3 entry costs no more than its record", _WIRES, "batch_overhead = (0, 4)", "batch_overhead = (0, 0)", _BATCH,
    ),
    Plant(
        "later runs of a V3 reply cost no more than their records", _PROCESSOR,
        "self.room -= part.size + part.count * self._per_entry", "self.room -= part.size", _BATCH,
    ),
    Plant(
        "only the first run of a reply takes room", _PROCESSOR,
        "self.room -= part.size + part.count * self._per_entry",
        "self.room -= (len(self.runs) < 2) * (part.size + part.count * self._per_entry)", _BATCH,
    ),
    Plant(
        "only the first run of a reply counts", _PROCESSOR,
        "        self.left -= part.count\n", "        self.left -= part.count if len(self.runs) < 2 else 0\n", _BATCH,
    ),
    Plant(
        "every run gives one entry at least", _PROCESSOR, "        least = 0\n", "        least = 1\n", _BATCH,
    ),
    Plant(
        "no room is left for the header of V3", _WIRES, "_V3_HEADER_ROOM = 512", "_V3_HEADER_ROOM = 0", _BATCH,
    ),
    Plant(
        "the room for the header of V3 is short", _WIRES, "_V3_HEADER_ROOM = 512", "_V3_HEADER_ROOM = 40", _BATCH,
    ),
    Plant(
        "batch replies know no frame limit", _PROCESSOR,
        "min(limits.max_batch_read_size, limits.max_frame_size - request.wire.batch_head)",
        "limits.max_batch_read_size", _BATCH,
    ),
    Plant(
        "the header of a V2 reply is not counted", _WIRES,
        "batch_overhead = (v2_layout.BATCH_REPLY.size, 0)", "batch_overhead = (0, 0)", _BATCH,
    ),
    Plant(
        "V3 replies are limited by the first entry, too", _PROCESSOR,
        "            if self.request.wire.batch_counts_by_first:\n", "            if self.request.wire:\n", _BATCH,
    ),
    Plant(
        "a reply ends with its first run", _PROCESSOR,
        "return run.last < self.next <= MAX_ENTRY_ID and self.has_room", "return False", _BATCH,
    ),
    Plant(
        "the size of a V3 reply is that of its first run", "codec/v3/replies_out.py",
        "size = len(ids) + sum(map(len, bodies)) + len(last)", "size = len(ids) + sum(map(len, bodies[:1])) + len(last)", _REPLIES,
    ),
    Plant(
        "a V3 reply leaves the LAC out of its length", "codec/v3/replies_out.py",
        "size = len(ids) + sum(map(len, bodies)) + len(last)", "size = len(ids) + sum(map(len, bodies))", _REPLIES,
    ),
    Plant(
        "an uneven run of a V3 reply has the length of its first entry", "codec/v3/replies_out.py",
        'parts[::2] = [b"\\x22" + varint(len(entry)) for entry in entries]',
        'parts[::2] = [b"\\x22" + varint(len(list(run.entries())[0]))] * run.count', _REPLIES,
    ),
)  # fmt: skip
