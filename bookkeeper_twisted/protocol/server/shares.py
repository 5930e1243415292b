"""Limits the number of connections to a bookie from one address, and of one principal."""

from collections import Counter
from typing import Generic, Protocol, TypeVar

from ...security.principals import Principal
from .limits import ServerLimits


class SharedConnection(Protocol):
    """A connection with the address of its peer, and the peer's principal once it is authenticated."""

    host: str
    principal: Principal


C = TypeVar("C", bound=SharedConnection)


class ConnectionShares(Generic[C]):
    """The number of open connections of each address and of each principal."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_host: Counter[str] = Counter()
        self._by_principal: Counter[Principal] = Counter()
        self._identified: dict[C, Principal] = {}

    def may_connect(self, connection: C) -> bool:
        """Test whether the address of a new ``connection`` may have one more connection."""
        most = self._limits.max_connections_per_address
        return not most or self._by_host[connection.host] < most

    def connected(self, connection: C) -> None:
        """Count a new ``connection`` among those of its address."""
        self._by_host[connection.host] += 1

    def identified(self, connection: C) -> bool:
        """Count a ``connection`` among those of its principal; call this when the principal is known.

        :returns: False if the principal has too many connections; the caller must then close this connection.
        """
        most, principal = self._limits.max_connections_per_principal, connection.principal
        if not most or principal.kind == "none" or connection in self._identified:
            return True
        if self._by_principal[principal] >= most:
            return False
        self._by_principal[principal] += 1
        self._identified[connection] = principal
        return True

    def left(self, connection: C) -> None:
        """Subtract an ended ``connection`` from the numbers of its address and its principal."""
        self._give(self._by_host, connection.host)
        principal = self._identified.pop(connection, None)
        if principal is not None:
            self._give(self._by_principal, principal)

    def _give(self, counts: "Counter[str] | Counter[Principal]", key: "str | Principal") -> None:
        counts[key] -= 1  # type: ignore[index]
        if not counts[key]:  # type: ignore[index]
            del counts[key]  # type: ignore[arg-type]
