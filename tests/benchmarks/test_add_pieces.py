"""``python -m benchmarks pieces``: the halves of a lone add."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.bookie.pieces import PIECES, LoneAdds, summary


class PiecesTests(SynchronousTestCase):
    """A bookie in this process, turned by hand."""

    def test_adds(self) -> None:
        """Adds of both protocols are acknowledged one by one, and each is measured."""
        for wire in (2, 3):
            folder = Path(self.mktemp()).absolute()
            folder.mkdir()
            adds = LoneAdds(folder, wire, 100)
            found = [*adds.run(2), *adds.run(3)]
            adds.close()
            self.assertEqual([len(each) for each in found], [len(PIECES)] * 5)

    def test_summary(self) -> None:
        """Of each piece the least and the median, in microseconds."""
        adds = [(1e-6, 2e-6, 3e-6, 9e-6), (3e-6, 1e-6, 4e-6, 5e-6), (2e-6, 8e-6, 10e-6, 7e-6)]
        expected = [(1.0, 2.0), (1.0, 2.0), (3.0, 4.0), (5.0, 7.0)]
        self.assertEqual(summary(adds), dict(zip(PIECES, expected, strict=True)))
