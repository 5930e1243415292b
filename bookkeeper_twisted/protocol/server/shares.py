"""The shares of a bookie's connections that one address and one principal can have."""

from collections import Counter
from typing import Generic, Protocol, TypeVar

from ...security.principals import Principal
from .limits import ServerLimits


class SharedConnection(Protocol):
    """A connection from an address, whose peer may prove who it is."""

    host: str
    principal: Principal


C = TypeVar("C", bound=SharedConnection)


class ConnectionShares(Generic[C]):
    """The numbers of open connections by address and by principal, to limit both (safety rule S11)."""

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
        """Count a new ``connection`` towards the share of its address."""
        self._by_host[connection.host] += 1

    def identified(self, connection: C) -> bool:
        """Count a ``connection`` towards the share of its principal, which is known from now on.

        :returns: False if the principal has too many: the caller ends the connection.
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
        """Subtract an ended ``connection`` from the shares of its address and its principal."""
        self._give(self._by_host, connection.host)
        principal = self._identified.pop(connection, None)
        if principal is not None:
            self._give(self._by_principal, principal)

    def _give(self, counts: "Counter[str] | Counter[Principal]", key: "str | Principal") -> None:
        counts[key] -= 1  # type: ignore[index]
        if not counts[key]:  # type: ignore[index]
            del counts[key]  # type: ignore[arg-type]
