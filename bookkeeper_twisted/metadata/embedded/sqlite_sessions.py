"""Sessions of processes, which last as long as file locks; they need no heartbeats and no timeouts.

Each open driver has one file in a folder, and holds an exclusive lock on this file.  The kernel releases the lock when
the process ends, even by a crash.  So if another process can get a shared lock on the file, the session has ended.
This test never waits for the lock, and several processes can make it at the same time.
"""

import fcntl
import os
import uuid

from ...sqlite_files import PRIVATE_FILE

OPENING = "opening"

_PRIVATE_DIRECTORY = 0o700


def is_file(path: str) -> bool:
    """Test whether ``path`` is a regular file, or a link to one."""
    return os.path.isfile(path)


def file_identity(path: str) -> tuple[int, int] | None:
    """Return the device and the inode of the file at ``path``; None if no such file exists."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class SessionFiles:
    """The session files of one store: the file of this driver's session, and those of other drivers.

    :ivar session_id: id of this driver's session; empty before the session begins and after it has ended.
    """

    def __init__(self, folder: str) -> None:
        self.session_id = ""
        self._folder = folder
        self._held = -1

    def begin(self) -> None:
        """Remove the files of dead sessions; make and lock the session file of this driver.

        :raises OSError: the folder cannot be used.
        """
        for name in os.listdir(self._folder):
            if name != OPENING and not self.is_alive(name):
                self._unlink(name)
        session_id = uuid.uuid4().hex
        while self._held < 0:
            file = os.open(self._path(session_id), os.O_CREAT | os.O_RDWR, PRIVATE_FILE)
            fcntl.flock(file, fcntl.LOCK_EX)
            if self._is_path_of(session_id, file):
                self._held = file
            else:  # before this process locked the file, another process removed it as the file of a dead session
                os.close(file)
        self.session_id = session_id

    def end(self) -> None:
        """Remove the session file of this driver; do nothing if no session has begun."""
        if self._held >= 0:
            self._unlink(self.session_id)
            os.close(self._held)
            self._held, self.session_id = -1, ""

    def is_alive(self, session_id: str) -> bool:
        """Test, without waiting, whether a process still holds the lock of a session's file.

        :param session_id: id of the session, which is the name of its file.
        """
        if session_id == self.session_id:
            return True
        try:
            # without O_NONBLOCK, the open of a named pipe would wait for a writer
            file = os.open(self._path(session_id), os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def others(self) -> list[str]:
        """Return the ids of the live sessions of other drivers."""
        names = (name for name in os.listdir(self._folder) if name not in (OPENING, self.session_id))
        return [name for name in names if self.is_alive(name)]

    def remove_all(self, path: str) -> None:
        """Remove all files of the store at ``path``; the caller must hold the lock of :meth:`lock_opening`."""
        # remove the log (-wal) first, because a log without its database file would look like data loss
        for suffix in ("-wal", "-shm", "-reserve", ""):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
        for name in os.listdir(self._folder):
            self._unlink(name)
        os.rmdir(self._folder)

    def lock_opening(self) -> int:
        """Take the lock that a driver holds while it opens the store; wait while another driver holds the lock.

        :returns: a file descriptor for :meth:`unlock_opening`.
        :raises OSError: the folder of sessions cannot be made.
        """
        _make_folder(self._folder)
        file = os.open(self._path(OPENING), os.O_CREAT | os.O_RDWR, PRIVATE_FILE)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def unlock_opening(self, file: int) -> None:
        """Release the lock of :meth:`lock_opening`, so that the next driver can open the store.

        :param file: the descriptor that :meth:`lock_opening` returned; this call closes it.
        """
        os.close(file)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _is_path_of(self, name: str, file: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path(name)), os.fstat(file))
        except FileNotFoundError:
            return False

    def _unlink(self, name: str) -> None:
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:
            pass  # another process has removed the file already


def _make_folder(path: str) -> None:
    """Make a folder and its missing parents; fsync the parent of each new folder, so that a crash cannot remove it."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path) or os.curdir
    _make_folder(parent)
    try:
        os.mkdir(path, _PRIVATE_DIRECTORY)
    except FileExistsError:
        pass  # another process made this folder first
    directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
