"""Plants in the security of the HTTP servers: TLS, principals, and what they may ask for."""

from .plant import Plant

_ACCESS, _PRINCIPALS, _TLS = "http/access.py", "http/principals.py", "http/encryption.py"
_CHANNEL, _SITE, _CONFIG = "http/channel.py", "http/site.py", "config/http.py"
_ASKED, _SECURE = ["tests.http.test_guard"], ["tests.http.test_encryption"]

PLANTS = (
    Plant(
        "requests are answered until it is known who reaches the server", _ACCESS,
        "self._checks = self._mode != NONE", "self._checks = False", _ASKED, where="AccessGuard.__init__",
    ),
    Plant(
        "every address is this machine's", "bookie/lifecycle/endpoints.py",
        "isinstance(address, UNIXAddress)", "True", ["tests.bookie.lifecycle.test_endpoints.OpenedTests"],
        where="opened",
    ),
    Plant(
        "a principal can add lines to the log", _PRINCIPALS,
        "each.isprintable()", "True", _ASKED, where="shown_name",
    ),
    Plant(
        "the error of a token has its frames", _PRINCIPALS,
        "reason = getattr(error, 'detail', '') or str(error)", "raise CredentialsError(str(error)) from None",
        ["tests.http.test_principals"], where="_of_token",
    ),
    Plant(
        "requests of other machines are not checked", _ACCESS,
        "self._mode == AUTO and local", "self._mode == AUTO", _ASKED, where="AccessGuard.opened",
    ),
    Plant(
        "httpAuthentication=required means auto", _ACCESS,
        "self._mode == AUTO and local", "local", _ASKED, where="AccessGuard.opened",
    ),
    Plant(
        "the key for the old behaviour has no effect", _ACCESS,
        "self._mode != NONE and not (self._mode == AUTO and local)", "not (self._mode == AUTO and local)", _ASKED,
        where="AccessGuard.opened",
    ),
    Plant(
        "a page that is open to all can be written by all", _ACCESS,
        "not (reads and path in self._open)", "path not in self._open", _ASKED, where="AccessGuard._refusal",
    ),
    Plant(
        "a refused request is answered", _SITE,
        "refusal is not None", "False", _ASKED, where="_Paths.render",
    ),
    Plant(
        "any principal may change a state", _ACCESS,
        "not reads or path in self._of_administrators", "path in self._of_administrators", _ASKED,
        where="AccessGuard._refusal",
    ),
    Plant(
        "any principal may read entries", _ACCESS,
        "not reads or path in self._of_administrators", "not reads", _ASKED, where="AccessGuard._refusal",
    ),
    Plant(
        "a GET that writes a ledger counts as reading", _ACCESS,
        "request.method in _READING and path not in self._changing", "request.method in _READING", _ASKED,
        where="AccessGuard.check",
    ),
    Plant(
        "entries are described as for any principal", "http/cluster_api.py",
        "Access.ADMINISTRATOR", "Access.PRINCIPAL", _ASKED, where="ClusterApi",
    ),
    Plant(
        "an operation is described as refusing no one", "http/routes.py",
        "refused", "()", ["tests.http.test_openapi"], where="Route.statuses",
    ),
    Plant(
        "every method but PUT and DELETE counts as reading", _ACCESS,
        "request.method in _READING", 'request.method not in (b"PUT", b"DELETE")', _ASKED, where="AccessGuard.check",
    ),
    Plant(
        "a read-only server obeys administrators", _ACCESS,
        "self._read_only and not reads", "self._read_only and not reads and not self._is_admin(principal)", _ASKED,
        where="AccessGuard._refusal",
    ),
    Plant(
        "a read-only server does what local requests say", _ACCESS,
        "self._read_only and not reads", "self._read_only and self._checks and not reads", _ASKED,
        where="AccessGuard._refusal",
    ),
    Plant(
        "a name that looks like a role is a role", _ACCESS,
        "not principal.name or principal.name.startswith(_ROLE)", "not principal.name", _ASKED,
        where="AccessGuard._is_admin",
    ),
    Plant(
        "a URI that looks like a role is a role", _ACCESS,
        "(uri for uri in principal.uris if not uri.startswith(_ROLE))", "principal.uris", _ASKED, where="_uris",
    ),
    Plant(
        "roles give no rights", _ACCESS,
        "map(_ROLE.__add__, principal.roles)", "()", _ASKED, where="AccessGuard._is_admin",
    ),
    Plant(
        "each refused request is a line", _ACCESS,
        "self._lines.log", "(lambda write, text, peer, **named: write(text, peer=peer, **named))", _ASKED,
        where="AccessGuard.check",
    ),
    Plant(
        "a request without a principal gets no challenge", _ACCESS,
        'request.setHeader(b"WWW-Authenticate", self.challenge)', "pass", _ASKED, where="RefusedRequest.answer",
    ),
    Plant(
        "the first of two tokens counts", _PRINCIPALS,
        "len(headers) > 1", "False", _ASKED, where="_of_token",
    ),
    Plant(
        "any scheme of credentials is taken for a token", _PRINCIPALS,
        "scheme.lower() != _SCHEME", "False", _ASKED, where="_of_token",
    ),
    Plant(
        "tokens may come in clear", _PRINCIPALS,
        "in_clear or request.isSecure()", "True", _ASKED, where="identify",
    ),
    Plant(
        "the shell sends its token in clear to any machine", "cli/http_requests.py",
        "encrypted or config.token_in_clear or _is_local(url)", "True", ["tests.cli.test_http_requests"], where="send",
    ),
    Plant(
        "the shell asks a server with TLS in clear", "cli/bookie_servers.py",
        "f'{endpoint.protocol}://{endpoint.host}:{endpoint.port}'", "f'http://{endpoint.host}:{endpoint.port}'",
        ["tests.cli.commands.test_limits"], where="server_url",
    ),
    Plant(
        "a certificate takes the place of a token that is refused", _PRINCIPALS,
        "_of_token(headers, verifier, is_private) if headers else _of_certificate(request)",
        "_of_token(headers, verifier, is_private) if headers and verifier else _of_certificate(request)",
        _SECURE, where="identify",
    ),
    Plant(
        "certificates are no principals over HTTP", _PRINCIPALS,
        "principal_of_certificate(certificate.to_cryptography())", "NOBODY", _SECURE, where="_of_certificate",
    ),
    Plant(
        "handshakes do not take turns", _TLS,
        "if not self._arrived: ...", "super().dataReceived(data)\nreturn", _SECURE,
        where="EncryptedHttpConnection.dataReceived",
    ),
    Plant(
        "a connection is read while its handshake waits", _TLS,
        "self._below.put_off(True)", "pass", _SECURE, where="EncryptedHttpConnection.dataReceived",
    ),
    Plant(
        "a connection is not read on after a step of its handshake", _TLS,
        "self._below.put_off(False)", "pass", _SECURE, where="EncryptedHttpConnection.serve",
    ),
    Plant(
        "a connection beyond the bound is an error of the server", _TLS,
        "channel is None", "False", _SECURE, where="EncryptedSite.buildProtocol",
    ),
    Plant(
        "a certificate is required where it is optional", _TLS,
        "certificates == OPTIONAL", "False", _SECURE, where="http_tls",
    ),
    Plant(
        "an optional certificate is not asked for", _TLS,
        "certificates != NONE", 'certificates == "required"', _SECURE, where="http_tls",
    ),
    Plant(
        "files of the HTTP server's TLS are read once", _TLS,
        "config.tls_cert_files_refresh_duration_seconds", "1e9", _SECURE, where="http_tls",
    ),
    Plant(
        "half a TCP connection is closed below TLS", _CHANNEL,
        "None if self.handshaken else getattr(self.transport, 'loseWriteConnection', None)",
        "getattr(self.transport, 'loseWriteConnection', None)", _SECURE, where="BoundedChannel.refuse",
    ),
    Plant(
        "a failed handshake is not counted", _CHANNEL,
        "self.failed_handshakes.value += 1", "pass", _SECURE, where="BoundedSite.handshake_failed",
    ),
    Plant(
        "a trust store does not make certificates required", _CONFIG,
        "REQUIRED if self.http_server_trust_store_path else NONE", "NONE", _SECURE, where="HttpConfig",
    ),
    Plant(
        "files of TLS without TLS are ignored", _CONFIG,
        "getattr(self, name) and not self.allow_insecure_connections", "False", _SECURE, where="HttpConfig._check",
    ),
    Plant(
        "a process with keys may write a core dump", "cli/tap.py",
        "config.has_keys", "False", ["tests.cli.test_tap"], where="forbid_cores",
    ),
    Plant(
        "autorecovery with keys may write a core dump", "cli/autorecovery_tap.py",
        "forbid_cores(options.config)", "pass", ["tests.cli.test_autorecovery_tap"], where="makeService",
    ),
    Plant(
        "a password in a file does not win", "security/keys.py",
        "not files.password_path", "files.password or not files.password_path", _SECURE, where="_password",
    ),
)
