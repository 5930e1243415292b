"""Plants in the replies to batch reads, from the codec to the bookie."""

from .plant import Plant

_BATCH = ["tests.bookie.requests.test_batch_processor", "tests.bookie.requests.test_batch_replies"]
_REPLIES = ["tests.codec.v3.test_replies_out"]
_PROCESSOR = "bookie/requests/batch_processor.py"
_WIRES = "codec/wires.py"

PLANTS = (
    Plant("a V3 entry costs no more than its record", _WIRES, "(0, 4)", "(0, 0)", _BATCH, where="V3Protocol"),
    Plant(
        "later runs of a V3 reply cost no more than their records", _PROCESSOR,
        "part.size + part.count * self._per_entry", "part.size", _BATCH, where="Gathering._append",
    ),
    Plant(
        "only the first run of a reply takes room", _PROCESSOR,
        "part.size + part.count * self._per_entry",
        "(len(self.runs) < 2) * (part.size + part.count * self._per_entry)", _BATCH, where="Gathering._append",
    ),
    Plant(
        "only the first run of a reply counts", _PROCESSOR,
        "self.left -= part.count", "self.left -= part.count if len(self.runs) < 2 else 0", _BATCH,
        where="Gathering._append",
    ),
    Plant("every run gives one entry at least", _PROCESSOR, "least = 0", "least = 1", _BATCH, where="Gathering.take"),
    Plant(
        "no room is left for the header of V3", _WIRES,
        "_V3_HEADER_ROOM = 512", "_V3_HEADER_ROOM = 0", _BATCH, where="",
    ),
    Plant(
        "the room for the header of V3 is short", _WIRES,
        "_V3_HEADER_ROOM = 512", "_V3_HEADER_ROOM = 40", _BATCH, where="",
    ),
    Plant(
        "batch replies know no frame limit", _PROCESSOR,
        "min(limits.max_batch_read_size, limits.max_frame_size - request.wire.batch_head)",
        "limits.max_batch_read_size", _BATCH, where="BatchProcessor.start",
    ),
    Plant(
        "the header of a V2 reply is not counted", _WIRES,
        "(v2_layout.BATCH_REPLY.size, 0)", "(0, 0)", _BATCH, where="V2Protocol",
    ),
    Plant(
        "V3 replies are limited by the first entry, too", _PROCESSOR,
        "if self.request.wire.batch_counts_by_first: ...", "if self.request.wire: ...", _BATCH,
        where="Gathering.take",
    ),
    Plant(
        "a reply ends with its first run", _PROCESSOR,
        "run.last < self.next <= MAX_ENTRY_ID and self.has_room", "False", _BATCH, where="Gathering.take",
    ),
    Plant(
        "the size of a V3 reply is that of its first run", "codec/v3/replies_out.py",
        "map(len, bodies)", "map(len, bodies[:1])", _REPLIES, where="batch_reply",
    ),
    Plant(
        "a V3 reply leaves the LAC out of its length", "codec/v3/replies_out.py",
        "len(ids) + sum(map(len, bodies)) + len(last)", "len(ids) + sum(map(len, bodies))", _REPLIES,
        where="batch_reply",
    ),
    Plant(
        "an uneven run of a V3 reply has the length of its first entry", "codec/v3/replies_out.py",
        '[b"\\x22" + varint(len(entry)) for entry in entries]',
        '[b"\\x22" + varint(len(list(run.entries())[0]))] * run.count', _REPLIES, where="_body_fields",
    ),
)  # fmt: skip
