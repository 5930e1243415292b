"""Session files: alive as long as their lock is held."""

import fcntl
import os

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.metadata.embedded.sqlite_sessions import SessionFiles

from ...pipes import refuse_to_wait
from ...storage.system_calls import SystemCalls


class SessionFilesTests(SynchronousTestCase):
    """:class:`SessionFiles`; two objects stand for two processes, whose locks exclude each other alike."""

    def setUp(self) -> None:
        self.folder = self.mktemp()
        self.one, self.two = SessionFiles(self.folder), SessionFiles(self.folder)
        for files in (self.one, self.two):
            files.unlock_opening(files.lock_opening())
            self.addCleanup(files.end)

    def test_alive(self) -> None:
        """Sessions see each other and themselves as alive, over and over."""
        self.one.begin()
        self.two.begin()
        self.assertNotEqual(self.one.session_id, self.two.session_id)
        for _ in range(3):
            for asking in (self.one, self.two):
                self.assertTrue(asking.is_alive(self.one.session_id))
                self.assertTrue(asking.is_alive(self.two.session_id))

    def test_ended(self) -> None:
        """An ended session is dead and leaves no file; ending again is harmless."""
        self.one.begin()
        session_id = self.one.session_id
        self.one.end()
        self.one.end()
        self.assertFalse(self.two.is_alive(session_id))
        self.assertEqual(os.listdir(self.folder), ["opening"])

    def test_killed(self) -> None:
        """A file without a lock is that of a dead session; the next session to begin removes it."""
        with open(os.path.join(self.folder, "killed"), "wb"):
            pass
        self.assertFalse(self.one.is_alive("killed"))
        self.one.begin()
        self.two.begin()
        self.assertNotIn("killed", os.listdir(self.folder))
        self.assertIn(self.one.session_id, os.listdir(self.folder))

    def test_pipe(self) -> None:
        """A pipe in the place of a session file is a dead session, and nobody waits for its writer."""
        os.mkfifo(os.path.join(self.folder, "pipe"))
        refuse_to_wait(self)
        self.assertFalse(self.one.is_alive("pipe"))
        self.one.begin()
        self.assertNotIn("pipe", os.listdir(self.folder))

    def test_store_is_removed_last(self) -> None:
        """A crash while a store is removed never leaves its log without its file, which the next start would refuse."""
        path = self.mktemp()
        for suffix in ("", "-wal", "-shm", "-reserve"):
            with open(path + suffix, "wb") as file:
                file.write(b"content")
        removed: list[str] = []
        unlink = os.unlink

        def noted(name: str) -> None:
            removed.append(name)
            unlink(name)

        self.patch(os, "unlink", noted)
        self.one.remove_all(path)
        self.assertLess(removed.index(f"{path}-wal"), removed.index(path))

    def test_removed_before_it_was_locked(self) -> None:
        """A session whose new file another one took for dead and removed makes itself another."""
        lock = fcntl.flock
        removed: list[str] = []

        def remove_first(file: int, operation: int) -> None:
            if operation == fcntl.LOCK_EX and not removed:
                removed.extend(name for name in os.listdir(self.folder) if name != "opening")
                for name in removed:
                    os.unlink(os.path.join(self.folder, name))
            lock(file, operation)

        self.patch(fcntl, "flock", remove_first)
        self.one.begin()
        self.assertEqual(len(removed), 1)
        self.assertIn(self.one.session_id, os.listdir(self.folder))
        self.assertTrue(self.two.is_alive(self.one.session_id))

    def test_probes_leave_nothing_open(self) -> None:
        """Asking for sessions, dead or alive, leaves no descriptor and no lock behind."""
        self.one.begin()
        with open(os.path.join(self.folder, "killed"), "wb") as file:
            before = len(os.listdir("/proc/self/fd"))
            for session_id in (self.one.session_id, "killed", "never") * 3:
                self.two.is_alive(session_id)
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_unknown(self) -> None:
        """A session without a file is dead."""
        self.assertFalse(self.one.is_alive("never"))

    def test_new_folders(self) -> None:
        """The names of new folders are durable, the upper ones first, so that no store vanishes with them."""
        base = os.path.abspath(self.mktemp())
        os.mkdir(base)
        files = SessionFiles(os.path.join(base, "deep", "sessions"))
        calls = SystemCalls(self)
        for expected in ([("fsync", base), ("fsync", os.path.join(base, "deep"))], []):
            calls.made.clear()
            files.unlock_opening(files.lock_opening())
            self.assertEqual(calls.named("fsync"), expected)

    def test_folder_missing(self) -> None:
        """Without the folder there is an error, not a session."""
        files = SessionFiles(self.mktemp())
        self.assertRaises(OSError, files.begin)
        self.assertEqual(files.session_id, "")
