"""The protobuf runtime: which one, and how it is asked."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.protobuf import parse, require_upb, text, wire_pb


class RuntimeTests(SynchronousTestCase):
    """Only upb will do."""

    def test_other_runtimes(self) -> None:
        """Another implementation is refused, with what to do about it."""
        for runtime in ("python", "cpp"):
            error = self.assertRaises(ImportError, require_upb, runtime)
            self.assertIn("upb", str(error))
        require_upb("upb")


class ParseTests(SynchronousTestCase):
    """What counts as readable."""

    def test_unreadable(self) -> None:
        """An empty frame, an unknown operation, an unknown version and a cut message are no requests."""
        for data in ("", "0a060803100d1801", "0a06080410011801", "0a0608031001", "02010000"):
            self.assertIsNone(parse(wire_pb.Request, bytes.fromhex(data)), data)

    def test_readable(self) -> None:
        """Unknown fields are passed over."""
        request = parse(wire_pb.Request, bytes.fromhex("0a06080310011801ba3e03616263"))
        assert request is not None
        self.assertEqual(request.header.txnId, 1)

    def test_text(self) -> None:
        """A name that is no UTF-8 is read as far as it goes, as Java does."""
        message = parse(wire_pb.AuthMessage, b"\x0a\x03a\xff\xfe\x12\x00")
        assert message is not None
        self.assertEqual(text(message.authPluginName), "a\ufffd\ufffd")
        self.assertEqual(text("sasl"), "sasl")
