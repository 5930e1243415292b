"""Plants in ``codec``."""

from .plant import Plant

_DIGEST = ["tests.codec.test_digest"]
_FRAMING = ["tests.codec.test_framing", "tests.codec.test_connection"]
_V2 = ["tests.codec.v2.test_requests_in", "tests.codec.v2.test_requests_out"]
_V2_REPLIES = ["tests.codec.v2.test_replies_in", "tests.codec.v2.test_replies_out"]
_FORMS = ["tests.codec.v3.test_forms"]
_METADATA = ["tests.codec.metadata_formats"]

PLANTS = (
    Plant(
        "replies to ids across 2**16 repeat the upper bytes of the first", "codec/strides.py",
        "(_HIGH[low:end], _LOW[low:end]) if end <= 1 << 16 else None", "(_HIGH[low:end], _LOW[low:end])", _V2_REPLIES,
        where="low_bytes",
    ),
    Plant(
        "keys of few records are not compared", "codec/strides.py",
        "column(data, stride, count, at, at + len(key), begin).count(key) == count", "True",
        ["tests.codec.test_strides"], where="counts_up",
    ),
    Plant(
        "keys of many records are not compared", "codec/strides.py",
        "all(data[i:end:stride] == bytes((byte,)) * count for i, byte in enumerate(key, begin + at))", "True",
        ["tests.codec.test_strides"], where="counts_up",
    ),
    Plant(
        "digests of an even batch are not compared", "codec/digest.py",
        "data[_HEAD_END + i :: stride] == expected[i::size]", "True", _DIGEST, where="Digester._is_sound",
    ),
    Plant(
        "digests of an uneven batch are not compared", "codec/digest.py",
        'b"".join([data[a + _HEAD_END : a + start] for a in at]) == self._digests(covered)',
        "b\"\".join([data[a + _HEAD_END : a + start] for a in at]) != b'' and bool(covered)", _DIGEST,
        where="Digester._is_sound_mix",
    ),
    Plant("a digest covers the header alone", "codec/digest.py", "add", "lambda h, _: h", _DIGEST, where="_covered"),
    Plant(
        "ids of an even batch are compared at the first entry", "codec/digest.py",
        "counts_up(data, stride, count, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "counts_up(data[:stride], stride, 1, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first)", _DIGEST,
        where="Digester._is_sound",
    ),
    Plant(
        "ids of an even batch are compared at the ends", "codec/digest.py",
        "counts_up(data, stride, count, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first) and "
        "all(data[_HEAD_END + i :: stride] == expected[i::size] for i in range(size))",
        "counts_up(data[:stride], stride, 1, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.first) and "
        "counts_up(data[-stride:], stride, 1, _HEAD_AT, _LEDGER_ID.pack(run.ledger_id), run.last) and "
        "all(data[_HEAD_END + i :: stride] == expected[i::size] for i in range(size))",
        _DIGEST, where="Digester._is_sound",
    ),
    Plant(
        "ids of an uneven batch are compared at the first entry", "codec/digest.py",
        "run.count", "1", _DIGEST, where="Digester._is_sound_mix",
    ),
    Plant(
        "ids of an uneven batch are compared at the ends", "codec/digest.py",
        "not counts_up(ids, _IDS_SIZE, run.count, 0, _LEDGER_ID.pack(run.ledger_id), run.first)",
        "not counts_up(ids, _IDS_SIZE, 1, 0, _LEDGER_ID.pack(run.ledger_id), run.first) and "
        "counts_up(ids[-_IDS_SIZE:], _IDS_SIZE, 1, 0, _LEDGER_ID.pack(run.ledger_id), run.last)",
        _DIGEST, where="Digester._is_sound_mix",
    ),
    Plant(
        "ledger ids of a batch are not compared", "codec/digest.py",
        "_LEDGER_ID.pack(run.ledger_id)", "data[_HEAD_AT : _HEAD_AT + 8]", _DIGEST, where="Digester._is_sound",
    ),
    Plant(
        "the LAC packet of another ledger passes", "codec/digest.py",
        "found != ledger_id", "False", _DIGEST, where="Digester.verify_lac",
    ),
    Plant(
        "a short LAC packet passes under no digest", "codec/digest.py",
        "len(body) < _LAC.size or self.digest(body) != digest", "self.digest(body) != digest", _DIGEST,
        where="Digester.verify_lac",
    ),
    Plant(
        "an entry of a batch has the length before it", "codec/digest.py",
        "length + size", "length", _DIGEST, where="pack_headers",
    ),
    Plant(
        "frames may be a length word over the limit", "codec/framing.py",
        "length + LENGTH_SIZE", "length", _FRAMING, where="frame_length",
    ),
    Plant(
        "a frame that is too long is found out when it is here", "codec/framing.py",
        "frame_length(data, at, self._limit)", "int.from_bytes(data[at : at + 4], 'big')", _FRAMING,
        where="FrameBuffer.keep",
    ),
    Plant(
        "a frame that ends with a chunk waits for the next one", "codec/framing.py",
        "self.n_bytes < self._need", "self.n_bytes <= self._need", _FRAMING, where="FrameBuffer.add",
    ),
    Plant(
        "what follows a large frame that was cut is copied, too", "codec/framing.py",
        "missing if self._need >= _SMALL and 0 < missing < len(chunk) else len(chunk)", "len(chunk)", _FRAMING,
        where="FrameBuffer.complete",
    ),
    Plant(
        "complete frames that were put off are cut", "codec/framing.py",
        "0 < missing < len(chunk)", "missing < len(chunk)", _FRAMING, where="FrameBuffer.complete",
    ),
    Plant(
        "what follows a large frame that was cut is forgotten", "codec/connection.py",
        "at < len(chunk)", "not cut", _FRAMING, where="ServerDecoder.receive",
    ),
    Plant(
        "only the first 2**16 ids are compared where they lie", "codec/strides.py",
        "begin + fitting * stride", "begin", ["tests.codec.test_strides.CountsUpTests"], where="counts_up",
    ),
    Plant(
        "a decoder goes on after an error", "codec/connection.py",
        "self.error = error", "", _FRAMING, where="ServerDecoder.receive",
    ),
    Plant(
        "V3 may come after V2", "codec/connection.py",
        "self.wire = self._others.pop(0)\nat, own = self.wire.scan_requests(data, at, self._limit, items)",
        "at, own = self._others[0].scan_requests(data, at, self._limit, items)",
        ["tests.codec.test_connection.DetectionTests"], where="ServerDecoder._scan",
    ),
    Plant(
        "adds of different headers share a run", "codec/v2/requests_in.py",
        "data[at + 4 : at + _ADD_PREFIX] != head", "data[at + 8 : at + _ADD_PREFIX] != head[4:]",
        ["tests.codec.v2.test_requests_in.BadInputTests.test_header_and_key_divide_runs"], where="_entries",
    ),
    Plant(
        "adds of different keys share a run", "codec/v2/requests_in.py",
        "data[at + 4 : at + _ADD_PREFIX] != head", "data[at + 4 : at + 8] != head[:4]",
        ["tests.codec.v2.test_requests_in.BadInputTests.test_header_and_key_divide_runs"], where="_entries",
    ),
    Plant(
        "a run of adds is taken from its ends", "codec/v2/requests_in.py",
        "list(map(len, entries)).count(size) != count or not counts_up(joined, size + 4, count, 4, "
        "entries[0][:8], first)",
        "list(map(len, entries)).count(size) != count", _V2, where="_uniform_run",
    ),
    Plant(
        "a series of adds is taken from its ends", "codec/v2/requests_in.py",
        "not count or (count > 1 and not counts_up(data, stride, count, 0, head, first, at))", "not count",
        ["tests.codec.v2.test_requests_in.BadInputTests"], where="_row",
    ),
    Plant(
        "a series of adds is compared by ids alone", "codec/v2/requests_in.py",
        "counts_up(data, stride, count, 0, head, first, at)",
        "counts_up(data, stride, count, _ADD_PREFIX, data[at + _ADD_PREFIX :][:8], first, at)",
        ["tests.codec.v2.test_requests_in.BadInputTests"], where="_row",
    ),
    Plant(
        "of several runs in a chunk none is taken as a series", "codec/v2/requests_in.py",
        "end if pays else 0", "0", ["tests.codec.v2.test_requests_in.BadInputTests"], where="_following",
    ),
    Plant(
        "the end of a run in front of a chunk makes a mixture of all", "codec/v2/requests_in.py",
        "ahead >= _FEW_AHEAD", "ahead < 0", ["tests.codec.v2.test_requests_in.BadInputTests"], where="_following",
    ),
    Plant(
        "runs of different keys in turn are one request", "codec/v2/requests_in.py",
        "at <= last and data[at : at + _ADD_PREFIX] == head", "at <= last",
        ["tests.codec.v2.test_requests_in.BadInputTests"], where="_rows",
    ),
    Plant(
        "a run ends where the one before it did", "codec/v2/requests_in.py",
        "FEW_A_RUN < guess <= last and ids(guess - 1) == (ledger_id, first + guess - 1) and "
        "ids(guess)[0] != ledger_id",
        "FEW_A_RUN < guess <= last", ["tests.codec.v2.test_requests_in.BadInputTests"], where="_following",
    ),
    Plant(
        "runs in turn are answered by the first of them", "codec/wires.py",
        'b"".join(replies)', "replies[0]", ["tests.codec.v2.test_requests_in.BadInputTests"],
        where="V2Protocol.add_replies",
    ),
    Plant(
        "runs in turn all go to one journal", "entries/mixed_runs.py",
        "number, RunSequence(list(compress(self._runs, chosen)))", "0, self",
        ["tests.bookie.test_bookie.RunSequenceTests"], where="RunSequence.split",
    ),
    Plant(
        "adds of reserved ids are taken", "codec/v2/requests_in.py",
        "end - start if ledger_id < 0 else min(end - start, max(0, -first))", "0", _V2, where="_cut",
    ),
    Plant(
        "the first entries of a run that crosses zero are taken", "codec/v2/requests_in.py",
        "-first", "-first - 1", _V2, where="_cut",
    ),
    Plant(
        "an add too short for its header is taken", "codec/v2/requests_in.py",
        "version > VERSION or length < _SHORTEST_ADD", "version > VERSION", _V2, where="_adds",
    ),
    Plant(
        "a fence of a V2 batch read needs no key", "codec/v2/requests_in.py",
        "fence and length < fixed + MASTER_KEY_SIZE", "False", _V2, where="_key",
    ),
    Plant(
        "V2 versions above 127 are old ones", "codec/v2/requests_in.py",
        "version > VERSION or (fence and ledger_id < 0)", "VERSION < version < 128 or (fence and ledger_id < 0)", _V2,
        where="_batch_read",
    ),
    Plant(
        "V2 add replies of different codes are one", "codec/v2/replies_in.py",
        "_ADD_HEAD = 12", "_ADD_HEAD = 8", _V2_REPLIES, where="",
    ),
    Plant(
        "V2 replies to reads of other ledgers are of the first one", "codec/v2/replies_in.py",
        "_ADD_HEAD + 8", "_ADD_HEAD", _V2_REPLIES, where="",
    ),
    Plant(
        "V2 replies to reads that failed have entries where a row begins", "codec/v2/replies_in.py",
        "status is not Status.EOK", "status is not Status.EOK and not is_series(data, at, size, _READ_HEAD)",
        _V2_REPLIES, where="_read_replies",
    ),
    Plant(
        "a batch reply's last entry may be cut short", "codec/v2/replies_in.py",
        "at != end", "False", _V2_REPLIES, where="_offsets",
    ),
    Plant(
        "a V2 batch reply is even if its first and last sizes are", "codec/v2/replies_in.py",
        "all(data[i::stride] == data[i : i + 1] * count for i in range(_SIZE.size))",
        "data[:4] == data[-stride:][:4]", _V2_REPLIES, where="_equal_sizes",
    ),
    Plant(
        "availability unfolds before it counts", "codec/availability.py",
        "sum([_sequences(*group) for group in groups])", "len([_sequences(*group) for group in groups])",
        ["tests.codec.test_availability"], where="decode_availability",
    ),
    Plant(
        "ranges that touch stay apart", "codec/availability.py",
        "ranges[-1][1] + 1", "ranges[-1][1]", ["tests.codec.test_availability"], where="_merged",
    ),
    Plant(
        "the longest range overflows", "codec/availability.py",
        "last - first >= _MAX_SIZE", "last - first > _MAX_SIZE", ["tests.codec.test_availability"],
        where="encode_availability",
    ),
    Plant(
        "any ids of one length pass for ids that count up", "codec/varints.py",
        "expected == data", "True", ["tests.codec.test_varints", "tests.codec.v3.test_columns"],
        where="decode_column",
    ),
    Plant(
        "high bytes that differ are taken for one", "codec/varints.py",
        "same and plane.count(plane[:1]) == len(plane)", "same", ["tests.codec.test_varints"], where="decode_column",
    ),
    Plant(
        "an entry of another ledger is taken for what a V3 add of many says", "codec/v3/requests_in.py",
        'big_endian(ids) == b"".join([body[: _IDS.size] for body in bodies])', "True",
        ["tests.codec.v3.test_requests_in"], where="_are_entries",
    ),
    Plant(
        "large V3 entries of many ledgers keep their chunk in memory", "codec/v3/requests_in.py",
        "owned(bodies)", "bodies", ["tests.codec.v3.test_requests_in"], where="_entries_of",
    ),
    Plant(
        "large entries that a client reads keep their chunk in memory", "codec/v3/replies_in.py",
        "owned(found.bodies)", "found.bodies", ["tests.codec.v3.test_replies_in"], where="_rows",
    ),
    Plant(
        "every block has the checksum of the first", "crc32c.py",
        "address + start", "address", ["tests.test_crc32c"], where="crc32c_of_blocks",
    ),
    Plant(
        "a part of many adds is answered with the numbers of all", "codec/runs.py",
        "part is None or part is self.entries", "True",
        ["tests.codec.test_runs", "tests.bookie.requests.test_session"], where="AddRun.txn_ids_of",
    ),
    Plant(
        "V3 replies to adds of many ledgers name one of them", "codec/v3/replies_out.py",
        "fill_column(frames, stride - id_size - 1 - ledger_size, stride, ledger_ids, ledger_size)", "",
        ["tests.codec.v3.test_replies_out"], where="_equal_add_replies",
    ),
    Plant(
        "a V3 reply to a read has the LAC of the ledger after its own", "codec/v3/replies_out.py",
        "(lacs[0], *lacs[:-1])", "lacs", ["tests.codec.v3.test_replies_out"], where="_equal_read_replies",
    ),
    Plant(
        "what stands between the ids of a V3 series may differ", "codec/v3/columns.py",
        "(0, 2, 4, 6, 8)", "(0, 2, 6, 8)", ["tests.codec.v3.test_columns"], where="",
    ),
    Plant(
        "the size of a V3 read of another size need not be that of its ids", "codec/v3/forms.py",
        "(_values(messages), [2 + size for size in id_sizes])", "(ledgers, ledgers)", _FORMS, where="unlike_reads",
    ),
    Plant(
        "adds behind a V3 add of another key are taken for that key's", "codec/v3/forms.py",
        "[(flags[0], keys[0])] * len(keys)", "list(zip(flags, keys, strict=True))", _FORMS, where="unlike_adds",
    ),
    Plant(
        "the size of the message in a V3 add is not compared", "codec/v3/forms.py",
        "(_message_ends(edges, 13, txns, messages), ends)", "(ends, ends)", _FORMS, where="unlike_adds",
    ),
    Plant(
        "an entry may go on behind its V3 reply", "codec/v3/forms.py",
        "(list(map(min, bodies_end, ends)), bodies_end)", "(ends, ends)", _FORMS, where="read_replies",
    ),
    Plant(
        "short V3 frames at the end of a chunk are compared with too few bytes", "codec/v3/forms.py",
        'data[start : start + _HEAD].ljust(_HEAD, b"\\0")', "data[start : start + _HEAD]", _FORMS, where="_found_in",
    ),
    Plant(
        "the LAC of one V3 read reply is given for all of a series", "codec/v3/columns.py",
        "not tail or column(data, stride, count, body_end - at, stride, at).count(tail) == count", "True", _FORMS,
        where="_counts_up",
    ),
    Plant(
        "the LACs of V3 read replies out of order need not be equal", "codec/v3/columns.py",
        "(0, 2, 4, 6, 8)", "(0, 2, 4, 6)", _FORMS, where="",
    ),
    Plant(
        "V3 replies of several layouts have the header of the first", "codec/v3/replies_out.py",
        "headers[len(txn)]", "headers[len(txns[0])]", ["tests.codec.v3.test_replies_out"], where="_unlike_replies",
    ),
    Plant(
        "reads between the first and the last of a chunk are not compared", "codec/v2/requests_in.py",
        "counting(data[at : at + _READ_SIZE], ids) == data[at : last + _READ_SIZE]", "True", _V2,
        where="_ids_of_reads",
    ),
    Plant(
        "a V2 read reply cut off by the end of a chunk is taken for whole", "codec/v2/replies_in.py",
        "min(limit, len(data) - at)", "limit", ["tests.codec.v2.test_replies_in", "tests.codec.test_connection"],
        where="_unlike_read_replies",
    ),
    Plant(
        "a varint of another size ends no column", "codec/varints.py",
        "min(plane) < 128", "False", ["tests.codec.test_varints", "tests.codec.v3.test_columns"],
        where="decode_column",
    ),
    Plant(
        "segments in no order pass", "codec/metadata_formats/ledger_metadata.py",
        "after.first_entry_id <= before.first_entry_id", "after.first_entry_id == before.first_entry_id", _METADATA,
        where="_check",
    ),
    Plant(
        "two segments begin at one entry", "codec/metadata_formats/ledger_metadata.py",
        "after.first_entry_id <= before.first_entry_id", "after.first_entry_id < before.first_entry_id", _METADATA,
        where="_check",
    ),
    Plant(
        "an open ledger has a length", "codec/metadata_formats/ledger_metadata.py",
        "message.length if closed else 0", "message.length", _METADATA, where="_of_message",
    ),
    Plant(
        "an open ledger is stored with its last entry", "codec/metadata_formats/ledger_metadata.py",
        "metadata.last_entry_id if metadata.closed else INVALID_ENTRY_ID", "metadata.last_entry_id", _METADATA,
        where="_message",
    ),
    Plant(
        "ledgers of version 2 have an ack quorum of zero", "codec/metadata_formats/ledger_metadata.py",
        'message.ackQuorumSize if message.HasField("ackQuorumSize") else message.quorumSize', "message.ackQuorumSize",
        _METADATA, where="_of_message",
    ),
    Plant(
        "a cut ledger passes", "codec/metadata_formats/ledger_metadata.py",
        "start + size > len(data)", "start > len(data)", _METADATA, where="_delimited",
    ),
    Plant(
        "version 1 forgets passwords", "codec/metadata_formats/ledger_metadata.py",
        '(("ack quorum", metadata.ack_quorum_size != metadata.write_quorum_size), ("password", '
        'metadata.has_password), ("custom metadata", bool(metadata.custom_metadata)), ("bookie named '
        'CLOSED", any(s.bookies[:1] == (_CLOSED,) for s in metadata.segments)))',
        '(("ack quorum", metadata.ack_quorum_size != metadata.write_quorum_size), ("custom metadata", '
        'bool(metadata.custom_metadata)), ("bookie named CLOSED", any(s.bookies[:1] == (_CLOSED,) for s '
        "in metadata.segments)))",
        _METADATA, where="_version_1_lines",
    ),
    Plant(
        "a cookie of fewer directories passes", "codec/metadata_formats/cookie.py",
        "allow_expansion and set(ours) >= set(theirs)", "allow_expansion", _METADATA, where="Cookie.verify",
    ),
    Plant(
        "a cookie of another cluster passes", "codec/metadata_formats/cookie.py",
        '_same("instance id", self.instance_id, stored.instance_id)', "", _METADATA, where="Cookie.verify",
    ),
    Plant(
        "a list of directories need not be whole", "codec/metadata_formats/cookie.py",
        "not directories or decimal(count, 32) != len(directories)", "not directories", _METADATA, where="_split",
    ),
    Plant(
        "a LAC packet may have any size", "codec/v3/requests_in.py",
        "_MIN_LAC_PACKET <= len(body) <= _MAX_LAC_PACKET", "_MIN_LAC_PACKET <= len(body)",
        ["tests.codec.v3.test_requests_in"], where="_write_lac",
    ),
    Plant(
        "the LAC packet of the longest digest is refused", "codec/v3/requests_in.py",
        "_IDS.size + MAX_DIGEST_SIZE", "_IDS.size + 8", ["tests.codec.v3.test_requests_in"], where="",
    ),
    Plant(
        "the key of a series of adds may have any size", "codec/v3/requests_in.py",
        "min(sizes) < MIN_ENTRY_SIZE or len(found.master_key) > MAX_MASTER_KEY_SIZE", "min(sizes) < MIN_ENTRY_SIZE",
        ["tests.codec.v3.test_requests_in"], where="_are_entries",
    ),
    Plant(
        "the key of a fence may have any size", "codec/v3/requests_in.py",
        "(flag == FLAG_FENCE and ledger_id < 0) or _is_long(key)", "flag == FLAG_FENCE and ledger_id < 0",
        ["tests.codec.v3.test_requests_in"], where="_read",
    ),
)  # fmt: skip
