"""Authentication by signed tokens."""

from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.plugins import TokenPlugin, bookie_authentication, client_authentication
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import ConfigError, UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer
from bookkeeper_twisted.security.principals import NOBODY, Principal
from bookkeeper_twisted.security.tokens import MAX_SIZE, sign_token
from bookkeeper_twisted.testing.contracts import authentication_contract

from ..security.signed_tokens import NOW, SECRET, claims

TLS = {"tls_provider_factory_class": "TLSContextFactory"}
CLIENT, BOOKIE = Peer("10.0.0.1:7", is_encrypted=True), Peer("bookie:3181", is_encrypted=True)


class Files:
    """A file of secrets and a file with a token."""

    def __init__(self, folder: str) -> None:
        Path(folder).mkdir()
        self.keys, self.token = Path(folder, "keys"), Path(folder, "token")
        for path in (self.keys, self.token):
            path.touch(0o600)
        self.keys.write_text(f"{SECRET.key_id} {SECRET.material.decode()}\n")
        self.put(sign_token(SECRET, claims()))

    def put(self, token: str) -> None:
        """Write the token."""
        self.token.write_text(token)

    def config(self, **more: Any) -> AuthenticationConfig:
        """The configuration of both sides."""
        return AuthenticationConfig(**{
            "bookie_auth_provider_factory_class": "token", "client_auth_provider_factory_class": "token",
            "token_key_file": str(self.keys), "client_auth_token_file": str(self.token), **TLS, **more,
        })  # fmt: skip


class TokenContractTests(authentication_contract.AuthenticationContract):
    """The contract."""

    def make(self) -> TokenPlugin:
        return TokenPlugin(lambda: NOW)

    def make_config(self) -> AuthenticationConfig:
        return Files(self.mktemp()).config()

    def peers(self) -> tuple[Peer, Peer]:
        return CLIENT, BOOKIE

    def test_principal(self) -> None:
        """The token says who the client is, after one round; the bookie is who its certificate says."""
        certified = Principal("certificate", "CN=bookie")
        bookie = self.bookie.bookie_exchange(CLIENT)
        client = self.client.client_exchange(Peer("bookie:3181", certified, True))
        self.assertFalse(bookie.complete or client.complete)
        self.assertEqual(self.talk(bookie, client), 1)
        self.assertEqual(bookie.principal, Principal("token", "joe", ("writers", "readers")))
        self.assertEqual(client.principal, certified)


class TokenCase(SynchronousTestCase):
    """Has the files, and a clock."""

    def setUp(self) -> None:
        """Makes them."""
        self.files, self.now = Files(self.mktemp()), NOW
        self.plugin = TokenPlugin(lambda: self.now)

    def first(self, peer: Peer = BOOKIE, **more: Any) -> "Deferred[bytes]":
        """The first token of a client."""
        exchange: Any = self.client_side(**more).client_exchange(peer)
        return maybeDeferred(exchange.next_token, None)

    def client_side(self, **more: Any) -> Any:
        """The client's side."""
        return self.plugin.for_client(self.files.config(**more))


