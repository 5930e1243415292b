"""Users and passwords from a JAAS file that may change while the process runs."""

from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.logger import Logger

from ...errors import ConfigError
from .jaas import JaasSection, read_jaas
from .jaas_file import JaasFile

REFRESH = 5.0
"""Seconds between two looks at the file."""

T = TypeVar("T")


class JaasCredentials(Generic[T]):
    """The users of a bookie, or the user of a client, from a section of a file; read again when the file has changed.

    :param section: the name of the section.
    :param make: returns the users or the user of the section; raises ConfigError if the section has none.
    :param seconds: a clock.
    :raises ConfigError: the file cannot be used.
    """

    _log = Logger()

    def __init__(
        self, file: JaasFile, section: str, make: Callable[[JaasSection], T], seconds: Callable[[], float]
    ) -> None:
        self._file = file
        self._section = section
        self._make = make
        self._seconds = seconds
        self._looked = seconds()
        # the look comes before the reading, so that the next look finds a change in between
        self._seen = file.look()
        self._made = self._read(warns=True)

    def get(self) -> T:
        """Return the newest credentials that could be read."""
        now = self._seconds()
        if not 0 <= now - self._looked < REFRESH:
            self._looked = now
            seen = self._file.look()
            if seen != self._seen:
                self._seen = seen
                self._renew()
        return self._made

    def _renew(self) -> None:
        try:
            self._made = self._read(warns=False)
        except ConfigError as error:
            self._log.error(
                "the users have changed and cannot be used, the previous ones stay in use: {reason}", reason=str(error)
            )
        else:
            self._log.info("the users of {path} have changed: new connections use the new ones", path=self._file.path)

    def _read(self, warns: bool) -> T:
        read = self._file.read()
        if warns and read.is_open:
            self._log.warn(
                "every user of this machine can read the passwords in {path}: it should have mode 0600",
                path=self._file.path,
            )  # fmt: skip
        try:
            sections = read_jaas(read.text)
            section = sections.get(self._section)
            if section is None:
                known = ", ".join(map(repr, sections)) or "none"
                raise ConfigError(f"it has no section {self._section!r}; its sections: {known}")
            return self._make(section)
        except ConfigError as error:
            reason = str(error)
        raise self._file.refusal(reason)
