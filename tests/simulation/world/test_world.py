"""What all nodes share."""

from twisted.trial.unittest import SynchronousTestCase

from . import World


class WorldTests(SynchronousTestCase):
    """:class:`World`."""

    def test_streams(self) -> None:
        """The streams of two worlds are the same if their seeds are."""
        one, same, other = World(1), World(1), World(2)
        self.assertEqual(one.stream("a").random(), same.stream("a").random())
        self.assertNotEqual(one.stream("a").random(), other.stream("a").random())

    def test_after(self) -> None:
        """What happens to the world happens at its time."""
        world, seen = World(1), list[int]()
        world.after(5, seen.append, 1)
        world.sim.run_until(world.sim.seconds() + 4)
        self.assertEqual(seen, [])
        world.sim.run_until(world.sim.seconds() + 2)
        self.assertEqual(seen, [1])
