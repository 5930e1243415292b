"""The file of rules: reads it, and notices when it has changed."""

import os
import stat

from ..security.files import file_error, identity_of, read_text

MOST_BYTES = 256 * 1024
_KEY = "authorizationRules"


class RulesFile:
    """A file of rules."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None

    def read(self) -> str:
        """Return the text of the file.

        :raises ConfigError: it cannot be read, is no regular file, is too large, everybody may write to it, or it is
            not UTF-8.
        """
        self._seen = identity_of(self.path)  # before the file is read, so that the next look finds a change in between
        text = read_text(_KEY, self.path, MOST_BYTES)
        try:
            mode = os.stat(self.path).st_mode
        except OSError as error:
            raise file_error(_KEY, self.path, error.strerror or "it has vanished") from None
        if mode & stat.S_IWOTH:
            raise file_error(_KEY, self.path, "it can be written by everybody (chmod o-w)")
        return text

    def has_changed(self) -> bool:
        """Test whether the file was replaced or changed since the last call or read.

        If the file has disappeared, this counts as one change.

        """
        now = identity_of(self.path)
        changed, self._seen = now != self._seen, now
        return changed
