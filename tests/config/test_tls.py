"""Keys of TLS."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import from_file
from bookkeeper_twisted.errors import ConfigError
from bookkeeper_twisted.security.contexts import settings_of

_ON = "tlsProviderFactoryClass=org.apache.bookkeeper.tls.TLSContextFactory\n"


class TlsConfigTests(SynchronousTestCase):
    """What switches TLS on, and what is refused without it."""

    def test_off(self) -> None:
        """Without the class, or with a text that means none, nothing is encrypted."""
        for text in ("", "tlsProviderFactoryClass=\n", "tlsProviderFactoryClass=null\n", "tlsKeyStoreType=PEM"):
            self.assertFalse(BookieConfig.load(from_file(text, "f")).encrypts)

    def test_java_file(self) -> None:
        """The keys of Apache's file mean what they mean there; host names are verified unless it says otherwise."""
        text = _ON + (
            "tlsProvider=OpenSSL\ntlsClientAuthentication=true\ntlsKeyStoreType=pkcs12\ntlsKeyStore=/k\n"
            "tlsKeyStorePasswordPath=/kp\ntlsTrustStoreType=PEM\ntlsTrustStore=/t\ntlsEnabledProtocols=TLSv1.3\n"
            "tlsEnabledCipherSuites=TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384\n"
            "tlsCertFilesRefreshDurationSeconds=300\n"
        )
        for kind in (BookieConfig, ClientConfig):
            config = kind.load(from_file(text, "f"))
            self.assertTrue(config.encrypts)
            self.assertEqual((config.warnings, len(config.notes)), ((), 1))  # tlsProvider has no effect
            settings = settings_of(config)
            stores = settings.key_store_type, settings.key_store, settings.trust_store
            self.assertEqual(stores, ("PKCS12", "/k", "/t"))
            self.assertEqual((settings.protocols, len(settings.ciphers)), (("TLSv1.3",), 2))
            self.assertEqual((settings.client_authentication, settings.refresh_seconds), (True, 300.0))
            self.assertTrue(settings.hostname_verification)

    def test_twice(self) -> None:
        """An endpoint of a bookie with TLS needs no TLS of its own."""
        text = "listenEndpoint=ssl:3181:privateKey=k\n"
        BookieConfig.load(from_file(text, "f"))
        error = self.assertRaises(ConfigError, BookieConfig.load, from_file(_ON + text, "f"))
        self.assertIn("this one would do it twice: use tcp:", str(error))

    def test_refused(self) -> None:
        """Files and demands without the class are not ignored, nor is a class that nobody knows."""
        for key, value in (
            ("tlsClientAuthentication", "true"), ("tlsKeyStore", "/k"), ("tlsTrustStore", "/t"), ("tlsDirect", "true"),
            ("tlsCertificatePath", "/c"), ("tlsRequired", "true"), ("tlsProviderFactoryClass", "com.example.Tls"),
        ):  # fmt: skip
            error = self.assertRaises(ConfigError, BookieConfig.load, from_file(f"{key}={value}", "f"))
            self.assertIn(f"{key} = ", str(error))
            self.assertIn("f:1", str(error))

    def test_allowed(self) -> None:
        """With allowInsecureConnections such a process starts in clear."""
        text = "allowInsecureConnections=true\ntlsKeyStore=/k\ntlsClientAuthentication=true"
        self.assertFalse(BookieConfig.load(from_file(text, "f")).encrypts)
