"""Plants in the TLS between kazoo and ZooKeeper."""

from .plant import Plant

_SOCKETS, _CONTEXTS = "security/sockets.py", "security/contexts.py"
_HANDLER, _DRIVERS = "metadata/zookeeper/encryption.py", "metadata/drivers.py"
_MADE, _HANDLED = ["tests.security.test_sockets"], ["tests.metadata.zookeeper.test_encryption"]
_CONFIGURED = ["tests.config.test_metadata"]

PLANTS = (
    Plant(
        "the host of a ZooKeeper server is not verified", _SOCKETS,
        "context.check_hostname = verified", "context.check_hostname = False", _MADE, where="socket_context",
    ),
    Plant(
        "the host of a ZooKeeper server is always verified", _SOCKETS,
        "context.check_hostname = verified", "pass", _MADE, where="socket_context",
    ),
    Plant(
        "the common name of a ZooKeeper server counts as its host", _SOCKETS,
        "context.hostname_checks_common_name = False", "pass", _MADE, where="socket_context",
    ),
    Plant(
        "the system's authorities vouch for ZooKeeper servers", _SOCKETS,
        "context.check_hostname = verified", "context.check_hostname = verified\ncontext.load_default_certs()", _MADE,
        where="socket_context",
    ),
    Plant(
        "only roots can be trusted for ZooKeeper", _SOCKETS,
        "context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN", "pass", _MADE, where="socket_context",
    ),
    Plant(
        "ZooKeeper is not spoken to by the configured protocols", _SOCKETS,
        "max(versions)", "ssl.TLSVersion.TLSv1_3", _MADE, where="socket_context",
    ),
    Plant(
        "ZooKeeper is shown no certificate", _SOCKETS,
        "identity is not None", "False", _MADE, where="socket_context",
    ),
    Plant(
        "a certificate that is too long for a pipe is written to it", _SOCKETS,
        "len(data) > _PIPE", "False", _MADE, where="_path_of",
    ),
    Plant(
        "the part of a certificate that a small pipe takes is shown", _SOCKETS,
        "written < len(data)", "False", _MADE, where="_path_of",
    ),
    Plant(
        "files for ZooKeeper are read once", _CONTEXTS,
        "(settings.keys, settings.trusted) if settings.client_authentication else (settings.trusted,)",
        "()", _MADE, where="_ClientStores._stores",
    ),
    Plant(
        "a decrypted answer waits for the next one", _HANDLER,
        "not ready", "True", _HANDLED, where="EncryptedHandler.select",
    ),
    Plant(
        "the address of a ZooKeeper server takes the place of its name", _HANDLER,
        "hostname or address[0]", "address[0]", _HANDLED, where="EncryptedHandler.create_connection",
    ),
    Plant(
        "a connection that ZooKeeper refuses stays open", _HANDLER,
        "plain.close()", "pass", _HANDLED, where="EncryptedHandler.create_connection",
    ),
    Plant(
        "ZooKeeper is reached in clear although the configuration says TLS", _DRIVERS,
        "_tls_of(config) if config.zk_client_secure else None", "None", _CONFIGURED, where="options_of",
    ),
    Plant(
        "files for ZooKeeper's TLS without TLS are ignored", "config/metadata.py",
        "getattr(self, name) and not self.allow_insecure_connections", "False", _CONFIGURED,
        where="MetadataConfig._check",
    ),
)
