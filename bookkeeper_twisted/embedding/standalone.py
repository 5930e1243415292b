"""Makes the configurations for a cluster of bookies in one process."""

import os
from typing import Any

import attrs

from ..arguments import check_integer
from ..config.bookie import BookieConfig
from ..config.fields import fields_of
from ..errors import ConfigError

_FIELDS = fields_of(BookieConfig)
_SHORT = {
    "open_ledger_rereplication_grace_period": 5000,
    "lock_release_of_failed_ledger_grace_period": 10000,
    "rw_rereplicate_backoff_ms": 1000,
}
"""Short delays of autorecovery, in ms: in a standalone cluster, no operator repairs bookies during long delays."""

DATA_OPTION = "option --data"
"""What the configuration names, for example in errors, as the source of directories that were set by ``--data``.

A standalone cluster refuses directories from another source, such as a configuration file.
"""


def standalone_configs(config: BookieConfig, count: int, base: str) -> list[BookieConfig]:
    """Make the configurations of the bookies of a cluster in one process.

    Bookie ``i`` listens on ``bookiePort + i`` and has its directories in ``<base>/bookie-<i>``.  Metadata are in
    ``<base>/metadata.db`` unless ``metadataServiceUri`` is set.  If the system chooses the ports (``bookiePort`` 0),
    the ids of the bookies are ``bookie-<i>``, because their addresses change at every start.  Only the first bookie has
    an HTTP server or a metrics port.  If there are several bookies, the first also runs autorecovery, with short
    delays, unless the configuration switches autorecovery off.

    :param config: configuration that all bookies share.
    :param count: number of bookies, at least 1.
    :param base: directory of the cluster.
    :raises ConfigError: a key is set that needs a different value for each bookie.
    :raises IncorrectParameterError: ``count`` is not a number of bookies.
    """
    check_integer("the number of bookies", count, 1)
    for name in ("bookie_id", "listen_endpoint", "journal_directories", "ledger_directories", "index_directories"):
        if config.origins.get(name, DATA_OPTION) != DATA_OPTION:
            raise ConfigError(f"{_FIELDS[name].key}, {config.origin(name)}: cannot be set with --standalone")
    shared: dict[str, Any] = {"advertised_address": config.advertised_address or "127.0.0.1", "allow_loopback": True}
    if "metadata_service_uri" not in config.origins:
        shared["metadata_service_uri"] = f"sqlite:///{base}/metadata.db"
    shared |= _autorecovery(config, count)
    return [
        attrs.evolve(config, **{**shared, **_own(config, i, os.path.join(base, f"bookie-{i}"))}) for i in range(count)
    ]


def _autorecovery(config: BookieConfig, count: int) -> dict[str, Any]:
    """Return the standalone defaults of the autorecovery keys that ``config`` does not set, by attribute name."""
    defaults = {"auto_recovery_daemon_enabled": count > 1, **_SHORT}
    return {name: value for name, value in defaults.items() if name not in config.origins}


def _own(config: BookieConfig, index: int, directory: str) -> dict[str, Any]:
    ledgers = (os.path.join(directory, "ledgers"),)
    return {
        "bookie_port": config.bookie_port and config.bookie_port + index,
        "bookie_id": "" if config.bookie_port else f"bookie-{index}",
        "journal_directories": (os.path.join(directory, "journal"),),
        "ledger_directories": ledgers,
        "index_directories": ledgers,
        "http_server_enabled": config.http_server_enabled and index == 0,
        "prometheus_stats_http_enable": config.prometheus_stats_http_enable and index == 0,
        **({} if index == 0 else {"auto_recovery_daemon_enabled": False}),
    }
