"""Bookies that require TLS, certificates of clients and users of SASL, and options by which Spark reaches them."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of

from ..authentication.sasl.sasl_case import JAAS, PASSWORD
from ..integration.test_tls import HOST, tls_keys
from ..security.certificates import Folder, Pair, authority, issued
from .cluster_case import CONFIG, ClusterCase

SASL = {"bookie_auth_provider_factory_class": "sasl", "client_auth_provider_factory_class": "sasl"}


@cache
def _pairs() -> tuple[Pair, Pair]:
    return issued("a bookie", authority(), (HOST,)), issued("a task", authority(), units=["0:readers"])


def options_of(values: dict[str, Any]) -> dict[str, str]:
    """The options of Spark for attributes of the client's configuration."""
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}
    return {f"bookkeeper.{fields_of(ClientConfig)[name].key}": text for name, text in texts.items()}


class SecuredCase(ClusterCase):
    """Three bookies with mutual TLS and DIGEST-MD5.

    :ivar keys: attributes of the client's configuration.
    :ivar options: the same as options of Spark.
    :ivar secrets: what no plan, text or message may have in it.
    """

    def setUp(self) -> None:
        directory = Path(self.mktemp()).absolute()
        directory.mkdir()
        self.files = Folder(directory / "client")
        bookies = Folder(directory / "bookies")
        for folder, pair in zip((bookies, self.files), _pairs(), strict=True):
            folder.put_pair(pair, authority())
        jaas = directory / "jaas"
        jaas.write_text(JAAS)
        jaas.chmod(0o600)
        sasl: dict[str, Any] = {**SASL, "sasl_jaas_config": str(jaas), "client_auth_required": True}
        self.keys = {**tls_keys(self.files), **sasl}
        self.options = options_of({name: value for name, value in self.keys.items() if name not in _OF_BOOKIES})
        self.secrets = [PASSWORD, *_pairs()[1].key_pem().decode().splitlines()[1:-1]]
        self.config = attrs.evolve(CONFIG, tls_required=True, **sasl, **tls_keys(bookies))
        self.client_config = ClientConfig(explicit_lac_interval=0, **self.keys)
        super().setUp()

    def assert_no_secrets(self, texts: Iterable[str]) -> None:
        """None of the secrets is in the texts."""
        whole = "\n".join(texts)
        for secret in self.secrets:
            self.assertNotIn(secret, whole)


_OF_BOOKIES = frozenset({"bookie_auth_provider_factory_class"})
