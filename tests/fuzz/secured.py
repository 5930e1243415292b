"""A run against a bookie with TLS and SASL, whose peers are let in, or are not."""

from pathlib import Path
from random import Random
from typing import Any

from bookkeeper_twisted.config.authentication import AuthenticationConfig

from ..authentication.sasl.sasl_case import JAAS
from ..integration.peer import Peer
from ..security.certificates import Folder, authority, issued
from ..security.key_updates import SUITE
from .peer import FuzzPeer, operate
from .run import Run
from .secured_peer import Keys, UntrustedPeer

_LET_IN = 0.3
"""The share of peers that are let in and send what is drawn then."""


class SecuredRun(Run):
    """One run; with an even seed the bookie requires TLS."""

    def __init__(self, reactor: Any, folder: Path, operations: int, seed: int) -> None:
        super().__init__(reactor, folder / "bookie", operations, seed)
        files = Folder(folder)
        files.put_pair(issued("bookie", authority(), ["127.0.0.1"]), authority())
        jaas = folder / "jaas"
        jaas.write_text(JAAS)
        jaas.chmod(0o600)
        sasl = AuthenticationConfig(
            sasl_jaas_config=str(jaas), bookie_auth_provider_factory_class="sasl",
            client_auth_provider_factory_class="sasl",
        )  # fmt: skip
        self._keys = Keys(reactor, files.settings(client_authentication=False, ciphers=SUITE), sasl)
        self.options = (
            *self.options, "--bookieAuthProviderFactoryClass=sasl", f"--saslJaasConfig={jaas}",
            "--tlsProviderFactoryClass=org.apache.bookkeeper.tls.TLSContextFactory", "--tlsKeyStoreType=PEM",
            f"--tlsKeyStore={folder / 'key.pem'}", f"--tlsCertificatePath={folder / 'chain.pem'}",
            f"--tlsRequired={'false' if seed % 2 else 'true'}",
        )  # fmt: skip

    async def connect(self, port: int) -> Peer:
        """See :meth:`.Run.connect`."""
        peer = Peer(2)
        await self._keys.let_in(port, peer)
        return peer

    async def operate(self, port: int, name: str) -> None:
        """See :meth:`.Run.operate`."""
        if Random(f"{name} is let in").random() < _LET_IN:
            self.figures["let in"] += 1
            await operate(self.reactor, port, self.model, name, self.lingering, self._let_in)
            return
        untrusted = UntrustedPeer(self.reactor, port, self._keys, self.model, name)
        await untrusted.operate()
        self.figures[f"not let in, {untrusted.done}"] += 1

    async def _let_in(self, reactor: Any, port: int, model: Any) -> FuzzPeer:
        peer = FuzzPeer(model)
        await self._keys.let_in(port, peer)
        return peer
