"""Which bookies are gone."""

from .recovery_case import RecoveryCase


class PresenceTests(RecoveryCase):
    """:class:`Presence`."""

    def _lag(self) -> None:
        """The client's watch shows no change any more."""
        self.settle()
        self.bk.context.watcher._stop_watching()

    def test_watch_says_that_it_is_there(self) -> None:
        """What the watch shows is believed of all bookies but suspects."""
        self._lag()
        self.kill("b0:1")
        presence = self.presence()
        self.assertEqual(self.do(presence.gone(["b0:1", "b1:1"])), set())
        self.assertEqual(self.do(presence.gone(["b0:1", "b1:1"], ["b1:1"])), set())
        self.assertEqual(self.do(presence.gone(["b0:1", "b1:1"], ["b0:1"])), {"b0:1"})
        self.assertEqual(self.do(presence.gone(["b1:1"], ["b0:1"])), set())

    def test_earlier_answer(self) -> None:
        """The store is asked about suspects at each call, about others once a second."""
        presence = self.presence()
        self.kill("b0:1")
        self.assertEqual(self.do(presence.gone(["b0:1"])), {"b0:1"})
        self.kill("b1:1")
        self.assertEqual(self.do(presence.gone(["b1:1"])), set())
        self.assertEqual(self.do(presence.gone(["b1:1"], ["b1:1"])), {"b1:1"})
