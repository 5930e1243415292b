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
"""The permissions for administrative HTTP requests with the methods GET, PUT and DELETE."""

ReadCustomMetadata = Callable[[int], Awaitable[Mapping[str, bytes]]]
"""A function that reads the custom metadata of a ledger from the metadata store; fails if the ledger does not exist."""


@attrs.frozen
class Surroundings:
    """The objects that a plugin may use in addition to the configuration.

    :ivar clock: the reactor, as a clock.
    :ivar custom_metadata: a function that reads the custom metadata of a ledger.
    """

    clock: IReactorTime
    custom_metadata: ReadCustomMetadata


class IAuthorizer(Interface):
    """An authorizer: it decides whether a principal has a permission for a ledger.  Called on the reactor thread."""

    revision: int = Attribute(
        "A number that changes whenever an earlier decision may have become wrong: kept decisions are then dropped."
    )

    def decide(principal: Principal, action: Permission, ledger_id: int | None) -> "bool | Deferred[bool]":
        """Decide whether a principal has a permission for a ledger.

        As long as :attr:`revision` does not change, the same call gives the same decision.

        :param action: the permission.
        :param ledger_id: id of the ledger, which need not exist; None if the request is about no ledger.
        :returns: the decision, or a Deferred for the decision if metadata must be read first.  If the Deferred fails,
            the request is refused.  If a caller cancels its Deferred, other callers that wait for the same metadata
            still get their decisions.
        """

    def start() -> None:
        """Begin to check the rules for changes; called once, before the first connection."""

    def stop() -> None:
        """Stop checking the rules for changes, and cancel reads of the metadata store in progress."""


class IAuthorizerPlugin(Interface):
    """A plugin that makes authorizers, the objects that allow or refuse requests."""

    names: frozenset[str] = Attribute("Values of ``authorizerClass`` it answers to.")

    def make(config: BookieConfig, surroundings: Surroundings) -> IAuthorizer | None:
        """Return the authorizer of a process; None if everybody may do everything.

        :param config: the configuration of the bookie.
        :param surroundings: a clock, and a function that reads the custom metadata of ledgers; the authorizer may use
            them for its decisions.
        :raises bookkeeper_twisted.errors.ConfigError: the plugin cannot use this configuration.
        """
