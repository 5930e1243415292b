"""Plants in tokens, in the roles of certificates, and in the files of both."""

from .plant import Plant

_TOKENS, _KEYS, _FILES = "security/tokens.py", "security/token_keys.py", "security/files.py"
_SIDES, _ROLES = "authentication/tokens.py", "authentication/certificates.py"
_READ, _STORED = ["tests.security.test_tokens"], ["tests.security.test_token_keys"]
_SENT, _SHOWN = ["tests.authentication.test_tokens"], ["tests.authentication.test_certificates"]
_COMMAND = ["tests.cli.test_tokens"]

PLANTS = (
    Plant(
        "a token is believed without its signature", _TOKENS,
        "if self._is_signed(token, key): ...", "return key", _READ, where="TokenVerifier._signed_by",
    ),
    Plant(
        "any key verifies any token", _TOKENS,
        "key.algorithm == algorithm and (key.algorithm != SECRET_ALGORITHM or key.key_id == key_id)", "True", _READ,
        where="TokenVerifier._candidates",
    ),
    Plant(
        "a secret verifies tokens that name another one", _TOKENS,
        "key.algorithm != SECRET_ALGORITHM or key.key_id == key_id", "True", _READ, where="TokenVerifier._candidates",
    ),
    Plant(
        "tokens never expire", _TOKENS,
        "now >= expires + rules.skew", "False", _READ, where="TokenVerifier._checked",
    ),
    Plant(
        "a token is taken in the second of its expiry", _TOKENS,
        "now >= expires + rules.skew", "now > expires + rules.skew", _READ, where="TokenVerifier._checked",
    ),
    Plant(
        "a token without an expiry is valid for ever", _TOKENS,
        "_time(claims, 'exp', None)", "_time(claims, 'exp', 1 << 52)", _READ, where="TokenVerifier._checked",
    ),
    Plant(
        "a token is taken before it begins", _TOKENS,
        "now < begins - rules.skew", "False", _READ, where="TokenVerifier._checked",
    ),
    Plant(
        "a token of any issuer is taken", _TOKENS,
        "claims.get('iss') != rules.issuer", "False", _READ, where="TokenVerifier._checked",
    ),
    Plant(
        "a token for another audience is taken", _TOKENS,
        "audience not in _texts(claims, 'aud')", "False", _READ, where="_check_audience",
    ),
    Plant(
        "a token for nobody is taken where no audience is configured", _TOKENS,
        "not audience", "False", _READ, where="_check_audience",
    ),
    Plant(
        "a token of an issuer may leave the audience out", _TOKENS,
        "rules.audience or not is_own or 'aud' in claims", "'aud' in claims", _READ, where="TokenVerifier._checked",
    ),
    Plant(
        "a token of one's own may leave the audience out", _TOKENS,
        "rules.audience or not is_own or 'aud' in claims", "not is_own or 'aud' in claims", _READ,
        where="TokenVerifier._checked",
    ),
    Plant(
        "two texts are one token", _TOKENS,
        "if urlsafe_b64encode(data).rstrip(b'=') != part.encode(): ...", "pass",
        _READ, where="_decoded",
    ),
    Plant(
        "of two claims of one name the last counts", _TOKENS,
        "len(members) != len(pairs)", "False", _READ, where="_members",
    ),
    Plant(
        "a token expires at infinity", _TOKENS,
        "not 0 <= value < _LAST_TIME", "False", _READ, where="_time",
    ),
    Plant(
        "a deep token is an error that nobody expects", _TOKENS,
        "(ValueError, RecursionError)", "ValueError", _READ, where="_object",
    ),
    Plant(
        "a token that needs an unknown extension is taken", _TOKENS,
        "'crit' in header or header.get('b64', True) is not True", "False", _READ, where="TokenVerifier._signed_by",
    ),
    Plant(
        "a subject can forge lines of the log", _TOKENS,
        "value.isprintable()", "True", _READ, where="_name",
    ),
    Plant(
        "a role that cannot be a name is said to be a subject", _TOKENS,
        "_name(role, _NO_ROLE)", "_name(role, _NO_SUBJECT)", _READ, where="_roles",
    ),
    Plant(
        "a token of any length is read", _TOKENS,
        "len(token) > MAX_SIZE", "False", _READ, where="TokenVerifier._signed_by",
    ),
    Plant(
        "a short secret is taken", _KEYS,
        "len(secret) < SHORTEST_SECRET", "False", _STORED, where="read_secrets",
    ),
    Plant(
        "two secrets have one id", _KEYS,
        "key_id in keys", "False", _STORED, where="read_secrets",
    ),
    Plant(
        "a bookie keeps the private key of the issuer", _KEYS,
        "any(b'PRIVATE' in block[1] for block in blocks)", "False", _STORED, where="_public_keys",
    ),
    Plant(
        "a short key of RSA is taken", _KEYS,
        "public.key_size < _SMALLEST_MODULUS", "False", _STORED, where="_algorithm",
    ),
    Plant(
        "public keys verify tokens for any audience", _TOKENS,
        "('token_issuer', 'token_audience')", "('token_issuer',)", _STORED, where="token_verifier",
    ),
    Plant(
        "a bookie waits for a FIFO", _FILES,
        "S_ISREG(mode)", "True", _STORED, where="read_small_file",
    ),
    Plant(
        "a file that was replaced by one of its size and time looks unchanged", _FILES,
        "found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns", "0, 0, found.st_size, 0",
        ["tests.security.test_files"], where="identity_of",
    ),
    Plant(
        "a device in the place of a file is read", _FILES,
        "not S_ISREG(mode)", "False", ["tests.security.test_keys"], where="read_small_file",
    ),
    Plant(
        "broken files are a line of the log at every look", _FILES,
        "self._seen = seen", "", ["tests.security.test_renewal"], where="FromFiles.get",
    ),
    Plant(
        "a file has no end", _FILES,
        "len(data) > limit", "False", _STORED, where="read_small_file",
    ),
    Plant(
        "secrets that everybody can read are no warning", _FILES,
        "secret and mode & S_IROTH", "False", _STORED, where="read_small_file",
    ),
    Plant(
        "each part of a process warns of one file", _FILES,
        "_readable_by_all.get(path) == identity", "False", _STORED, where="_warn_once",
    ),
    Plant(
        "a file that was warned of once may change", _FILES,
        "_readable_by_all.get(path) == identity", "path in _readable_by_all", _STORED, where="_warn_once",
    ),
    Plant(
        "a private key of TLS that everybody can read is no warning", "security/keys.py",
        "_read(files.key, files.path, secret=True)", "_read(files.key, files.path)", ["tests.security.test_keys"],
        where="read_identity",
    ),
    Plant(
        "a password of a private key that everybody can read is no warning", "security/keys.py",
        "files.name.endswith('KeyStore')", "False", ["tests.security.test_keys"], where="_password",
    ),
    Plant(
        "an error shows the bytes of a file", _FILES,
        "pass", "raise", _STORED, where="read_text",
    ),
    Plant(
        "files are looked at only once", _FILES,
        "not 0 <= now - self._looked_at < self._refresh", "False", _STORED, where="FromFiles.get",
    ),
    Plant(
        "a clock that was put back ends the looking at keys of tokens", _FILES,
        "0 <= now - self._looked_at < self._refresh", "now - self._looked_at < self._refresh", _STORED,
        where="FromFiles.get",
    ),
    Plant(
        "files are looked at for each token", _FILES,
        "not 0 <= now - self._looked_at < self._refresh", "True", _STORED, where="FromFiles.get",
    ),
    Plant(
        "a broken file refuses everybody", _FILES,
        "_log.error('{what} have changed and cannot be used, the previous ones stay in use: {reason}',"
        " what=self._what, reason=str(error))", "raise", _STORED, where="FromFiles._renew",
    ),
    Plant(
        "a client sends its token in clear", _SIDES,
        "if not self._is_private: ...", "pass", _SENT, where="_ClientSide.next_token",
    ),
    Plant(
        "a bookie takes a token in clear", _SIDES,
        "if not self._is_private: ...", "pass", _SENT, where="_BookieSide.next_token",
    ),
    Plant(
        "a client begins without TLS for its token", _SIDES,
        "not config.encrypts and not config.token_in_clear", "False", _SENT, where="token_client",
    ),
    Plant(
        "a bookie that refuses every token begins", _SIDES,
        "not config.encrypts and not config.token_in_clear", "False", _SENT, where="token_bookie",
    ),
    Plant(
        "a bookie is authenticated by any token", _SIDES,
        "self._verifier.verify((received or b'').decode('ascii', 'replace'))", "NOBODY", _SENT,
        where="_BookieSide.next_token",
    ),
    Plant(
        "a token that is renewed is not read again", _SIDES,
        "read_token(self._path)", "read_token.__dict__.setdefault(self._path, read_token(self._path))", _SENT,
        where="_ClientSide.next_token",
    ),
    Plant(
        "any role of a certificate counts", _ROLES,
        "certified.roles[:1]", "certified.roles", _SHOWN, where="CertificateBookie._refusal",
    ),
    Plant(
        "roles of a token count as those of a certificate", _ROLES,
        "certified.kind != 'certificate'", "False", _SHOWN, where="CertificateBookie._refusal",
    ),
    Plant(
        "a role can be called as a SPIFFE id", _ROLES,
        "frozenset(known - self._ids)", "frozenset(known)", _SHOWN, where="CertificateBookie.__init__",
    ),
    Plant(
        "a URI can be called as a role", _ROLES,
        "frozenset(each for each in known if each.startswith(_SPIFFE))", "frozenset(known)", _SHOWN,
        where="CertificateBookie.__init__",
    ),
    Plant(
        "any of several URIs counts", _ROLES,
        "len(certified.uris) == 1 and certified.uris[0] in self._ids", "self._ids.intersection(certified.uris)",
        _SHOWN, where="CertificateBookie._refusal",
    ),
    Plant(
        "everybody with a certificate is let in", _ROLES,
        "if not reason: ...", "return NoExchange(peer)", _SHOWN, where="CertificateBookie.bookie_exchange",
    ),
    Plant(
        "roles are looked for although no client shows a certificate", _ROLES,
        "not config.encrypts or not config.tls_client_authentication", "False", _SHOWN, where="_require_certificates",
    ),
    Plant(
        "roles have no effect without their plugin", "config/authentication.py",
        "asks_for_roles and not uses_roles and not self.allow_insecure_connections", "False", _SHOWN,
        where="AuthenticationConfig._check",
    ),
    Plant(
        "any user may start a bookie", "embedding/production.py",
        "require_permitted(config, process_user())", "pass", ["tests.embedding.test_production"], where="make_bookie",
    ),
    Plant(
        "the environment says whose process it is", "embedding/local_host.py",
        "pwd.getpwuid(number).pw_name", "os.environ['USER']", ["tests.embedding.test_local_host"],
        where="process_user",
    ),
    Plant(
        "the file of a token is for everybody", "cli/tokens.py",
        "os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)",
        "os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)", _COMMAND,
        where="_write_private",
    ),
    Plant(
        "the file of keys is for everybody", "cli/tokens.py",
        "os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)",
        "os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)", _COMMAND, where="_make_key",
    ),
    Plant(
        "a bookie ignores an unknown plugin of clients", "bookie/lifecycle/settings.py",
        "check_client_plugin(config)", "", ["tests.authentication.test_plugins"], where="engine_options",
    ),
)  # fmt: skip
