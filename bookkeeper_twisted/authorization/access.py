"""Access control: caches the decisions of the authorizer, counts refusals, and writes the audit log."""

from weakref import WeakValueDictionary

import attrs
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ..config.bookie import BookieConfig
from ..errors import ConfigError, MetadataError
from ..metrics import AuthorizationMetrics, Instruments
from ..security.principals import Principal
from .audit import AuditLog, Submit
from .audit_file import AuditFile
from .interfaces import ADMINISTRATION, IAuthorizer, Permission, ReadCustomMetadata, Surroundings
from .plugins import authorizer_of

MOST_DECISIONS = 16_384
"""Maximum number of cached decisions for each principal and permission."""

_QUIET = 60.0
_AUDITED = frozenset({Permission.FENCE, Permission.DELETE, *ADMINISTRATION})


@attrs.define(eq=False)
class Decisions:
    """The cached decisions about one principal, which all connections of the principal share.

    They are valid for one version of the rules.

    :ivar by_action: for each permission, a dictionary from ledger id to whether the principal has this permission for
        the ledger.  These dictionaries are never replaced, so callers may store references to them.
    """

    by_action: dict[Permission, dict[int | None, bool]] = attrs.field(
        factory=lambda: {action: {} for action in Permission}, init=False
    )

    def keep(self, action: Permission, ledger_id: int | None, allowed: bool) -> None:
        """Cache a decision; if the cache for this permission is full, clear it first.

        :param ledger_id: id of the ledger; None if the request is about no ledger.
        """
        kept = self.by_action[action]
        if len(kept) >= MOST_DECISIONS:
            kept.clear()
        kept[ledger_id] = allowed


@implementer(IAuthorizer)
class Everybody:
    """The authorizer that allows everything, for a process with an audit log but without rules."""

    revision = 0

    def decide(self, principal: Principal, action: Permission, ledger_id: int | None) -> bool:
        """Return True: everything is allowed."""
        return True

    def start(self) -> None:
        """Do nothing, as there are no rules."""

    def stop(self) -> None:
        """Do nothing, as there are no rules."""


class AccessControl:
    """The access control of one process: it asks the authorizer, and records allowed and refused requests.

    :param audit: the file of the audit log; None for no audit log.
    :ivar authorizer: makes the decisions.  When its revision changes, cached decisions are no longer valid.
    """

    _log = Logger()

    def __init__(
        self, authorizer: IAuthorizer, metrics: AuthorizationMetrics, clock: IReactorTime,
        audit: AuditFile | None = None,
    ) -> None:  # fmt: skip
        self.authorizer = authorizer
        self._metrics = metrics
        self._clock = clock
        self._file = audit
        self._audit: AuditLog | None = None
        self._decisions: WeakValueDictionary[Principal, Decisions] = WeakValueDictionary()
        self._of_revision = authorizer.revision
        self._failed_at: float | None = None

    # -- start and stop --

    def start(self, submit: Submit) -> None:
        """Open the audit log, and start the authorizer, which from then on checks its rules for changes.

        :param submit: runs writes of the audit log one at a time, on another thread than the reactor's.
        :raises ConfigError: the audit log cannot be opened.
        """
        if self._file is not None:
            try:
                self._file.open()
            except (OSError, ValueError) as error:
                raise ConfigError(f"auditLogFile: {error}") from None
            self._audit = AuditLog(self._file, self._clock, submit)
            self._metrics.watch_audit(lambda: self._audit.lost if self._audit is not None else 0)
        self.authorizer.start()

    def stop(self) -> "Deferred[None]":
        """Stop the authorizer; the Deferred fires when the audit log is written and closed."""
        self.authorizer.stop()
        return self._audit.stop() if self._audit is not None else succeed(None)

    # -- decisions --

    def decisions(self, principal: Principal) -> Decisions:
        """Return the cached decisions about ``principal`` under the present rules."""
        if self._of_revision != self.authorizer.revision:
            self._decisions.clear()
            self._of_revision = self.authorizer.revision
        found = self._decisions.get(principal)
        if found is None:
            found = self._decisions[principal] = Decisions()
        return found

    def ask(self, principal: Principal, action: Permission, ledger_id: int | None) -> "bool | Deferred[bool]":
        """Ask the authorizer for a decision; if it raises an error, log the error and return False.

        :returns: the decision, or a Deferred that fires with it.  If the Deferred fails, the caller must refuse the
            request.
        """
        try:
            return self.authorizer.decide(principal, action, ledger_id)
        except Exception:
            self._log_failure(Failure())
            return False

    def failed(self, failure: Failure) -> None:
        """Log the ``failure`` of a decision, at most once a minute; ignore a MetadataError, which was logged before."""
        if not failure.check(CancelledError, MetadataError):
            self._log_failure(failure)

    def _log_failure(self, failure: Failure) -> None:
        now = self._clock.seconds()
        if self._failed_at is None or now - self._failed_at >= _QUIET:
            self._failed_at = now
            self._log.failure("the authorizer failed, requests are refused", failure)

    async def permits(self, principal: Principal, address: str, action: Permission, ledger_id: int | None) -> bool:
        """Decide whether a request over HTTP is allowed, and record the decision.

        :param address: address of the peer, for the audit log.
        """
        asked = self.ask(principal, action, ledger_id)
        try:
            allowed = await asked if isinstance(asked, Deferred) else asked
        except CancelledError:
            raise
        except Exception:
            self.failed(Failure())
            allowed = False
        if allowed is True:
            self.allowed(principal, address, action, ledger_id)
            return True
        self.refused(principal, address, action, ledger_id)
        return False

    # -- records --

    def allowed(self, principal: Principal, address: str, action: Permission, ledger_id: int | None) -> None:
        """Record an allowed request in the audit log if it is a fence, a delete or an administrative request.

        :param address: address of the peer.
        :param ledger_id: id of the ledger; None if the request is about no ledger.
        """
        if self._audit is not None and action in _AUDITED:
            self._audit.allowed(principal, address, action, ledger_id)

    def refused(
        self, principal: Principal, address: str, action: Permission, ledger_id: int | None, count: int = 1
    ) -> None:
        """Count refused requests in the metrics, and record them in the audit log.

        :param address: address of the peer.
        :param ledger_id: id of the ledger of one of the requests; None if the requests are about no ledger.
        :param count: the number of requests.
        """
        self._metrics.refused[action.value].value += count
        self.refused_before(principal, address, action, ledger_id, count)

    def refused_before(
        self, principal: Principal, address: str, action: Permission, ledger_id: int | None, count: int = 1
    ) -> None:
        """Record requests in the audit log that were refused before the authorizer was asked.

        :param address: address of the peer.
        :param ledger_id: id of the ledger of one of the requests; None if the requests are about no ledger.
        :param count: the number of requests.
        """
        if self._audit is not None:
            self._audit.refused(principal, address, action, ledger_id, count)


def access_control(
    config: BookieConfig, clock: IReactorTime, custom_metadata: ReadCustomMetadata, instruments: Instruments
) -> AccessControl | None:
    """Return the access control of a process; None if everything is allowed and there is no audit log.

    :param custom_metadata: reads the custom metadata of a ledger.
    :raises ConfigError: the authorizer is unknown, or its rules cannot be used.
    """
    authorizer = authorizer_of(config, Surroundings(clock, custom_metadata))
    if authorizer is None and not config.audit_log_file:
        return None
    audit = AuditFile(config.audit_log_file) if config.audit_log_file else None
    metrics = AuthorizationMetrics(instruments, [action.value for action in Permission])
    return AccessControl(authorizer or Everybody(), metrics, clock, audit)
