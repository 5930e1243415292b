"""What bookies publish."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.metadata_formats import decode_service_info, encode_service_info
from bookkeeper_twisted.errors import CodecError
from bookkeeper_twisted.model import BookieServiceInfo, Endpoint
from tests.vectors.znodes import under

_text = st.text(max_size=6)
_texts = st.lists(_text, max_size=2).map(tuple)
_endpoints = st.builds(Endpoint, _text, _text, st.integers(-(1 << 31), (1 << 31) - 1), _text, _texts, _texts)


def _delimited(endpoint: bytes) -> bytes:
    return b"2%c" % len(endpoint) + endpoint


class ServiceInfoTests(SynchronousTestCase):
    """:func:`encode_service_info` and :func:`decode_service_info`."""

    def test_captured(self) -> None:
        """Writable and read-only bookies encode back to the same bytes and have the values of the capture."""
        nodes = under("/available/")
        self.assertTrue(any("/readonly/" in node.path for node in nodes))
        for node in nodes:
            info = decode_service_info(node.data, node.name)
            self.assertEqual(encode_service_info(info), node.data)
            expected = [
                Endpoint(e["id"], e["host"], e["port"], e["protocol"], tuple(e["auth"]), tuple(e["extensions"]))
                for e in node.raw["decoded"]["endpoints"]
            ]
            self.assertEqual(list(info.endpoints), expected)

    def test_example(self) -> None:
        """The worked example."""
        info = BookieServiceInfo((Endpoint("bookie", "10.0.0.1", 3181, "bookie-rpc"),))
        data = bytes.fromhex("32210a06626f6f6b696510ed181a0831302e302e302e31220a626f6f6b69652d727063")
        self.assertEqual(encode_service_info(info), data)
        self.assertEqual(decode_service_info(data, "x"), info)

    def test_old_bookies(self) -> None:
        """Nothing published: the address is the id, if the id is one."""
        info = BookieServiceInfo((Endpoint("bookie", "10.0.0.1", 3181, "bookie-rpc"),))
        self.assertEqual(decode_service_info(b"", "10.0.0.1:3181"), info)
        for bookie_id in ("bookie-four", "a:b", "a:1:2"):
            self.assertEqual(decode_service_info(b"", bookie_id), BookieServiceInfo())

    @given(st.builds(BookieServiceInfo, st.lists(_endpoints, max_size=3).map(tuple), st.dictionaries(_text, _text)))
    def test_round_trip(self, info: BookieServiceInfo) -> None:
        """Every value comes back, the empty one as an id without an address."""
        self.assertEqual(decode_service_info(encode_service_info(info), "id"), info)

    def test_port_out_of_range(self) -> None:
        """A number that does not fit is refused."""
        info = BookieServiceInfo((Endpoint("bookie", "h", 1 << 31, "bookie-rpc"),))
        self.assertRaises(CodecError, encode_service_info, info)

    @given(st.one_of(st.binary(min_size=1, max_size=40), st.binary(max_size=20).map(_delimited)))
    def test_arbitrary_bytes(self, data: bytes) -> None:
        """Arbitrary bytes are a service info or CodecError."""
        try:
            info = decode_service_info(data, "id")
        except CodecError:
            return
        texts = [text for e in info.endpoints for text in (e.id, e.host, e.protocol, *e.auth, *e.extensions)]
        for text in [*texts, *info.properties, *info.properties.values()]:
            self.assertIsInstance(text, str)

    def test_strings_that_are_not_utf_8(self) -> None:
        """Bytes where a string belongs are refused, in endpoints and in properties."""
        good = encode_service_info(BookieServiceInfo((Endpoint("bookie", "h", 1, "p"),), {"key": "value"}))
        for word in (b"bookie", b"key", b"value"):
            bad = good.replace(word, b"\xff" + word[1:])
            self.assertRaises(CodecError, decode_service_info, bad, "id")
