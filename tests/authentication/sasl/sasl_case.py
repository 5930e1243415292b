"""A JAAS file and the sides of SASL that use it."""

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.sasl.sides import SaslBookie, SaslClient, SaslWorld
from bookkeeper_twisted.config.authentication import AuthenticationConfig
from bookkeeper_twisted.errors import UnauthorizedAccessError
from bookkeeper_twisted.protocol.authentication import Peer

LOGIN = "org.apache.zookeeper.server.auth.DigestLoginModule required"
USER, PASSWORD = "a-bookkeeper-user", "sesame"
JAAS = f"""\
Bookie {{
    {LOGIN}
        user_{USER}="{PASSWORD}" user_stranger="{PASSWORD}" user_auditor-bookkeeper="walnut";
}};
BookKeeper {{ {LOGIN} username="{USER}" password="{PASSWORD}"; }};
Auditor {{ {LOGIN} username="auditor-bookkeeper" password="walnut"; }};
Wrong {{ {LOGIN} username="{USER}" password="melon"; }};
Unknown {{ {LOGIN} username="bookkeeper-nobody" password="{PASSWORD}"; }};
Stranger {{ {LOGIN} username="stranger" password="{PASSWORD}"; }};
"""
CLIENT, BOOKIE = Peer("192.0.2.1:40000"), Peer("bookie:3181")


@attrs.define
class Numbers:
    """Random bytes that are known: those given, then counted ones."""

    given: list[bytes] = attrs.field(factory=list)
    count: int = 0

    def __call__(self, size: int) -> bytes:
        if self.given:
            return self.given.pop(0)
        self.count += 1
        return self.count.to_bytes(size, "big")


def nonce_bytes(nonce: str) -> bytes:
    """The random bytes that make a nonce."""
    return b64decode(nonce)


class SaslCase(SynchronousTestCase):
    """Sides made of one configuration.

    :cvar mechanism: of both.
    """

    mechanism = "DIGEST-MD5"

    def setUp(self) -> None:
        super().setUp()
        self.clock = Clock()
        self.numbers = Numbers()
        self.world = SaslWorld(self.clock.seconds, self.numbers)
        self.path = Path(self.mktemp())
        self.write(JAAS)

    def write(self, text: str, mode: int = 0o600) -> None:
        """Put a file in the place of the JAAS file."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.chmod(mode)
        new.rename(self.path)

    def config(self, **more: Any) -> AuthenticationConfig:
        """A configuration that names the file, and has TLS, which PLAIN needs."""
        values = {
            "sasl_jaas_config": str(self.path), "sasl_mechanism": self.mechanism,
            "bookie_auth_provider_factory_class": "sasl", "client_auth_provider_factory_class": "sasl",
            "tls_provider_factory_class": "TLSContextFactory",
        }  # fmt: skip
        return AuthenticationConfig(**{**values, **more})  # type: ignore[arg-type]

    def bookie(self, peer: Peer = CLIENT, **more: Any) -> Any:
        """The exchange of a bookie with a client."""
        return SaslBookie(self.config(**more), self.world).bookie_exchange(peer)

    def client(self, section: str = "BookKeeper", peer: Peer = BOOKIE, **more: Any) -> Any:
        """The exchange of a client, whose user is in a section, with a bookie."""
        config = self.config(sasl_jaas_client_section_name=section, **more)
        return SaslClient(config, self.world).client_exchange(peer)

    def token(self, exchange: Any, received: bytes | None) -> bytes:
        """The next token of an exchange."""
        token: bytes = self.successResultOf(exchange.next_token(received))
        return token

    def refused(self, exchange: Any, received: bytes | None) -> str:
        """Why an exchange refuses a token; it stays refused, and no password is in the reason."""
        failure = self.failureResultOf(exchange.next_token(received), UnauthorizedAccessError)
        self.failureResultOf(exchange.next_token(received), UnauthorizedAccessError)
        self.assertFalse(exchange.complete)
        self.assertEqual(exchange.principal.kind, "none")
        reason = str(failure.value)
        self.assertIsNone(re.search(f"{PASSWORD}|walnut|melon|testpwd", reason), reason)
        return reason
