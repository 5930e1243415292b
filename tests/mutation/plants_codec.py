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
)  # fmt: skip
