"""The names under which an HTTP server answers.

A page of any site can have its own name resolve to this machine, and its scripts would then talk to the server as
their own (DNS rebinding).  The browser still sends the name of that site as ``Host``.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<name>[^\[\]:/@\s]+?)\.?)(?::\d*)?")


class HostNames:
    """The accepted values of ``Host``; localhost and IP addresses are always accepted, as they cannot be rebound.

    :param names: any case; ``*`` stands for all.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.strip().rstrip(".").lower() for name in names if name.strip())

    def allow(self, host: bytes) -> bool:
        """Test whether to accept a request whose header ``Host`` has the value ``host``."""
        if "*" in self._names:
            return True
        found = _HOST.fullmatch(host.decode("latin-1").strip())
        if found is None:
            return False
        name = (found["six"] or found["name"]).lower()
        return name == "localhost" or name.endswith(".localhost") or name in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
