"""Plants in SASL: who is admitted, what a client believes, what is sent in clear, and files of users."""

from .plant import Plant

_ROOM = "authentication/sasl/"
_DIGEST, _PLAIN, _USERS = _ROOM + "digest_md5.py", _ROOM + "plain.py", _ROOM + "users.py"
_JAAS, _CREDENTIALS, _SIDES = _ROOM + "jaas.py", _ROOM + "credentials.py", _ROOM + "sides.py"
_TESTS = "tests.authentication.sasl."
_EXCHANGES, _PLAINS = [_TESTS + "test_digest_md5"], [_TESTS + "test_plain"]
_FORMAT, _FILES, _MADE = [_TESTS + "test_jaas"], [_TESTS + "test_credentials"], [_TESTS + "test_sides"]
_PARSED = [_TESTS + "test_directives"]
_CONFIG = ["tests.config.test_authentication"]
_CARRIED = ["tests.client.connections.test_sasl"]
_FIRST_FRAME = "bookie/requests/encryption.py"
_GREETING, _GREETED = "protocol/server/greeting.py", ["tests.protocol.server.test_greeting"]

PLANTS = (
    Plant(
        "a response to another nonce is taken", _DIGEST,
        "hmac.compare_digest(nonce, values.get('nonce', b''))", "True", _EXCHANGES,
        where="DigestBookieExchange._checked_nonce",
    ),
    Plant(
        "a bookie uses one nonce for all", _DIGEST,
        "random_bytes(NONCE_BYTES)", "bytes(NONCE_BYTES)", _EXCHANGES, where="_nonce",
    ),
    Plant(
        "a second response to a nonce is taken", _DIGEST,
        "step, self._step = self._step, self._ended", "step = self._step", _EXCHANGES,
        where="_DigestExchange.next_token",
    ),
    Plant(
        "the count of a response does not matter", _DIGEST,
        "values.get('nc') != COUNT", "False", _EXCHANGES, where="DigestBookieExchange._checked_nonce",
    ),
    Plant(
        "a challenge is good for ever", _DIGEST,
        "self._seconds() - self._since > MAX_AGE", "False", _EXCHANGES, where="DigestBookieExchange._checked_nonce",
    ),
    Plant(
        "any response is right", _DIGEST,
        "hmac.compare_digest(expected, values.get('response', b''))", "True", _EXCHANGES,
        where="DigestBookieExchange._verify",
    ),
    Plant(
        "the time of a comparison tells how much of a response is right", _DIGEST,
        "hmac.compare_digest(expected, values.get('response', b''))", "expected == values.get('response', b'')",
        _EXCHANGES, where="DigestBookieExchange._verify",
    ),
    Plant(
        "the time of a comparison tells how much of a proof is right", _DIGEST,
        "not hmac.compare_digest(self._expected, shown)", "self._expected != shown", _EXCHANGES,
        where="DigestClientExchange._verify",
    ),
    Plant(
        "realm, address and protection of a response do not matter", _DIGEST,
        "_check_constants(values)", "pass", _EXCHANGES, where="DigestBookieExchange._verify",
    ),
    Plant(
        "a response may be without a nonce of its own", _DIGEST,
        "not name or not cnonce", "not name or cnonce is None", _EXCHANGES, where="DigestBookieExchange._verify",
    ),
    Plant(
        "a client believes any proof", _DIGEST,
        "not hmac.compare_digest(self._expected, shown)", "False", _EXCHANGES, where="DigestClientExchange._verify",
    ),
    Plant(
        "a client is complete before the bookie has proven anything", _DIGEST,
        "self._step = self._verify", "self._step = self._verify\nself.complete = True", _EXCHANGES,
        where="DigestClientExchange._respond",
    ),
    Plant(
        "a client answers challenges of any kind", _DIGEST,
        "any((values.get(name) != value for name, value in wanted.items()))", "False", _EXCHANGES,
        where="_challenged",
    ),
    Plant(
        "a client answers where it is to be asked for each message's digest", _DIGEST,
        "b'auth' not in offered", "False", _EXCHANGES, where="_challenged",
    ),
    Plant(
        "a client takes its own response for a proof", _ROOM + "digests.py",
        "b':' + URI", "b'AUTHENTICATE:' + URI", _EXCHANGES, where="proof",
    ),
    Plant(
        "an unknown user is told from a wrong password", _USERS,
        "self._digests.get(name, self._nobody)", "self._digests[name]", _EXCHANGES, where="Users.digests",
    ),
    Plant(
        "every user that has proven its password may connect", _USERS,
        "allowed.fullmatch(name) is None", "False", _EXCHANGES, where="admit",
    ),
    Plant(
        "a part of a user's name may match", _USERS,
        "allowed.fullmatch(name)", "allowed.search(name)", _EXCHANGES, where="admit",
    ),
    Plant(
        "a user may act as another", _USERS,
        "authorization is not None and authorization != name", "False", [*_EXCHANGES, *_PLAINS], where="admit",
    ),
    Plant(
        "who may connect is told to those who have proven nothing", _USERS,
        "if not is_proven: ...\n"
        "admit(self._allowed, name, authorization)",
        "admit(self._allowed, name, authorization)\n"
        "if not is_proven:\n"
        "    raise UnauthorizedAccessError(detail=f'user {shown} does not exist or has another password')",
        _EXCHANGES, where="Users.admit",
    ),
    Plant(
        "a name fills the log", _USERS,
        "name[:_SHOWN]", "name", _EXCHANGES, where="Users.admit",
    ),
    Plant(
        "a client sends its password in clear", _PLAIN,
        "_require_encryption(self._peer)", "pass", _PLAINS, where="PlainClientExchange._send",
    ),
    Plant(
        "a bookie takes passwords in clear", _PLAIN,
        "_require_encryption(self._peer)", "pass", _PLAINS, where="PlainBookieExchange._verify",
    ),
    Plant(
        "any password is right", _PLAIN,
        "hmac.compare_digest(digest, self._users.digests(name).plain)", "True", _PLAINS,
        where="PlainBookieExchange._verify",
    ),
    Plant(
        "the time of a comparison tells how much of a password's digest is right", _PLAIN,
        "hmac.compare_digest(digest, self._users.digests(name).plain)", "digest == self._users.digests(name).plain",
        _PLAINS, where="PlainBookieExchange._verify",
    ),
    Plant(
        "passwords are tried on one connection until one is right", _PLAIN,
        "asked, self._asked = self._asked, True", "asked = False", _PLAINS, where="PlainBookieExchange._verify",
    ),
    Plant(
        "a token without a password is one", _PLAIN,
        "not parts[2]", "False", _PLAINS, where="_parts",
    ),
    Plant(
        "the last of two directives counts", _ROOM + "directives.py",
        "key in values", "False", _PARSED, where="read_directives",
    ),
    Plant(
        "directives may have any length", _ROOM + "directives.py",
        "len(token) > MAX_DIRECTIVES", "False", _PARSED, where="read_directives",
    ),
    Plant(
        "directives need no commas", _ROOM + "directives.py",
        "at < len(token) and b',' not in token[found.end():at]", "False", _PARSED, where="read_directives",
    ),
    Plant(
        "the last of two passwords of a user counts", _JAAS,
        "name in found", "False", _FORMAT, where="JaasSection.passwords",
    ),
    Plant(
        "a user may have an empty password", _JAAS,
        "not name or not password", "not name", _FORMAT, where="JaasSection.passwords",
    ),
    Plant(
        "a section for Kerberos is one without users", _JAAS,
        "_is_for_kerberos(module)", "False", _FORMAT,
        where="JaasSection._digest_modules",
    ),
    Plant(
        "a property of Java is a password", _JAAS,
        "'${' in value.text", "False", _FORMAT, where="_JaasReader._module",
    ),
    Plant(
        "a file that everybody can read is no line of the log", _CREDENTIALS,
        "read_text(KEY, path, MAX_FILE, secret=is_start)", "read_text(KEY, path, MAX_FILE)", _FILES,
        where="jaas_credentials",
    ),
    Plant(
        "a file that everybody can read is a line of the log for each change", _CREDENTIALS,
        "is_start = False", "is_start = True", _FILES, where="jaas_credentials",
    ),
    Plant(
        "users are read once", _CREDENTIALS,
        "(path,)", "()", _FILES, where="jaas_credentials",
    ),
    Plant(
        "a bookie that refuses every password begins", _SIDES,
        "name == PLAIN and not config.encrypts", "False", _MADE, where="_mechanism",
    ),
    Plant(
        "a mechanism that is not there is the default", _SIDES,
        "name not in ('', DIGEST_MD5, GSSAPI, PLAIN)", "False", _MADE, where="_mechanism",
    ),
    Plant(
        "autorecovery has the user of any client", _SIDES,
        "config.client_role == SYSTEM", "False", _MADE, where="SaslClient.__init__",
    ),
    Plant(
        "autorecovery is a client as any other", "embedding/autorecovery.py",
        "attrs.evolve(client, client_role=SYSTEM)", "client", ["tests.embedding.test_autorecovery"],
        where="AutorecoveryService.__init__",
    ),
    Plant(
        "users are configured and nobody is asked", "config/authentication.py",
        "not self._is_default(name)", "False", _CONFIG, where="AuthenticationConfig._check_sasl",
    ),
    Plant(
        "a client that requires authentication asks for none", "config/authentication.py",
        "self.client_auth_required and asks_nobody and not self.allow_insecure_connections", "False", _CONFIG,
        where="AuthenticationConfig._check",
    ),
    Plant(
        "a request in clear behind StartTLS is answered within TLS", _FIRST_FRAME,
        "isinstance(item, AuthRequest) and not item.payload", "True", _CARRIED, where="_is_empty_token",
    ),
    Plant(
        "a token in clear behind StartTLS is used within TLS", _FIRST_FRAME,
        "isinstance(item, AuthRequest) and not item.payload", "isinstance(item, AuthRequest)", _CARRIED,
        where="_is_empty_token",
    ),
    Plant(
        "a token in clear for another plugin is refused within TLS", _FIRST_FRAME,
        "first[0].plugin == self._plugin", "True", _CARRIED, where="FirstFrameSession._encrypt",
    ),
    Plant(
        "a client of another plugin waits for a bookie that authenticates nobody", _FIRST_FRAME,
        "connection.state is not ConnectionState.AUTHENTICATING or first[0].plugin == self._plugin",
        "first[0].plugin == self._plugin", _CARRIED, where="FirstFrameSession._encrypt",
    ),
    Plant(
        "Apache's client waits for the answer to its first token", _FIRST_FRAME,
        "isinstance(item, AuthRequest) and not item.payload", "False", _CARRIED, where="_is_empty_token",
    ),
    Plant(
        "a token that arrives behind StartTLS by itself is not answered", _FIRST_FRAME,
        "first.append(item)", "return True", _CARRIED, where="FirstFrameSession._encrypt",
    ),
    Plant(
        "a second token in clear is taken", _FIRST_FRAME,
        "None if behind else take", "take", _CARRIED, where="FirstFrameSession._encrypt",
    ),
    Plant(
        "frames in clear are taken without end", _GREETING,
        "take, self._take = self._take, None", "take = self._take", _GREETED, where="Greeting._is_accepted",
    ),
    Plant(
        "any frame in clear is dropped behind StartTLS", _GREETING,
        "take is not None and len(items) == 1 and take(items[0])", "take is not None and (take(items[0]) or True)",
        _GREETED, where="Greeting._is_accepted",
    ),
    Plant(
        "a frame in clear behind StartTLS may be long", _GREETING,
        "len(received) < size <= LONGEST", "len(received) < size", _GREETED, where="Greeting.dataReceived",
    ),
    Plant(
        "half a token that arrives with StartTLS is dropped", "protocol/server/connection.py",
        "greeting.dataReceived(rest)", "pass", _CARRIED, where="ServerConnection.encrypt",
    ),
    Plant(
        "a late refusal of StartTLS breaks V2", "protocol/client/authentication.py",
        "data.removeprefix(self._dropped)", "data", _CARRIED, where="AuthenticatedConnection.dataReceived",
    ),
    Plant(
        "bytes in clear are dropped as a late refusal", "protocol/client/authentication.py",
        "V3.refusal(START_TLS, Status.EIO) if is_encrypted else None", "V3.refusal(START_TLS, Status.EIO)", _CARRIED,
        where="AuthenticatedConnection.__init__",
    ),
)
