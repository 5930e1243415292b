"""The space of ledgers, asked from HTTP servers of bookies with TLS, certificates and tokens."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import attrs

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.embedding import make_bookie
from bookkeeper_twisted.errors import (
    BookieHandleNotAvailableError,
    BookKeeperError,
    ConfigError,
    UnauthorizedAccessError,
)
from bookkeeper_twisted.security.token_keys import read_secrets
from bookkeeper_twisted.security.tokens import sign_token
from bookkeeper_twisted.spark import main
from bookkeeper_twisted.spark.reactor import THREAD

from ...integration.test_tls import HOST, tls_keys
from ...security.certificates import Folder, authority, issued
from ..cluster_case import ClusterCase
from ..secured_case import options_of
from ..session import missing, session

PAYLOADS = [b"%d" % n * 20 for n in range(300)]
_SECRET = "c2VjcmV0IG9mIGF0IGxlYXN0IDMyIGJ5dGVzIGZvciB0ZXN0cw"


class SecuredLocationTests(ClusterCase):
    """A bookie whose HTTP server has TLS, and asks for a certificate or a token."""

    skip = missing() or None
    timeout = 900  # as of the other tests on Spark

    def setUp(self) -> None:
        super().setUp()
        self.written = self.ledger(PAYLOADS)
        self.stop_bookies()  # writes what is in memory
        directory = Path(self.mktemp()).absolute()
        directory.mkdir()
        bookie, self.files = Folder(directory / "bookie"), Folder(directory / "client")
        bookie.put_pair(issued("a bookie", authority(), (HOST,)), authority())
        self.files.put_pair(issued("a client", authority()), authority())
        keys = Path(bookie.put("secrets", f"k1 {_SECRET}\n".encode()))
        keys.chmod(0o600)
        claims = {"sub": "alice", "exp": int(THREAD.reactor.seconds()) + 600}
        self.token = sign_token(read_secrets(str(keys))[0], claims)
        token = Path(self.files.put("token", self.token.encode()))
        token.chmod(0o600)
        self.with_token = tls_keys(self.files, tls_client_authentication=False, client_auth_token_file=str(token))
        config = attrs.evolve(
            self.configs[0], http_server_enabled=True, http_server_port=0, http_server_host=HOST,
            http_authentication="required", http_server_tls_enable=True, http_server_key_store_type="PEM",
            http_server_key_store_path=str(bookie.path / "key.pem"), http_server_trust_store_type="PEM",
            http_server_certificate_path=str(bookie.path / "chain.pem"), token_key_file=str(keys),
            http_server_trust_store_path=str(bookie.path / "trust.pem"),
            http_server_tls_client_authentication="optional",
        )  # fmt: skip
        self.bookies.append(make_bookie(THREAD.reactor, config))
        THREAD.wait(self.bookies[-1].start)
        self.location = f"https://{HOST}:{self.bookies[-1].http_port}"

    def asked(self, keys: dict[str, Any]) -> dict[int, int]:
        """The bytes of each ledger, asked without Spark."""
        from bookkeeper_twisted.spark.pipelines import space
        from bookkeeper_twisted.spark.task.security import security_settings

        security = security_settings(ClientConfig(**keys))
        ((directory, log_id, n_bytes),) = space._logs_of_bookie(self.location, security)
        self.assertGreater(n_bytes, 0)
        self.assertNotIn(self.token, repr(security))
        return space.used_in(directory, log_id, security=security)

    def test_asked(self) -> None:
        """A certificate or a token is enough."""
        stored = sum(map(len, PAYLOADS)) + len(PAYLOADS) * 40
        for keys in (tls_keys(self.files), self.with_token):
            self.assertEqual(self.asked(keys), {self.written: stored})

    def refused(self, wanted: str, kind: type[BookKeeperError], keys: dict[str, Any]) -> None:
        """Nothing is answered, and the error says why."""
        error = self.assertRaises(kind, self.asked, keys)
        self.assertRegex(str(error), wanted)
        self.assertNotIn(self.token, str(error))

    def test_refused(self) -> None:
        """No token, one of another key, an authority that is not trusted, and no trust store: each has its reason."""
        nobody = tls_keys(self.files, tls_client_authentication=False)
        self.refused(f"{self.location}.*: a token or a certificate is needed", UnauthorizedAccessError, nobody)
        Path(self.with_token["client_auth_token_file"]).write_text(self.token[:-4] + "AAAA")
        self.refused(f"{self.location}.*signature", UnauthorizedAccessError, self.with_token)
        self.refused("tlsTrustStore is not set", ConfigError, {})
        self.files.put("trust.pem", authority("another").chain_pem())
        self.refused(
            f"{self.location}.*the root of its chain is not in the trust store", BookieHandleNotAvailableError, nobody
        )

    def run_usage(self, *arguments: str) -> tuple[int, str, str]:
        """The status of the command, what it prints, and its errors."""
        session()
        printed, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(printed), redirect_stderr(errors):
            status = main.main(["--parallelism", "2", "usage", self.location, *arguments])
        return status, printed.getvalue(), errors.getvalue()

    def test_command(self) -> None:
        """The command takes the keys from its file, also in tasks; without the file the error says what is missing."""
        conf = Path(self.mktemp())
        keys = {fields_of(ClientConfig)[name].key: value for name, value in self.with_token.items()}
        conf.write_text("".join(f"{key}={value!s}\n" for key, value in keys.items()))
        status, printed, errors = self.run_usage("--conf", str(conf))
        self.assertEqual((status, errors), (0, ""))
        self.assertIn(f"ledger {self.written:>20}", printed)
        status, printed, errors = self.run_usage()
        self.assertEqual((status, printed), (2, ""))
        self.assertRegex(errors, r"^bookkeeper-spark: .*tlsTrustStore is not set")

    def test_plan(self) -> None:
        """No plan shows the token."""
        from bookkeeper_twisted.spark.pipelines import space

        spark, options = session(), options_of(self.with_token)
        used = space.usage(space.entry_logs(spark, [self.location], options), 2, options=options)
        self.assertEqual([row.ledger_id for row in used.collect()], [self.written])
        self.assertNotIn(self.token, used._jdf.queryExecution().toString())
