"""Adds made of sealed entries."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.writing.frame_shape import V2Shape
from bookkeeper_twisted.codec import v2
from bookkeeper_twisted.codec.digest import Digester
from bookkeeper_twisted.model import DigestType
from bookkeeper_twisted.testing.adds import adds_of


class AddsTests(SynchronousTestCase):
    """Every digest."""

    def test_frames(self) -> None:
        """They are the frames of the codec, whatever stands between header and payload."""
        for digest_type in DigestType:
            digester = Digester(digest_type, b"")
            for payloads in ([b"ab"] * 5, [b"", b"abc"]):
                run = digester.seal(7, 5, 3, 100, payloads)
                adds = adds_of(V2Shape(7, 0, digester.master_key, 2), run)
                self.assertEqual((adds.ledger_id, adds.first, adds.count), (7, 5, len(payloads)))
                self.assertEqual(adds.requests(2, 0), v2.encode_adds(digester.master_key, run, 2))
