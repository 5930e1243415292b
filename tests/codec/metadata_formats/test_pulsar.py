"""Records of Pulsar in JSON."""

import json

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.metadata_formats import decode_leader, decode_racks, encode_leader
from bookkeeper_twisted.errors import CodecError


class LeaderTests(SynchronousTestCase):
    """The leader among auditors."""

    def test_leader(self) -> None:
        """A leader is the bookie id in quotes."""
        self.assertEqual(encode_leader("10.0.0.1:3181"), b'"10.0.0.1:3181"')
        self.assertEqual(decode_leader(b'"10.0.0.1:3181"'), "10.0.0.1:3181")

    def test_garbage(self) -> None:
        """What is no such text is refused."""
        for data in (b"", b"10.0.0.1:3181", b"null", b"{}", b"7", b"\xff"):
            self.assertRaises(CodecError, decode_leader, data)


class RackTests(SynchronousTestCase):
    """Pulsar's rack configuration."""

    def test_racks(self) -> None:
        """Racks are taken from every group; a slash before them may be missing."""
        stored = {
            "default": {
                "10.0.0.1:3181": {"rack": "/room/r1", "hostname": "bk1"},
                "bk2": {"rack": " r2 ", "hostname": None},
            },
            "other": {"bk3:3181": {"rack": "/r3", "hostname": "", "added later": 1}},
        }  # fmt: skip
        racks = decode_racks(json.dumps(stored).encode())
        self.assertEqual(racks, {"10.0.0.1:3181": "/room/r1", "bk2": "/r2", "bk3:3181": "/r3"})

    def test_no_rack(self) -> None:
        """A bookie without a rack has none, whatever stands in its place; no groups are no racks."""
        stored = {"default": {"a": {"rack": "/"}, "b": {"rack": ""}, "c": {"rack": None}, "d": {}}}
        self.assertEqual(decode_racks(json.dumps(stored).encode()), {})
        self.assertEqual(decode_racks(b"{}"), {})

    def test_garbage(self) -> None:
        """What is no rack configuration is refused, and the place in it is named."""
        for data, place in (
            (b"", "not JSON"), (b"[]", "rack configuration: expected"), (b"null", "rack configuration: expected"),
            (b'{"g": 7}', "group 'g'"), (b'{"g": {"b": "/r1"}}', "bookie 'b'"),
            (b'{"g": {"b": {"rack": 7}}}', "bookie 'b'"), (b"[" * 100_000, "not JSON"), (b"\xff", "not JSON"),
        ):  # fmt: skip
            self.assertIn(place, str(self.assertRaises(CodecError, decode_racks, data)))
