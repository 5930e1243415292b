"""Bookies that require TLS, certificates of clients and users of SASL, and options by which Spark reaches them."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.security.token_keys import read_secrets
from bookkeeper_twisted.security.tokens import sign_token
from bookkeeper_twisted.spark.reactor import THREAD

from ..authentication.sasl.sasl_case import JAAS, PASSWORD
from ..integration.test_tls import HOST, tls_keys
from ..security.certificates import Folder, Pair, authority, issued
from .cluster_case import CONFIG, ClusterCase

_TOKEN_KEY = "cGxhbnRlZCBzZWNyZXQgZm9yIHRva2VucywgMzIgYnl0ZXM"
SASL = {"bookie_auth_provider_factory_class": "sasl", "client_auth_provider_factory_class": "sasl"}


@cache
def _pairs() -> tuple[Pair, Pair]:
    return issued("a bookie", authority(), (HOST,)), issued("a task", authority(), units=["0:readers"])


def options_of(values: dict[str, Any]) -> dict[str, str]:
    """The options of Spark for attributes of the client's configuration."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}
    return {f"bookkeeper.{fields_of(ClientConfig)[name].key}": text for name, text in texts.items()}


class SecuredCase(ClusterCase):
    """Three bookies with mutual TLS and DIGEST-MD5, or with TLS and tokens.

    :cvar with_tokens: whether clients prove by tokens who they are, and have no certificates.
    :ivar keys: attributes of the client's configuration.
    :ivar options: the same as options of Spark.
    :ivar secrets: what no plan, text or message may have in it.
    """

    with_tokens = False

    def setUp(self) -> None:
        directory = Path(self.mktemp()).absolute()
        directory.mkdir()
        self.files = Folder(directory / "client")
        bookies = Folder(directory / "bookies")
        for folder, pair in zip((bookies, self.files), _pairs(), strict=True):
            folder.put_pair(pair, authority())
        proof = self.token_keys(directory) if self.with_tokens else self.sasl_keys(directory)
        shows = {"tls_client_authentication": not self.with_tokens}
        self.keys = {**tls_keys(self.files), **shows, **proof}
        self.options = options_of({name: value for name, value in self.keys.items() if name not in _OF_BOOKIES})
        self.secrets += _pairs()[1].key_pem().decode().splitlines()[1:-1]
        of_bookies = {**tls_keys(bookies), **shows, **proof}
        self.config = attrs.evolve(CONFIG, tls_required=True, **of_bookies)
        self.client_config = ClientConfig(explicit_lac_interval=0, **self.keys)
        super().setUp()

    def sasl_keys(self, directory: Path) -> dict[str, Any]:
        """Write the users; return the keys of both sides."""
        jaas = directory / "jaas"
        jaas.write_text(JAAS)
        jaas.chmod(0o600)
        self.secrets = [PASSWORD]
        return {**SASL, "sasl_jaas_config": str(jaas), "client_auth_required": True}

    def token_keys(self, directory: Path) -> dict[str, Any]:
        """Write a key and a token that it has signed; return the keys of both sides."""
        keys, token = directory / "token.keys", directory / "token"
        for path in (keys, token):
            path.touch(0o600)
        keys.write_text(f"k1 {_TOKEN_KEY}\n")
        (key,) = read_secrets(str(keys))
        token.write_text(sign_token(key, {"sub": "joe", "exp": int(THREAD.reactor.seconds()) + 3600}))
        self.secrets = [_TOKEN_KEY, token.read_text()]
        plugin = {"bookie_auth_provider_factory_class": "token", "client_auth_provider_factory_class": "token"}
        return {**plugin, "token_key_file": str(keys), "client_auth_token_file": str(token)}

    def assert_no_secrets(self, texts: Iterable[str]) -> None:
        """None of the secrets is in the texts."""
        whole = "\n".join(texts)
        for secret in self.secrets:
            self.assertNotIn(secret, whole)


_OF_BOOKIES = frozenset({"bookie_auth_provider_factory_class", "token_key_file"})
