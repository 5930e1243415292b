"""Plants in ``codec``."""

from .plant import Plant

_DIGEST = ["tests.codec.test_digest"]

PLANTS = (
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
)  # fmt: skip
