"""The file of rules: what it says now, and whether it has changed since it was read."""

import os
import stat

MOST_BYTES = 256 * 1024


class RulesFile:
    """A file of rules."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen: tuple[int, ...] = ()

    def read(self) -> str:
        """Return the text of the file.

        :raises OSError: the file cannot be read.
        :raises ValueError: it is no regular file, is too large, everybody may write to it, or it is not UTF-8.
        """
        # a FIFO would block the process: it is opened without waiting for a writer, and then refused
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            self._seen = _signature(status)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError(f"{self.path} is no regular file")
            if status.st_mode & stat.S_IWOTH:
                raise ValueError(f"{self.path} can be written by everybody")
            data = b""
            while len(data) <= MOST_BYTES and (piece := os.read(descriptor, MOST_BYTES + 1 - len(data))):
                data += piece
        finally:
            os.close(descriptor)
        if len(data) > MOST_BYTES:
            raise ValueError(f"{self.path} has more than {MOST_BYTES} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{self.path} is not UTF-8") from None

    def has_changed(self) -> bool:
        """Test whether the file is another one, or has other contents, than when it was last looked at.

        A file that has vanished has changed once.
        """
        try:
            now = _signature(os.stat(self.path))
        except OSError as error:
            now = (error.errno or 0,)
        changed, self._seen = now != self._seen, now
        return changed


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
