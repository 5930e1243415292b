"""An authorizer for tests, which answers immediately or when a test says so."""

from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ..authorization.interfaces import IAuthorizer, IAuthorizerPlugin, Permission, Surroundings
from ..config.bookie import BookieConfig
from ..security.principals import Principal

Allows = Callable[[Principal, Permission, int | None], bool]


def everything(principal: Principal, action: Permission, ledger_id: int | None) -> bool:
    """Allow everything."""
    return True


@implementer(IAuthorizerPlugin, IAuthorizer)
@attrs.define(eq=False)
class FakeAuthorizer:
    """A fake authorizer for tests; the same object is also the plugin that makes it.

    :ivar allows: the function that decides: it returns True to allow an action.
    :ivar is_late: whether decisions wait until the test calls :meth:`answer`.
    :ivar asked: the arguments of all calls of :meth:`decide` so far, in order.
    :ivar is_running: whether the authorizer was started, and not stopped since then.
    """

    allows: Allows = everything
    is_late: bool = False
    revision: int = 0
    asked: list[tuple[Principal, Permission, int | None]] = attrs.field(factory=list)
    waiting: "list[tuple[Deferred[bool], tuple[Principal, Permission, int | None]]]" = attrs.field(factory=list)
    is_running: bool = False
    names: frozenset[str] = frozenset({"fake"})

    def make(self, config: BookieConfig, surroundings: Surroundings) -> "FakeAuthorizer":
        """Return this object, which is also the authorizer."""
        return self

    def start(self) -> None:
        """Record that the authorizer runs."""
        self.is_running = True

    def stop(self) -> None:
        """Record that the authorizer is stopped, and cancel all decisions that wait for :meth:`answer`."""
        self.is_running = False
        for wait, _ in list(self.waiting):
            wait.cancel()

    def decide(self, principal: Principal, action: Permission, ledger_id: int | None) -> "bool | Deferred[bool]":
        """Decide whether a principal has a permission for a ledger.

        See :meth:`~bookkeeper_twisted.authorization.interfaces.IAuthorizer.decide` for parameters and errors.
        """
        question = principal, action, ledger_id
        self.asked.append(question)
        if not self.is_late:
            return self.allows(*question)
        wait: Deferred[bool] = Deferred(self._forget)
        self.waiting.append((wait, question))
        return wait

    def _forget(self, cancelled: "Deferred[bool]") -> None:
        self.waiting = [(wait, question) for wait, question in self.waiting if wait is not cancelled]

    def answer(self, error: Exception | None = None) -> None:
        """Make all waiting decisions: fail them with ``error``, or without an error, decide by :attr:`allows`."""
        waiting, self.waiting = self.waiting, []
        for wait, question in waiting:
            if error is None:
                wait.callback(self.allows(*question))
            else:
                wait.errback(error)

    def change(self, allows: Allows) -> None:
        """Replace the function that decides by ``allows``."""
        self.allows = allows
        self.revision += 1
