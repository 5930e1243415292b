"""The links between nodes."""

from twisted.trial.unittest import SynchronousTestCase

from . import Life, SimClock, stream
from .links import Links


class LinkTests(SynchronousTestCase):
    """:class:`Link` and :class:`Links`."""

    def setUp(self) -> None:
        self.sim = SimClock(stream(1, "ties"))
        self.links = Links(self.sim, stream(1, "network"))

    def test_directions(self) -> None:
        """Each direction has a link of its own, always the same."""
        self.assertIs(self.links.between("a", "b"), self.links.between("a", "b"))
        self.assertIsNot(self.links.between("a", "b"), self.links.between("b", "a"))

    def test_heal(self) -> None:
        """Healing ends every fault, and tells who waited for it, once."""
        link = self.links.between("a", "b")
        link.silent = link.ignores = link.refuses = True
        link.scale = 7
        heard: list[str] = []
        link.when_heard(lambda: heard.append("heard"))
        link.when_minded(lambda: heard.append("minded"))
        self.links.heal()
        self.links.heal()
        self.assertEqual(heard, ["heard", "minded"])
        self.assertEqual((link.silent, link.ignores, link.refuses, link.scale), (False, False, False, 1.0))

    def test_carry(self) -> None:
        """What is carried arrives, in a silence only behind it."""
        arrived: list[float] = []
        link = self.links.between("a", "b")
        link.silent = True
        self.links.carry("a", "b", Life(self.sim, "a"), lambda: arrived.append(self.sim.seconds()))
        self.sim.run_until(self.sim.seconds() + 5)
        self.assertEqual(arrived, [])
        link.heal()
        self.sim.run_until(self.sim.seconds() + 5)
        self.assertEqual(len(arrived), 1)
