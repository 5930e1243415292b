"""Users and passwords from a JAAS file that may change while the process runs."""

from collections.abc import Callable
from typing import TypeVar

from ...errors import ConfigError
from ...security.files import FromFiles, file_error, read_text
from .jaas import JaasSection, read_jaas

KEY = "saslJaasConfig"
"""The key of the configuration that names the JAAS file.

Java programs use the system property ``java.security.auth.login.config`` instead.
"""

MAX_FILE = 1 << 20
"""Maximum number of bytes that a JAAS file may have."""

T = TypeVar("T")


def jaas_credentials(
    path: str, section: str, make: Callable[[JaasSection], T], seconds: Callable[[], float]
) -> FromFiles[T]:
    """Return the users of a bookie, or the user of a client, from a section of a JAAS file.

    If every user of the machine can read the file, a warning is logged.

    :param path: path of the file, which is read again when it has changed.
    :param section: the name of the section.
    :param make: makes the result from the section; raises ConfigError if the section contains no user.
    :param seconds: a function that returns the time in seconds.
    :raises ConfigError: the file cannot be used.
    """
    if not path:
        raise ConfigError(f"{KEY} is not set: it has to name a JAAS file")
    is_start = True

    def read() -> T:
        nonlocal is_start
        text = read_text(KEY, path, MAX_FILE, secret=is_start)
        is_start = False
        try:
            return make(_section(text, section))
        except ConfigError as error:
            reason = str(error)
        raise file_error(KEY, path, reason)

    return FromFiles(f"the users of {path}", (path,), read, seconds)


def _section(text: str, name: str) -> JaasSection:
    sections = read_jaas(text)
    if name not in sections:
        known = ", ".join(map(repr, sections)) or "none"
        raise ConfigError(f"it has no section {name!r}; its sections: {known}")
    return sections[name]
