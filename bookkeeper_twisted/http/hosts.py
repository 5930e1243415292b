"""The check of the ``Host`` header, which protects an HTTP server against DNS rebinding.

A web site can let its own name resolve to this machine.  A script of the site in a user's browser could then use the
HTTP server here like its own.  But the browser sends the name of the site in the header ``Host``, so the server can
refuse such requests.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<name>[^\[\]:/@\s]+?)\.?)(?::\d*)?")


class HostNames:
    """The values of ``Host`` that a server accepts: given names, localhost and all IP addresses.

    A web site cannot rebind localhost or an IP address, because only names are resolved.

    :param names: accepted names, in upper or lower case; ``*`` accepts all.
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
