"""The checks that protect an HTTP server against pages of other web sites in a browser of its users.

First danger (DNS rebinding): a web site lets its own domain name resolve to this machine.  A script of this site, in a
user's browser, can then send requests to the HTTP server and read the answers.  But the browser sends the name of the
site in the header ``Host``, so the server refuses such requests.

Second danger (cross-site request forgery): a page of any site sends simple requests to this server, with the
credentials of the user's browser, although it cannot read the answers.  The server recognizes such requests by the
headers ``Sec-Fetch-Site`` and ``Origin``, which browsers send.  Other clients send neither header.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

from twisted.web.http import Request

_OWN = frozenset({"same-origin", "none"})
"""Permitted values of ``Sec-Fetch-Site``.  Browsers send ``same-origin`` for requests of the server's own pages, and
``none`` for an address that the user has typed.
"""

_NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
_SCHEMES = {"http://": ":80", "https://": ":443"}
_READING = frozenset({b"GET", b"HEAD"})

_SHOWN = 100

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<name>[^\[\]:/@\s]+?)\.?)(?::\d*)?")


class HostNames:
    """The values of the header ``Host`` that a server accepts: configured names, ``localhost`` and all IP addresses.

    IP addresses and ``localhost`` are safe, because a web site can only let names of its own domain resolve to this
    machine.

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

    def foreign(self, request: Request, entry: bytes) -> str:
        """Return why a ``request`` seems to be sent by a page of another web site; an empty text if it does not.

        :param entry: the path of the page to which other sites may link.
        """
        site, origin = request.getHeader("Sec-Fetch-Site") or "none", request.getHeader("Origin")
        is_link = request.method in _READING and request.path.rstrip(b"/") == entry
        is_link = is_link and all(request.getHeader(name) == value for name, value in _NAVIGATION.items())
        if site not in _OWN and not is_link:
            return f"a page of another site sent this request (Sec-Fetch-Site: {site[:_SHOWN]})"
        if origin is not None and not self._is_own(origin, request.getHeader("Host") or ""):
            return f"a page of {origin[:_SHOWN]} sent this request; httpServerAllowedHosts allows further names"
        return ""

    def _is_own(self, origin: str, host: str) -> bool:
        """Test whether the header ``Origin`` names this server: it must match the header ``Host`` or a configured name.

        :param origin: the value of ``Origin``.
        :param host: the value of ``Host``.
        """
        if "*" in self._names:
            return True
        scheme = next((each for each in _SCHEMES if origin.startswith(each)), "")
        authority = origin.removeprefix(scheme).lower()
        found = _HOST.fullmatch(authority)
        if not scheme or found is None:
            return False
        port = _SCHEMES[scheme]
        same = authority.removesuffix(port) == host.strip().lower().removesuffix(port)
        return same or (found["six"] or found["name"]) in self._names


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
