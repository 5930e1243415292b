"""A JAAS file on disk: read whole if it is a small regular file, and looked at for changes."""

import os
import stat
from typing import NamedTuple

import attrs

from ...errors import ConfigError

KEY = "saslJaasConfig"
"""The key of the configuration that names the file; Java's processes have the property
``java.security.auth.login.config`` for that."""

MAX_FILE = 1 << 20
"""Bytes of the longest file."""

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # the last: a pipe without a writer must not hold up the process


class JaasLook(NamedTuple):
    """Identity, size and time of a file, by which a change is seen without reading it."""

    device: int
    inode: int
    size: int
    changed_ns: int


class JaasText(NamedTuple):
    """The content of a file.

    :ivar is_open: whether every user of the machine can read the file.
    """

    text: str
    is_open: bool


@attrs.frozen
class JaasFile:
    """The file of a configuration."""

    path: str

    def refusal(self, reason: str) -> ConfigError:
        """Return the error for a file that cannot be used.

        :param reason: why, without a password.
        """
        return ConfigError(f"{KEY} = {self.path!r}: {reason}")

    def look(self) -> JaasLook | None:
        """Look at the file; None if it cannot be found."""
        try:
            found = os.stat(self.path)
        except (OSError, ValueError):
            return None
        return JaasLook(found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns)

    def read(self) -> JaasText:
        """Read the file.

        :raises ConfigError: it cannot be read, or it is no regular file, too long or not UTF-8.
        """
        if not self.path:
            raise ConfigError(f"{KEY} is not set: it has to name a JAAS file")
        try:
            descriptor = os.open(self.path, _FLAGS)
            try:
                mode = os.fstat(descriptor).st_mode
                data = _read(descriptor) if stat.S_ISREG(mode) else None
            finally:
                os.close(descriptor)
        except (OSError, ValueError) as error:
            raise self.refusal(getattr(error, "strerror", None) or "it cannot be read") from None
        if data is None:
            raise self.refusal("it is no regular file")
        if len(data) > MAX_FILE:
            raise self.refusal(f"it has more than {MAX_FILE} bytes")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
        else:
            return JaasText(text, bool(mode & stat.S_IROTH))
        raise self.refusal(f"line {line}: it is not UTF-8")


def _read(descriptor: int) -> bytes:
    """Read a file to its end; of a file that is too long, read one byte more than is allowed."""
    parts: list[bytes] = []
    left = MAX_FILE + 1
    while left and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
