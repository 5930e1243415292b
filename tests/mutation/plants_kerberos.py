"""Plants in GSSAPI: who is admitted, what a client believes, and where the work is done."""

from .plant import Plant

_ROOM = "authentication/sasl/"
_EXCHANGES, _SIDES, _JAAS = _ROOM + "kerberos.py", _ROOM + "sides.py", _ROOM + "jaas.py"
_TESTS, _FORMAT = ["tests.authentication.sasl.test_kerberos"], ["tests.authentication.sasl.test_jaas"]
_CARRIED = ["tests.client.connections.test_sasl"]

PLANTS = (
    Plant(
        "a choice of protection needs no signature", _EXCHANGES,
        "self._context.unwrap(received)", "received.removeprefix(b'signed:')", _TESTS,
        where="KerberosBookieExchange._verify",
    ),
    Plant(
        "an offer of protection needs no signature", _EXCHANGES,
        "self._context.unwrap(received)", "received.removeprefix(b'signed:')", _TESTS,
        where="KerberosClientExchange._choose",
    ),
    Plant(
        "a protection may be chosen that was not offered", _EXCHANGES,
        "chosen[0] != NO_PROTECTION", "not chosen[0] & NO_PROTECTION", _TESTS, where="KerberosBookieExchange._verify",
    ),
    Plant(
        "a choice may have any length", _EXCHANGES,
        "len(chosen) < len(_CHOICE)", "not chosen", _TESTS, where="KerberosBookieExchange._verify",
    ),
    Plant(
        "every principal of the realm is admitted", _EXCHANGES,
        "self._admit(name, authorization or None)", "pass", _TESTS, where="KerberosBookieExchange._verify",
    ),
    Plant(
        "a client of Kerberos may act as another", _EXCHANGES,
        "self._admit(name, authorization or None)", "self._admit(name, None)", _TESTS,
        where="KerberosBookieExchange._verify",
    ),
    Plant(
        "a bookie is complete without a choice", _EXCHANGES,
        "self._step = self._verify", "self._step = self._verify\nself.complete = True", _TESTS,
        where="KerberosBookieExchange._offer",
    ),
    Plant(
        "a bookie takes a token where there is none", _EXCHANGES,
        "if received: ...", "pass", _TESTS, where="KerberosBookieExchange._offer",
    ),
    Plant(
        "a client is complete before the bookie has proven itself", _EXCHANGES,
        "self._step = self._choose if self._context.is_complete else self._establish", "self._step = self._choose",
        _TESTS, where="KerberosClientExchange._proceed",
    ),
    Plant(
        "an exchange goes on behind its end", _EXCHANGES,
        "step, self._step = self._step, self._ended", "step = self._step", _TESTS, where="_Exchange.next_token",
    ),
    Plant(
        "a ticket is for the id of the bookie, not for its host", _EXCHANGES,
        "peer.host or peer.address.rpartition(':')[0].strip('[]')", "peer.address.rpartition(':')[0].strip('[]')",
        _TESTS, where="KerberosClientExchange.__init__",
    ),
    Plant(
        "the work of all connections takes all threads", _EXCHANGES,
        "self._lock.run(in_turn)", "in_turn()", _TESTS, where="WorkTurns.run",
    ),
    Plant(
        "work that nobody waits for is begun", _EXCHANGES,
        "wanted.called", "False", _TESTS, where="WorkTurns.run",
    ),
    Plant(
        "the section of the JAAS file does not choose the mechanism", _SIDES,
        "GSSAPI if section.is_for_kerberos else DIGEST_MD5", "DIGEST_MD5", _TESTS, where="_mechanism_of",
    ),
    Plant(
        "broken keys of a bookie refuse everybody without a line", _SIDES,
        "from_key_tab(login, lambda: kerberos.acceptor(login), self._world.seconds)", "kerberos.acceptor(login)",
        _TESTS, where="SaslBookie._make",
    ),
    Plant(
        "new keys of a client need a restart", _SIDES,
        "from_key_tab(login, lambda: kerberos.initiator(login, self._service), self._world.seconds)",
        "kerberos.initiator(login, self._service)", _TESTS, where="SaslClient._make",
    ),
    Plant(
        "the library reads the file of keys itself, which may be broken", "security/files.py",
        "hasattr(os, 'memfd_create')", "False", ["tests.security.test_files"], where="CopyInMemory.__init__",
    ),
    Plant(
        "a client that waits for its KDC suspects the bookie", "protocol/client/authentication.py",
        "self._late = _NO_TOKEN", "pass", ["tests.client.connections.test_authentication"],
        where="AuthenticatedConnection._proceed",
    ),
    Plant(
        "a client that waits for its bookie suspects the KDC", "protocol/client/authentication.py",
        "self._late = _NO_ANSWER", "pass", ["tests.client.connections.test_authentication"],
        where="AuthenticatedConnection._send",
    ),
    Plant(
        "a bookie may have tickets instead of keys", _JAAS,
        "if of_bookie: ...", "pass", _FORMAT, where="_kerberos_login",
    ),
    Plant(
        "keys need no principal", _JAAS,
        "not principal or not key_tab", "not key_tab", _FORMAT, where="_kerberos_login",
    ),
    Plant(
        "a client waits for the answer that Apache's bookie never gives", "protocol/client/authentication.py",
        "if self._exchange.complete and IUnansweredExchange.providedBy(self._exchange): ...", "pass", _CARRIED,
        where="AuthenticatedConnection._send",
    ),
    Plant(
        "a client of another plugin sends a token too much", "protocol/client/authentication.py",
        "self._exchange.complete and IUnansweredExchange.providedBy(self._exchange)", "self._exchange.complete",
        _CARRIED, where="AuthenticatedConnection._send",
    ),
)
