"""The interfaces of authorization: an authorizer decides, and a plugin makes the authorizer of a process."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import Attribute, Interface

from ..config.bookie import BookieConfig
from ..security.principals import Principal


class Permission(StrEnum):
    """The permissions that a peer can have; each value is the name used in rules, the audit log and metrics.

    A fencing read needs ``FENCE`` and ``READ``.  A recovery add needs ``FENCE``.
    """

    WRITE = "write"
    FENCE = "fence"
    READ = "read"
    WRITE_LAC = "write_lac"
    LIST = "list"
    INFO = "info"
    FORCE = "force"
    DELETE = "delete"
    ADMIN_GET = "admin:get"
    ADMIN_PUT = "admin:put"
    ADMIN_DELETE = "admin:delete"


ADMINISTRATION = frozenset({Permission.ADMIN_GET, Permission.ADMIN_PUT, Permission.ADMIN_DELETE})
"""The permissions for requests over HTTP that change something, by the verb of the request."""

ReadCustomMetadata = Callable[[int], Awaitable[Mapping[str, bytes]]]
"""Reads the custom metadata of a ledger from the metadata store; fails if the store does not know the ledger."""


@attrs.frozen
class Surroundings:
    """The objects that a plugin may use in addition to the configuration.

    :ivar clock: the reactor.
    :ivar custom_metadata: reads the custom metadata of a ledger.
    """

    clock: IReactorTime
    custom_metadata: ReadCustomMetadata


class IAuthorizer(Interface):
    """Decides for one process which principal may do what with which ledger.  Called on the reactor thread."""

    revision: int = Attribute(
        "A number that changes whenever an earlier decision may have become wrong: kept decisions are then dropped."
    )

    def decide(principal: Principal, action: Permission, ledger_id: int | None) -> "bool | Deferred[bool]":
        """Decide whether a principal has a permission for a ledger.

        As long as :attr:`revision` does not change, the same call gives the same decision.

        :param action: the permission.
        :param ledger_id: id of the ledger, which need not exist; None if the request is about no ledger.
        :returns: the decision, or a Deferred for it if metadata must be read first.  If the Deferred fails, the
            request is refused.  Cancelling the Deferred ends only the wait of this caller.
        """

    def start() -> None:
        """Begin to look for changed rules; called one time, before the first connection."""

    def stop() -> None:
        """Stop looking for changed rules, and cancel reads of the metadata store in progress."""


class IAuthorizerPlugin(Interface):
    """A plugin that makes authorizers, which decide who may do what with which ledger."""

    names: frozenset[str] = Attribute("Values of ``authorizerClass`` it answers to.")

    def make(config: BookieConfig, surroundings: Surroundings) -> IAuthorizer | None:
        """Return the authorizer of a process; None if everybody may do everything.

        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration.
        """
