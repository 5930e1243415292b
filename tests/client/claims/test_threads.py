"""What the client knows of threads is true."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.client.claims.threads import system_threads

from ...bounds import in_thread, join


class SystemThreadsTests(SynchronousTestCase):
    """Real threads."""

    def test_reactor(self) -> None:
        """The thread that asks first is the reactor's, others are not."""
        threads = system_threads(None)
        seen: list[bool] = []
        join(in_thread(lambda: seen.append(threads.on_reactor())))
        self.assertEqual([threads.on_reactor(), *seen], [True, False])

    def test_alive(self) -> None:
        """A thread is alive until it ends."""
        threads = system_threads(None)
        questions = [threads.is_alive()]
        join(in_thread(lambda: questions.append(threads.is_alive())))
        self.assertEqual([alive() for alive in questions], [True, False])

    def test_signal(self) -> None:
        """A signal is waited for, or not for ever."""
        signal = system_threads(None).signal()
        self.assertFalse(signal.wait(0))
        signal.set()
        self.assertTrue(signal.wait())
        with system_threads(None).lock():
            pass

    def test_call(self) -> None:
        """The reactor is called from a thread in its own way."""
        called: list[object] = []

        class Reactor:
            def callFromThread(self, what: object) -> None:
                called.append(what)

        def what() -> None: ...

        system_threads(Reactor()).call(what)
        self.assertEqual(called, [what])

    def test_local(self) -> None:
        """What a thread keeps, another one does not see."""
        local, seen = system_threads(None).local(), []
        local.mine = 1
        join(in_thread(lambda: seen.append(hasattr(local, "mine"))))
        self.assertEqual((local.mine, seen), (1, [False]))
