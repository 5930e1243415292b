"""Plants in ``codec``."""

from .plant import Plant

_DIGEST = ["tests.codec.test_digest"]
_FRAMING = ["tests.codec.test_framing", "tests.codec.test_connection"]
_V2 = ["tests.codec.v2.test_requests_in", "tests.codec.v2.test_requests_out"]
_V2_REPLIES = ["tests.codec.v2.test_replies_in", "tests.codec.v2.test_replies_out"]
_METADATA = ["tests.codec.metadata_formats"]

PLANTS = (
    Plant(
        "replies to ids across 2**16 repeat the upper bytes of the first", "codec/strides.py",
        " if end <= 1 << 16 else None", "", _V2_REPLIES,
    ),
    Plant(
        "keys of few records are not compared", "codec/strides.py",
        "        return column(data, stride, count, at - len(key), at).count(key) == count\n", "        return True\n",
        ["tests.codec.test_strides"],
    ),
    Plant(
        "keys of many records are not compared", "codec/strides.py",
        "    return all(data[i:end:stride] == bytes((byte,)) * count for i, byte in enumerate(key, at - len(key)))\n",
        "    return True\n", ["tests.codec.test_strides"],
    ),
    Plant(
        "digests of an even batch are not compared", "codec/digest.py",
        "data[_HEAD_END + i :: stride] == expected[i::size] for i in range(size)", "True for i in range(size)", _DIGEST,
    ),
    Plant(
        "digests of an uneven batch are not compared", "codec/digest.py",
        "== self._digests(covered)", "!= b'' and bool(covered)", _DIGEST,
    ),
    Plant(
        "a digest covers the header alone", "codec/digest.py",
        "return map(add, map(data.__getitem__, heads)", "return map(lambda h, _: h, map(data.__getitem__, heads)",
        _DIGEST,
    ),
    Plant(
        "ids of an even batch are compared at the first entry", "codec/digest.py",
        "counts_up(data, stride, count, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "counts_up(data[:stride], stride, 1, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)", _DIGEST,
    ),
    Plant(
        "ids of an even batch are compared at the ends", "codec/digest.py",
        "counts_up(data, stride, count, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "counts_up(data[:stride], stride, 1, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)"
        " and counts_up(data[-stride:], stride, 1, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.last)", _DIGEST,
    ),
    Plant(
        "ids of an uneven batch are compared at the first entry", "codec/digest.py",
        "counts_up(ids, _IDS_SIZE, run.count, 0, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "counts_up(ids, _IDS_SIZE, 1, 0, _LEDGER_ID.pack(run.ledger_id), run.first)", _DIGEST,
    ),
    Plant(
        "ids of an uneven batch are compared at the ends", "codec/digest.py",
        "counts_up(ids, _IDS_SIZE, run.count, 0, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "counts_up(ids, _IDS_SIZE, 1, 0, _LEDGER_ID.pack(run.ledger_id), run.first)"
        " and counts_up(ids[-_IDS_SIZE:], _IDS_SIZE, 1, 0, _LEDGER_ID.pack(run.ledger_id), run.last)", _DIGEST,
    ),
    Plant(
        "ledger ids of a batch are not compared", "codec/digest.py",
        "counts_up(data, stride, count, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "counts_up(data, stride, count, _HEAD_AT, data[_HEAD_AT : _HEAD_AT + 8], run.first)", _DIGEST,
    ),
    Plant(
        "the LAC packet of another ledger passes", "codec/digest.py",
        "        if found != ledger_id:\n            raise", "        if False:\n            raise", _DIGEST,
    ),
    Plant(
        "a short LAC packet passes under no digest", "codec/digest.py",
        "if len(body) < _LAC.size or self.digest(body) != digest:", "if self.digest(body) != digest:", _DIGEST,
    ),
    Plant(
        "an entry of a batch has the length before it", "codec/digest.py",
        "heads[3::4] = array(\"q\", _progression(length + size, size, count))", "heads[3::4] = array(\"q\", _progression(length, size, count))", _DIGEST,
    ),
    Plant(
        "frames may be a length word over the limit", "codec/framing.py",
        "if length + LENGTH_SIZE > limit:", "if length > limit:", _FRAMING,
    ),
    Plant(
        "a frame that is too long is found out when it is here", "codec/framing.py",
        "            self._need += frame_length(data, at, self._limit)\n",
        "            self._need += int.from_bytes(data[at : at + 4], 'big')\n", _FRAMING,
    ),
    Plant(
        "a frame that ends with a chunk waits for the next one", "codec/framing.py",
        "        if self._have < self._need:\n", "        if self._have <= self._need:\n", _FRAMING,
    ),
    Plant(
        "a decoder goes on after an error", "codec/connection.py",
        "            self.error = error\n            self._buffer.clear()\n        return items\n\n    def receive_all",
        "            self._buffer.clear()\n        return items\n\n    def receive_all", _FRAMING,
    ),
    Plant(
        "V3 may come after V2", "codec/connection.py",
        "                self.wire = self._others.pop(0)\n                at, own = self.wire.scan",
        "                at, own = self._others[0].scan",
        ["tests.codec.test_connection.DetectionTests"],
    ),
    Plant(
        "adds of different headers share a run", "codec/v2/requests_in.py",
        " or data[at + 4 : at + _ADD_PREFIX] != head:", " or data[at + 8 : at + _ADD_PREFIX] != head[4:]:", ["tests.codec.v2.test_requests_in.BadInputTests.test_header_and_key_divide_runs"],
    ),
    Plant(
        "adds of different keys share a run", "codec/v2/requests_in.py",
        " or data[at + 4 : at + _ADD_PREFIX] != head:", " or data[at + 4 : at + 8] != head[:4]:", ["tests.codec.v2.test_requests_in.BadInputTests.test_header_and_key_divide_runs"],
    ),
    Plant(
        "a run of adds is taken from its ends", "codec/v2/requests_in.py",
        " or not counts_up(joined, size + 4, count, 4, entries[0][:8], first)\n", "\n", _V2,
    ),
    Plant(
        "a series of adds is taken from its ends", "codec/v2/requests_in.py",
        " or not counts_up(frames, stride, count, 0, data[at : at + _ADD_PREFIX + 8], first)", "",
        ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "a series of adds is compared by ids alone", "codec/v2/requests_in.py",
        "count, 0, data[at : at + _ADD_PREFIX + 8], first)", "count, _ADD_PREFIX, data[at + _ADD_PREFIX :][:8], first)",
        ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "of several runs in a chunk none is taken as a series", "codec/v2/requests_in.py",
        "    return end if pays else 0\n", "    return 0\n", ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "the end of a run in front of a chunk makes a mixture of all", "codec/v2/requests_in.py",
        "        pays = ahead >= _FEW_AHEAD and", "        pays = ahead < 0 and", ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "runs of different keys in turn are one request", "codec/v2/requests_in.py",
        "    while at <= last and data[at : at + _ADD_PREFIX] == head:\n", "    while at <= last:\n",
        ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "a run ends where the one before it did", "codec/v2/requests_in.py",
        "FEW_A_RUN < guess <= last and ids(guess - 1) == (ledger_id, first + guess - 1) and ids(guess)[0] != ledger_id:",
        "FEW_A_RUN < guess <= last:", ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "runs in turn are answered by the first of them", "codec/wires.py",
        "            for each in entries.runs()\n        ]\n        return b\"\".join(replies)", "            for each in entries.runs()\n        ]\n        return replies[0]",
        ["tests.codec.v2.test_requests_in.BadInputTests"],
    ),
    Plant(
        "runs in turn all go to one journal", "entries/mixed_runs.py",
        "yield number, RunSequence([run for run in self._runs if run.ledger_id % n == number])", "yield 0, self",
        ["tests.bookie.test_bookie.RunSequenceTests"],
    ),
    Plant(
        "adds of reserved ids are taken", "codec/v2/requests_in.py",
        "refused = end - start if ledger_id < 0 else min(end - start, max(0, -first))", "refused = 0", _V2,
    ),
    Plant(
        "the first entries of a run that crosses zero are taken", "codec/v2/requests_in.py",
        "min(end - start, max(0, -first))", "min(end - start, max(0, -first - 1))", _V2,
    ),
    Plant(
        "an add too short for its header is taken", "codec/v2/requests_in.py",
        "if version > VERSION or length < _SHORTEST_ADD:", "if version > VERSION:", _V2,
    ),
    Plant(
        "a fence of a V2 batch read needs no key", "codec/v2/requests_in.py",
        "    if fence and length < fixed + MASTER_KEY_SIZE:\n        raise", "    if False:\n        raise", _V2,
    ),
    Plant(
        "V2 versions above 127 are old ones", "codec/v2/requests_in.py",
        "if version > VERSION or (fence and ledger_id < 0):", "if VERSION < version < 128 or (fence and ledger_id < 0):", _V2,
    ),
    Plant(
        "V2 add replies of different codes are one", "codec/v2/replies_in.py",
        "_ADD_HEAD = 12\n", "_ADD_HEAD = 8\n", _V2_REPLIES,
    ),
    Plant(
        "V2 replies to reads of other ledgers are of the first one", "codec/v2/replies_in.py",
        "_READ_HEAD = _ADD_HEAD + 8\n", "_READ_HEAD = _ADD_HEAD\n", _V2_REPLIES,
    ),
    Plant(
        "V2 replies to reads that failed have entries where a row begins", "codec/v2/replies_in.py",
        "    if status is not Status.EOK:\n        items", "    if status is not Status.EOK and not row_ahead(data, at, size, _READ_HEAD):\n        items", _V2_REPLIES,
    ),
    Plant(
        "a batch reply's last entry may be cut short", "codec/v2/replies_in.py",
        "    if at != end:\n        raise", "    if False:\n        raise", _V2_REPLIES,
    ),
    Plant(
        "a V2 batch reply is even if its first and last sizes are", "codec/v2/replies_in.py",
        "return all(data[i::stride] == data[i : i + 1] * count for i in range(_SIZE.size))",
        "return data[:4] == data[-stride:][:4]", _V2_REPLIES,
    ),
    Plant(
        "availability unfolds before it counts", "codec/availability.py",
        "    if sum([_sequences(*group) for group in groups]) > max_ranges:", "    if len([_sequences(*group) for group in groups]) > max_ranges:",
        ["tests.codec.test_availability"],
    ),
    Plant(
        "ranges that touch stay apart", "codec/availability.py",
        "start <= ranges[-1][1] + 1", "start <= ranges[-1][1]", ["tests.codec.test_availability"],
    ),
    Plant(
        "the longest range overflows", "codec/availability.py",
        "while last - first >= _MAX_SIZE:", "while last - first > _MAX_SIZE:", ["tests.codec.test_availability"],
    ),
    Plant(
        "any ids of one length pass for ids that count up", "codec/varints.py",
        "        if expected == column:\n", "        if True:\n", ["tests.codec.test_varints", "tests.codec.v3.test_columns"],
    ),
    Plant(
        "high bytes that differ are taken for one", "codec/varints.py",
        "same = same and plane.count(plane[:1]) == len(plane)", "same = same", ["tests.codec.test_varints"],
    ),
    Plant(
        "an entry of another ledger is taken for what a V3 add of many says", "codec/v3/requests_in.py",
        "    return big_endian(ids) == b\"\".join([body[: _IDS.size] for body in bodies])\n", "    return True\n",
        ["tests.codec.v3.test_requests_in"],
    ),
    Plant(
        "a part of many adds is answered with the numbers of all", "codec/runs.py",
        "        if part is None or part is self.entries:\n", "        if True:\n",
        ["tests.codec.test_runs", "tests.bookie.requests.test_session"],
    ),
    Plant(
        "V3 replies to adds of many ledgers name one of them", "codec/v3/replies_out.py",
        "    fill_column(frames, stride - id_size - 1 - ledger_size, stride, ledger_ids, ledger_size)\n", "",
        ["tests.codec.v3.test_replies_out"],
    ),
    Plant(
        "a V3 reply to a read has the LAC of the ledger after its own", "codec/v3/replies_out.py",
        "        fill_column(heads, 1, stride, (lacs[0], *lacs[:-1]), lac_size)\n",
        "        fill_column(heads, 1, stride, lacs, lac_size)\n", ["tests.codec.v3.test_replies_out"],
    ),
    Plant(
        "what stands between the ids of a V3 series may differ", "codec/v3/columns.py",
        "(1, 3, 5), (0, 2, 4, 6)", "(1, 3, 5), (0, 2, 6)", ["tests.codec.v3.test_columns"],
    ),
    Plant(
        "a varint of another size ends no column", "codec/varints.py",
        "        if min(plane) < 128:\n", "        if False:\n", ["tests.codec.test_varints", "tests.codec.v3.test_columns"],
    ),
    Plant(
        "segments in no order pass", "codec/metadata_formats/ledger_metadata.py",
        "if after.first_entry_id <= before.first_entry_id:", "if after.first_entry_id == before.first_entry_id:", _METADATA,
    ),
    Plant(
        "two segments begin at one entry", "codec/metadata_formats/ledger_metadata.py",
        "if after.first_entry_id <= before.first_entry_id:", "if after.first_entry_id < before.first_entry_id:", _METADATA,
    ),
    Plant(
        "an open ledger has a length", "codec/metadata_formats/ledger_metadata.py",
        "        length=message.length if closed else 0,\n", "        length=message.length,\n", _METADATA,
    ),
    Plant(
        "an open ledger is stored with its last entry", "codec/metadata_formats/ledger_metadata.py",
        "lastEntryId=metadata.last_entry_id if metadata.closed else INVALID_ENTRY_ID", "lastEntryId=metadata.last_entry_id", _METADATA,
    ),
    Plant(
        "ledgers of version 2 have an ack quorum of zero", "codec/metadata_formats/ledger_metadata.py",
        'message.ackQuorumSize if message.HasField("ackQuorumSize") else message.quorumSize', "message.ackQuorumSize", _METADATA,
    ),
    Plant(
        "a cut ledger passes", "codec/metadata_formats/ledger_metadata.py",
        "            if start + size > len(data):\n", "            if start > len(data):\n", _METADATA,
    ),
    Plant(
        "version 1 forgets passwords", "codec/metadata_formats/ledger_metadata.py",
        '        ("password", metadata.has_password),\n', "", _METADATA,
    ),
    Plant(
        "a cookie of fewer directories passes", "codec/metadata_formats/cookie.py",
        "allow_expansion and set(ours) >= set(theirs)", "allow_expansion", _METADATA,
    ),
    Plant(
        "a cookie of another cluster passes", "codec/metadata_formats/cookie.py",
        '        _same("instance id", self.instance_id, stored.instance_id)\n', "", _METADATA,
    ),
    Plant(
        "a list of directories need not be whole", "codec/metadata_formats/cookie.py",
        "if not directories or decimal(count, 32) != len(directories):", "if not directories:", _METADATA,
    ),
    Plant(
        "a LAC packet may have any size", "codec/v3/requests_in.py",
        "_MIN_LAC_PACKET <= len(body) <= _MAX_LAC_PACKET", "_MIN_LAC_PACKET <= len(body)", ["tests.codec.v3.test_requests_in"],
    ),
    Plant(
        "the LAC packet of the longest digest is refused", "codec/v3/requests_in.py",
        "_IDS.size + MAX_DIGEST_SIZE", "_IDS.size + 8", ["tests.codec.v3.test_requests_in"],
    ),
    Plant(
        "the key of a series of adds may have any size", "codec/v3/requests_in.py",
        "size < MIN_ENTRY_SIZE or len(found.master_key) > MAX_MASTER_KEY_SIZE:", "size < MIN_ENTRY_SIZE:",
        ["tests.codec.v3.test_requests_in"],
    ),
    Plant(
        "the key of a fence may have any size", "codec/v3/requests_in.py",
        "ledger_id < 0) or _is_long(key)):", "ledger_id < 0)):", ["tests.codec.v3.test_requests_in"],
    ),
)  # fmt: skip
