"""Plants in the blocking connections that are encrypted or authenticated, and in what Spark makes of its options."""

from .plant import Plant

_SECURED = ["tests.blocking_reads.test_secured"]
_STREAM = "blocking_reads/secured.py"
_TASKS, _TASK = ["tests.spark.task.test_security"], "spark/task/security.py"

PLANTS = (
    Plant(
        "a blocking reader sends its requests in clear", _STREAM,
        "security.encryption is None", "True", _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader verifies bookies as if they were other hosts", _STREAM,
        "security.encryption(address.host)", "security.encryption(address.bookie_id)", _SECURED,
        where="_SecuredStream.__init__",
    ),
    Plant(
        "a client sends no token", "protocol/client/authentication.py",
        "if exchange.complete: ...", "return make()", _SECURED, where="first_protocol.authenticated",
    ),
    Plant(
        "a blocking reader says that every connection is encrypted", _STREAM,
        "Peer(address.bookie_id, host=address.host)", "Peer(address.bookie_id, host=address.host, is_encrypted=True)",
        _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader takes a bookie that authenticates nobody", _STREAM,
        "security.authentication_is_required", "False", _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "a blocking reader waits for a slow handshake for ever", _STREAM,
        "self.clock.advance(max(now - self._seen, 0.0))", "pass", _SECURED, where="_SocketTransport.pump",
    ),
    Plant(
        "a bookie that refuses a certificate after the handshake has only closed the connection", _STREAM,
        "ended is None or isinstance(ended, ConnectionDone)", "True", _SECURED, where="_SecuredStream._check",
    ),
    Plant(
        "a socket stays open after a refusal", _STREAM,
        "opened.close()\nraise _named(error, address) from None", "raise _named(error, address) from None", _SECURED,
        where="secured_connection",
    ),
    Plant(
        "tasks of Spark read in clear although the options say TLS", "spark/task/partition.py",
        "if not security: ...", "if True: ...", _TASKS, where="connections",
    ),
    Plant(
        "tasks of Spark take bookies that authenticate nobody", _TASK,
        "config.client_auth_required", "False", _TASKS, where="connection_security",
    ),
    Plant(
        "the driver of Spark asks for the end of open ledgers in clear", "spark/source/batch.py",
        "settings.security", "()", _TASKS, where="Planner.__init__",
    ),
    Plant(
        "the driver of Spark reads manifests in clear", "spark/sink/manifest.py",
        "cluster.security", "()", _TASKS, where="_rows",
    ),
    Plant(
        "the view of a cluster in Spark has no settings of TLS", "spark/driver/cluster.py",
        "security_settings(config)", "()", _TASKS, where="connect",
    ),
    Plant(
        "a pool that is dropped leaves its connections open", "blocking_reads/pool.py",
        "self.close()", "pass", ["tests.blocking_reads.test_pool"], where="SocketPool.__del__",
    ),
    Plant(
        "a check takes a bookie without batch reads for one that is down", "spark/pipelines/checking.py",
        "support.unanswered(bookie_id)", "raise", ["tests.spark.pipelines.test_checking"],
        where="PositionCheck._batch",
    ),
    Plant(
        "a request that an idle connection has lost is not repeated", "blocking_reads/pool.py",
        "not self._was_idle", "True", ["tests.blocking_reads.test_pool"], where="OutstandingRequest.reply",
    ),
    Plant(
        "a connection whose reply nobody waits for goes back to the pool", "blocking_reads/pool.py",
        "connection.close()", "self._pool.give_back(self._address, connection)", ["tests.blocking_reads.test_pool"],
        where="OutstandingRequest.abandon",
    ),
    Plant(
        "tasks of Spark send StartTLS though TLS is to begin at once", _STREAM,
        "security.is_direct", "False", _SECURED, where="_SecuredStream.__init__",
    ),
    Plant(
        "settings of the metadata store travel with those of TLS", _TASK,
        "fields_of(AuthenticationConfig)", "fields_of(type(config))", _TASKS, where="security_settings",
    ),
    Plant(
        "a password is in what Spark shows of options", "spark/options.py",
        "return 'Secret(...)'", "return f'Secret({self.value!r})'", ["tests.spark.test_options"],
        where="Secret.__repr__",
    ),
    Plant(
        "of two passwords in the options of Spark one is ignored", "spark/options.py",
        "if len(found) > 1: ...", "", ["tests.spark.test_options"], where="_password",
    ),
    Plant(
        "a password that Spark masks in plans is kept beside that of the ledger", "spark/options.py",
        "key.lower() not in _PASSWORDS", "True", ["tests.spark.test_options"], where="without_password",
    ),
    Plant(
        "an error of authentication of a socket does not name the bookie",
        "client/connections/bookie_socket.py",
        "UnauthorizedAccessError(detail=f'no connection to {self._bookie_id}: {error.detail}')", "error",
        ["tests.client.connections.test_authentication"],
        where="BookieSocket._refused",
    ),
    Plant(
        "an error of authentication does not name the bookie", _STREAM,
        "if isinstance(error, UnauthorizedAccessError): ...", "", _SECURED, where="_named",
    ),
)  # fmt: skip