class ClientTests(TokenCase):
    """The client's side."""

    def test_renewed(self) -> None:
        """The file is read for each connection."""
        side = self.client_side()
        for name in ("joe", "ann"):
            token = sign_token(SECRET, claims(sub=name))
            self.files.put(f"  {token}\r\n")
            self.assertEqual(self.successResultOf(side.client_exchange(BOOKIE).next_token(None)), token.encode())

    def test_in_clear(self) -> None:
        """Nothing is sent in clear unless that is allowed."""
        error = self.failureResultOf(self.first(Peer("bookie:3181")), UnauthorizedAccessError).value
        self.assertIn("not encrypted", str(error))
        self.successResultOf(self.first(Peer("bookie:3181"), token_in_clear=True))

    def test_start(self) -> None:
        """A client without the file, or without TLS for it, is not made."""
        for more, text in (
            ({"client_auth_token_file": ""}, "clientAuthTokenFile = '', default: has to name"),
            ({"client_auth_token_file": "none"}, "clientAuthTokenFile = 'none': No such file"),
            ({"tls_provider_factory_class": ""}, "would be sent in clear"),
        ):
            error = self.assertRaises(ConfigError, client_authentication, self.files.config(**more))
            self.assertIn(text, str(error))
        client_authentication(self.files.config(tls_provider_factory_class="", token_in_clear=True))

    def test_file(self) -> None:
        """A file without one token is refused at the start, and for a connection; the error shows nothing of it."""
        side = self.client_side()
        for content in (b"", b" \n", b"secret secret", b"secret\nsecret", b"secret\xff", "secr\u00e9t".encode(),
                        b"secret" * MAX_SIZE):  # fmt: skip
            self.files.token.write_bytes(content)
            error = self.assertRaises(ConfigError, self.client_side)
            self.assertIn("clientAuthTokenFile = ", str(error))
            refusal = self.failureResultOf(
                maybeDeferred(side.client_exchange(BOOKIE).next_token, None), UnauthorizedAccessError
            ).value
            for each in (error, refusal):
                self.assertNotIn("secr", str(each).replace(str(self.files.token), ""))
        self.files.token.unlink()
        self.failureResultOf(maybeDeferred(side.client_exchange(BOOKIE).next_token, None), UnauthorizedAccessError)

    def test_readable(self) -> None:
        """A token that everybody may read is a warning at the start, and not for each connection."""
        self.files.token.chmod(0o644)
        with capturedLogs() as events:
            side = self.client_side()
            self.successResultOf(side.client_exchange(BOOKIE).next_token(None))
        self.assertEqual([event["log_level"].name for event in events], ["warn"])


class BookieTests(TokenCase):
    """The bookie's side."""

    def refused(self, token: bytes | None, peer: Peer = CLIENT) -> str:
        """A token is refused, and nobody authenticated; return the reason."""
        exchange: Any = self.plugin.for_bookie(self.files.config()).bookie_exchange(peer)
        error = self.assertRaises(UnauthorizedAccessError, exchange.next_token, token)
        self.assertEqual((exchange.complete, exchange.principal), (False, NOBODY))
        return str(error)

    def test_refused(self) -> None:
        """Bytes that are no token are refused, and so is a token that has expired."""
        token = sign_token(SECRET, claims()).encode()
        for other in (None, b"", b"\xff\xfe", token + b"\n", token + b"\0", token + b"\xff", token[:-1], token + b"A"):
            self.refused(other)
        self.now += 65
        self.assertIn("expired", self.refused(token))

    def test_in_clear(self) -> None:
        """A token that came in clear is refused, though it is good, unless that is allowed."""
        token, peer = sign_token(SECRET, claims()).encode(), Peer("10.0.0.1:7")
        self.assertIn("in clear", self.refused(token, peer))
        exchange = self.plugin.for_bookie(self.files.config(token_in_clear=True)).bookie_exchange(peer)
        self.assertEqual(self.successResultOf(exchange.next_token(token)), b"")
        self.assertTrue(exchange.complete)

    def test_no_keys(self) -> None:
        """A bookie without keys of tokens is not made."""
        error = self.assertRaises(ConfigError, bookie_authentication, self.files.config(token_key_file=""))
        self.assertIn("bookieAuthProviderFactoryClass = 'token'", str(error))
        self.assertIn("tokenKeyFile or tokenPublicKeys", str(error))

    def test_without_tls(self) -> None:
        """A bookie that would refuse every token, as no connection is encrypted, is not made."""
        config = self.files.config(tls_provider_factory_class="")
        error = self.assertRaises(ConfigError, bookie_authentication, config)
        self.assertIn("tokens are refused in clear, so nobody can log in: set tlsProviderFactoryClass", str(error))
        bookie_authentication(self.files.config(tls_provider_factory_class="", token_in_clear=True))

    def test_clock(self) -> None:
        """The plugin that is found by its name goes by the clock of this machine."""
        side = bookie_authentication(self.files.config())
        exchange = side.bookie_exchange(CLIENT)
        error = self.assertRaises(UnauthorizedAccessError, exchange.next_token, sign_token(SECRET, claims()).encode())
        self.assertIn("expired", str(error))
