"""Plants in what decides who may do what, and in the record of it."""

from .plant import Plant

_SESSION = ["tests.bookie.requests.test_authorization", "tests.bookie.requests.test_late_decisions"]
_RULES = ["tests.authorization.test_rules"]
_FILE = ["tests.authorization.test_rules_authorizer"]
_AUDIT = ["tests.authorization.test_audit"]
_HTTP = ["tests.http.test_access"]
_SHARES = ["tests.protocol.server.test_shares"]
_REQUESTS = "bookie/requests/authorization.py"
_PARSED = "authorization/rules.py"
_AUTHORIZER = "authorization/rules_authorizer.py"
_LOOKS = "authorization/look_ups.py"
_ACCESS = "authorization/access.py"
_GUARD = ["tests.http.test_guard"]

PLANTS = (
    # -- requests --
    Plant(
        "a peer is never asked for permission", "bookie/requests/request_processor.py",
        "session if self._access is None else AuthorizingSession(connection, self._access, session)", "session",
        _SESSION, where="RequestProcessor._serving_session",
    ),
    Plant(
        "a run passes if its first ledger is allowed", _REQUESTS,
        "all(map(kept, ledger_ids))", "kept(first)", _SESSION,
        where="AuthorizingSession._are_known",
    ),
    Plant(
        "kept decisions outlive the rules", _REQUESTS,
        "self._revision == self._authorizer.revision", "True", _SESSION, where="AuthorizingSession._is_current",
    ),
    Plant(
        "a fencing read needs no permission to read", _REQUESTS,
        "_FENCING, _READING = (Permission.FENCE, Permission.READ), (Permission.READ,)",
        "_FENCING, _READING = (Permission.FENCE,), (Permission.READ,)", _SESSION, where="",
    ),
    Plant(
        "a fencing batch read is taken for a plain one", _REQUESTS,
        "item.flags & FENCE", "False", _SESSION, where="_needed",
    ),
    Plant(
        "a recovery add needs the permission of a writer only", _REQUESTS,
        "item.flags & RECOVERY_ADD", "False", _SESSION, where="_needed",
    ),
    Plant(
        "known recovery adds pass as adds", _REQUESTS,
        "item.flags & RECOVERY_ADD", "False", _SESSION, where="AuthorizingSession._are_known",
    ),
    Plant(
        "decisions made before the authentication hold after it", _REQUESTS,
        "self._principal is self._connection.principal", "True", _SESSION, where="AuthorizingSession._is_current",
    ),
    Plant(
        "a decision that fails allows", _REQUESTS,
        "self._verdicts[action, ledger_id] = False", "self._verdicts[action, ledger_id] = True", _SESSION,
        where="AuthorizingSession._failed",
    ),
    Plant(
        "whatever an authorizer says that is not no allows", _REQUESTS,
        "self._verdicts[action, ledger_id] = allowed is True", "self._verdicts[action, ledger_id] = bool(allowed)",
        _SESSION, where="AuthorizingSession._decided",
    ),
    Plant(
        "a decision is taken whose rules have changed while it was made", _REQUESTS,
        "self._is_current() or tries >= _MOST_TRIES", "True", _SESSION, where="AuthorizingSession._decide",
    ),
    Plant(
        "requests overtake one that waits for a look-up", _REQUESTS,
        "self._asking is None and self._is_current() and self._are_known(items)",
        "self._is_current() and self._are_known(items)", _SESSION,
        where="AuthorizingSession.received",
    ),
    Plant(
        "a bookie reads on while a connection waits for look-ups", _REQUESTS,
        "connection.set_reading_paused(True)", "pass", _SESSION, where="AuthorizingSession._pump",
    ),
    Plant(
        "look-ups of a peer that has left go on", _REQUESTS,
        "self._asking.cancel()", "pass", _SESSION, where="AuthorizingSession.lost",
    ),
    Plant(
        "a connection looks up all ledgers of a run at once", _REQUESTS,
        "len(asked) >= _AT_ONCE", "False", _SESSION, where="AuthorizingSession._ask",
    ),
    Plant(
        "the parts of a mixed run are exchanged", _REQUESTS,
        "int(may)", "1 - int(may)", _SESSION, where="AuthorizingSession._pass_adds",
    ),
    Plant(
        "a request without an answer in its protocol is dropped", _REQUESTS,
        "connection.end()", "pass", _SESSION, where="AuthorizingSession._pump",
    ),
    Plant(
        "refused requests are not counted", _REQUESTS,
        "self._access.refused(self._connection.principal, self._connection.peer, action, ledger_id, count)", "pass",
        _SESSION, where="AuthorizingSession._refuse",
    ),
    Plant(
        "an address has any number of connections", "protocol/server/connected_peers.py",
        "not self._shares.may_connect(connection)", "False", _SHARES, where="ConnectedPeers.admit",
    ),
    Plant(
        "a principal with too many connections stays", "protocol/server/connection.py",
        "not self._factory.peers.identified(self)", "False", _SHARES, where="ServerConnection.enter",
    ),
    Plant(
        "connections that have ended count towards a share", "protocol/server/connected_peers.py",
        "self._shares.left(connection)", "pass", _SHARES, where="ConnectedPeers.left",
    ),
    Plant(
        "kept decisions have no limit", _ACCESS,
        "len(kept) >= MOST_DECISIONS", "False", _SESSION, where="Decisions.keep",
    ),
    Plant(
        "an authorizer that raises an error allows", _ACCESS,
        "return False", "return True", _SESSION, where="AccessControl.ask",
    ),
    # -- rules --
    Plant(
        "what no rule allows is allowed", _AUTHORIZER,
        "return False", "return True", _FILE, where="RulesAuthorizer._decide",
    ),
    Plant(
        "one selector of a rule is enough", _PARSED,
        "all(matches(principal) for matches in self.selectors)",
        "any(matches(principal) for matches in self.selectors)", _RULES, where="Rule.is_about",
    ),
    Plant(
        "a rule about ledgers applies without a ledger", _PARSED,
        "return self.ledgers is None and not self.custom", "return True", _RULES, where="Rule.covers",
    ),
    Plant(
        "one entry of the custom metadata is enough", _PARSED,
        "all(custom.get(key) == value for key, value in self.custom)",
        "not self.custom or any(custom.get(key) == value for key, value in self.custom)", _RULES, where="Rule.fits",
    ),
    Plant(
        "a file that was cut is taken", _PARSED,
        'text and not text.endswith("\\n")', "False", _RULES, where="parse",
    ),
    Plant(
        "a star behind a domain means other domains, too", _PARSED,
        "start = text[:-1]", "start = text[:-2]", _RULES, where="_of_uri",
    ),
    Plant(
        "a name may be that of another kind of principal", _PARSED,
        "principal.kind == kind and principal.name == text", "principal.name == text", _RULES, where="_named",
    ),
    Plant(
        "an escaped comma ends a part of a subject", _PARSED,
        r'r"[,+]|[^\\,+]+|\\.|\\"', r'r"[,+]|[^\\,+]+|\\"', _RULES, where="",
    ),
    Plant(
        "a broken file leaves no rules", _AUTHORIZER,
        "raise file_error(_KEY, self._path, str(error)) from None", "rules = Rules((), frozenset())", _FILE,
        where="RulesAuthorizer._read",
    ),
    Plant(
        "changed rules do not change the revision", _AUTHORIZER,
        "self.revision += 1", "pass", _FILE, where="RulesAuthorizer._look",
    ),
    Plant(
        "rules of a principal are kept when the file changes", _AUTHORIZER,
        "self._of.clear()", "pass", _FILE, where="RulesAuthorizer._look",
    ),
    Plant(
        "rules that everybody may write are read", "security/files.py",
        "guarded and mode & S_IWOTH", "False", _FILE, where="read_small_file",
    ),
    Plant(
        "rules that are written again with the same text count as changed", _AUTHORIZER,
        "text == self._text", "False", _FILE, where="RulesAuthorizer._read",
    ),
    # -- look-ups --
    Plant(
        "look-ups may take for ever", _LOOKS,
        "reading.cancel()", "pass", _FILE, where="CustomMetadata._late",
    ),
    Plant(
        "any number of look-ups is under way", _LOOKS,
        "len(self._reading) < AT_ONCE", "True", _FILE, where="CustomMetadata._begin",
    ),
    Plant(
        "any number of ledgers is known", _LOOKS,
        "len(self._known) > MOST_KEPT", "False", _FILE, where="CustomMetadata._keep",
    ),
    Plant(
        "a look-up that failed is repeated at once", _LOOKS,
        "failed_at is not None", "False", _FILE, where="CustomMetadata.look_up",
    ),
    Plant(
        "each failed look-up is a line in the log", _LOOKS,
        "now - self._logged_at < _QUIET", "False", _FILE, where="CustomMetadata._log_failure",
    ),
    # -- HTTP --
    Plant(
        "pages that delete need no permission", "http/api.py",
        "_CHANGING.get(method)", "_CHANGING.get(method.replace(b'PUT', b''))", _HTTP, where="ApiPage.action_of",
    ),
    Plant(
        "entries are read over HTTP without permission", "http/cluster_api.py",
        "Permission.READ", "None", _HTTP, where="ClusterApi",
    ),
    Plant(
        "a refused page is shown", "http/api.py",
        "await access.permits(request.principal, request.peer, action, _ledger_of(request, action))",
        "await access.permits(request.principal, request.peer, action, _ledger_of(request, action)) is not None", _HTTP,
        where="_if_permitted",
    ),
    # -- the audit log --
    Plant(
        "the audit log can be read by everybody", "authorization/audit_file.py",
        "_PRIVATE = 0o600", "_PRIVATE = 0o644", _AUDIT, where="",
    ),
    Plant(
        "an audit log that was renamed is written on", "authorization/audit_file.py",
        "self._leave_renamed()", "pass", _AUDIT, where="AuditFile.write",
    ),
    Plant(
        "any number of lines waits for the disk", "authorization/audit.py",
        "len(self._queue) >= MOST_QUEUED", "False", _AUDIT, where="AuditLog._append",
    ),
    Plant(
        "lost lines are not counted", "authorization/audit.py",
        "self._unsaid += count", "pass", _AUDIT, where="AuditLog._lose",
    ),
    Plant(
        "each refusal is a line", "authorization/audit.py",
        "found is None and len(self._refusals) < _MOST_PRINCIPALS", "True", _AUDIT, where="AuditLog.refused",
    ),
    Plant(
        "a stop does not wait for the audit log", "authorization/audit.py",
        "self._idle.append(done)", "done.callback(None)", _AUDIT, where="AuditLog.stop",
    ),
    Plant(
        "a part of a line stays after a full disk", "authorization/audit_file.py",
        "os.ftruncate(self._descriptor, end - size)", "pass", _AUDIT, where="AuditFile._remove_part",
    ),
    Plant(
        "lines of another process are removed with a part of a line", "authorization/audit_file.py",
        "os.fstat(self._descriptor).st_size == end", "True", _AUDIT, where="AuditFile._remove_part",
    ),
    Plant(
        "whole lines are removed with a part of a line", "authorization/audit_file.py",
        "written - (data.rfind(b'\\n', 0, written) + 1)", "written", _AUDIT, where="AuditFile.write",
    ),
    Plant(
        "a line that the disk has cut swallows the next one", "authorization/audit_file.py",
        'self._is_cut and not self._append(b"\\n")', "False", _AUDIT, where="AuditFile.write",
    ),
    Plant(
        "a line that was cut before the start swallows the next one", "authorization/audit_file.py",
        'found.st_size > 0 and os.pread(descriptor, 1, found.st_size - 1) != b"\\n"', "False", _AUDIT,
        where="AuditFile.open",
    ),
    Plant(
        "an empty file of rules refuses everybody", "authorization/rules.py",
        "not rules", "False", ["tests.authorization.test_rules"], where="parse",
    ),
    Plant(
        "who asks about many ledgers makes all others wait", _LOOKS,
        "self._queues.move_to_end(principal)", "pass", _FILE, where="CustomMetadata._begin",
    ),
    Plant(
        "requests without credentials are no lines of the audit log", "http/site.py",
        "record_refusal(request, page)", "pass", _GUARD, where="_Paths.render",
    ),
    Plant(
        "a refusal for lack of credentials counts as one of the rules", "http/api.py",
        "access.refused_before", "access.refused", _GUARD, where="record_refusal",
    ),
    Plant(
        "a refused request is recorded as any administration", "http/api.py",
        "needed or Permission.ADMIN_GET", "Permission.ADMIN_GET", _GUARD, where="record_refusal",
    ),
    Plant(
        "a refused request with nonsense for a ledger is an error", "http/api.py",
        "IncorrectParameterError", "ZeroDivisionError", _GUARD, where="record_refusal",
    ),
    Plant(
        "refused requests hide those for another reason", "http/access.py",
        "self._lines.log(self._log.info, '{asked} of {peer} was refused: {reason}', "
        "peer_name(request.getClientAddress()), cause=refusal.reason, "
        "asked=f'{method[:_SHOWN]} /{path[:_SHOWN]}', reason=refusal.reason)",
        "self._lines.log(self._log.info, '{asked} of {peer} was refused: {reason}', "
        "peer_name(request.getClientAddress()), asked=f'{method[:_SHOWN]} /{path[:_SHOWN]}', reason=refusal.reason)",
        _GUARD, where="AccessGuard.check",
    ),
)
