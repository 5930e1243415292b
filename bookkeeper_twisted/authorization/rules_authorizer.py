"""The authorizer that follows a file of rules; changed rules also apply to open connections."""

from collections.abc import Mapping

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from zope.interface import implementer

from ..security.files import FromFiles, file_error, read_text
from ..security.principals import Principal
from .interfaces import IAuthorizer, Permission, Surroundings
from .look_ups import CustomMetadata
from .rules import Rule, Rules, parse

READ_AGAIN = 5.0
"""Seconds between two checks whether the file of rules has changed."""
MOST_BYTES = 256 * 1024
"""Maximum number of bytes that a file of rules may have."""

_KEY = "authorizationRules"
_MOST_PRINCIPALS = 1_000
_MOST_TRIES = 3


@implementer(IAuthorizer)
class RulesAuthorizer:
    """The authorizer that decides by the rules in one file.

    :ivar revision: how often the rules have been replaced by changed rules.
    :raises ConfigError: the file cannot be read, everybody may write to it, or one of its lines is not a rule.
    """

    def __init__(self, path: str, surroundings: Surroundings) -> None:
        self.revision = 0
        self._path = path
        self._clock = surroundings.clock
        self._custom = CustomMetadata(surroundings.custom_metadata, surroundings.clock)
        self._text: str | None = None
        # The timer in _look() calls get() of this object every READ_AGAIN seconds; with refresh=0, each call of get()
        # checks whether the file has changed.  It would not be enough to check the file in decide(), because
        # AccessControl uses cached decisions without calling decide().
        self._file = FromFiles(f"the rules of {path}", (path,), self._read, self._clock.seconds, refresh=0)
        self._rules = self._file.get()
        self._custom.keep_only(self._rules.keys)
        self._of: dict[Principal, tuple[Rule, ...]] = {}
        self._next: IDelayedCall | None = None

    def start(self) -> None:
        self._next = self._clock.callLater(READ_AGAIN, self._look)

    def stop(self) -> None:
        if self._next is not None and self._next.active():
            self._next.cancel()
        self._custom.stop()

    # -- the file --

    def _look(self) -> None:
        self._next = self._clock.callLater(READ_AGAIN, self._look)
        rules = self._file.get()
        if rules is not self._rules:
            self._rules = rules
            self._custom.keep_only(rules.keys)
            self._of.clear()
            self.revision += 1

    def _read(self) -> Rules:
        """Read and parse the file of rules; if its text has not changed, return the present rules."""
        text = read_text(_KEY, self._path, MOST_BYTES, guarded=True)
        if text == self._text:
            return self._rules
        try:
            rules = parse(text)
        except ValueError as error:
            raise file_error(_KEY, self._path, str(error)) from None
        self._text = text
        return rules

    # -- decisions --

    def decide(self, principal: Principal, action: Permission, ledger_id: int | None) -> "bool | Deferred[bool]":
        found = self._decide(principal, action, ledger_id)
        if found is None:
            return Deferred.fromCoroutine(self._decide_later(principal, action, ledger_id))
        return found

    async def _decide_later(self, principal: Principal, action: Permission, ledger_id: int | None) -> bool:
        """Read the custom metadata of a ledger; then decide by the rules that are valid at that time."""
        for _ in range(_MOST_TRIES):
            assert ledger_id is not None
            await self._custom.look_up(ledger_id, principal)
            found = self._decide(principal, action, ledger_id)
            if found is not None:
                return found
        return False  # too many ledgers: the cache has dropped the metadata before this function could use them

    def _decide(self, principal: Principal, action: Permission, ledger_id: int | None) -> bool | None:
        """Return the decision of the first rule that applies.

        Return None if the decision depends on custom metadata that are not in the cache.
        """
        custom: Mapping[str, bytes] | None = None
        for rule in self._rules_of(principal):
            if not rule.covers(action, ledger_id):
                continue
            if rule.custom:
                if custom is None:
                    # For a request without a ledger, covers() returns False for a rule about custom metadata.
                    assert ledger_id is not None
                    custom = self._custom.known(ledger_id)
                if custom is None:
                    return None
                if not rule.fits(custom):
                    continue
            return rule.allows
        return False

    def _rules_of(self, principal: Principal) -> tuple[Rule, ...]:
        found = self._of.get(principal)
        if found is None:
            if len(self._of) >= _MOST_PRINCIPALS:
                self._of.clear()
            found = self._of[principal] = self._rules.of(principal)
        return found
