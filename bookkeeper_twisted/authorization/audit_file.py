"""The file of the audit log: lines are appended to the file; after a rename (log rotation), a new file is created."""

import os
import stat

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_PRIVATE = 0o600


class AuditFile:
    """A file to which lines are appended; only the owner may read it.  Only one thread at a time may use this object.

    If a line cannot be written completely, its first part is removed from the file again.

    :ivar error: why the last write failed; None if it succeeded.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.error: BaseException | None = None
        self._descriptor = -1
        self._is_cut = False

    def open(self) -> None:
        """Open the file, unless it is open; create it if it does not exist.

        :raises OSError: the file cannot be opened or created.
        :raises ValueError: the file is not a regular file.
        """
        if self._descriptor >= 0:
            return
        descriptor = os.open(self.path, _FLAGS, _PRIVATE)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise ValueError(f"{self.path} is no regular file")
        self._descriptor = descriptor
        # If the previous process crashed in the middle of a line, the next write must first end this line.
        self._is_cut = found.st_size > 0 and os.pread(descriptor, 1, found.st_size - 1) != b"\n"

    def write(self, lines: list[bytes]) -> int:
        """Append ``lines``; create a new file for them if the present file was renamed or removed.

        :returns: the number of lines that were written completely; if some are missing, :attr:`error` is the reason.
        """
        self.error = None
        try:
            self._leave_renamed()
            self.open()
            if self._is_cut and not self._append(b"\n"):
                return 0
            data = b"".join(lines)
            written = self._append(data)
            if self._is_cut:
                self._remove_part(written - (data.rfind(b"\n", 0, written) + 1))
        except (OSError, ValueError) as error:
            self.error = error
            return 0
        if written == len(data):
            return len(lines)
        return self._whole_lines(lines, written)

    def _append(self, data: bytes) -> int:
        """Append as many of the bytes as possible; return their number."""
        done = 0
        while done < len(data):
            try:
                done += os.write(self._descriptor, data[done:])
            except OSError as error:
                self.error = error
                break
        if done:
            self._is_cut = data[done - 1] != 0x0A
        return done

    def _remove_part(self, size: int) -> None:
        """Remove the first part of a line from the end of the file, unless another process has changed the file.

        :param size: number of bytes of the part.
        """
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)  # in append mode: the size of the file after the last write
        try:
            if os.fstat(self._descriptor).st_size == end:
                os.ftruncate(self._descriptor, end - size)
                self._is_cut = False
        except OSError:
            pass  # for example, the file system permits only appending; the next write ends the line

    def _whole_lines(self, lines: list[bytes], written: int) -> int:
        count = 0
        for line in lines:
            written -= len(line)
            if written < 0:
                break
            count += 1
        return count

    def _leave_renamed(self) -> None:
        """Close the file if it was renamed or removed, for example by log rotation."""
        if self._descriptor < 0:
            return
        ours = os.fstat(self._descriptor)
        try:
            now = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            now = None
        if now is None or (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino):
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def close(self) -> None:
        """Fsync and close the file.

        :raises OSError: the disk cannot store the written lines.
        """
        if self._descriptor >= 0:
            try:
                os.fdatasync(self._descriptor)
            finally:
                self._close()
