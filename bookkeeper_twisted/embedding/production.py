"""Makes a bookie that uses the files, the network and the metadata store that its configuration names."""

import posixpath
import resource
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure

from ..bookie.admin import IBookieAdmin
from ..bookie.lifecycle.service import BookieService
from ..config.bookie import BookieConfig
from ..config.fields import fields_of
from ..config.metadata import MetadataConfig
from ..errors import ConfigError
from ..instruments import Instruments
from ..metadata.drivers import create_driver, options_of
from ..storage.files.filesystem import RealFileSystem
from ..storage.ledger_dirs import EVENTS_NAME, current
from .local_host import http_names, local_host, process_user, resolve_addresses

if TYPE_CHECKING:
    from ..http.access import HttpProtection

_OTHER_FILES = 512
"""File descriptors reserved for entry logs, journals, indexes, metadata and the HTTP server."""

_SHARE = 4
"""Client connections get at least a fourth of all file descriptors, even if few remain for entry logs."""

LEAST_FILES = 64
"""The smallest limit of open files with which a bookie starts."""

_log = Logger()


def make_bookie(
    reactor: Any, config: BookieConfig, on_failure: Callable[[Failure], None] = lambda failure: None
) -> BookieService:
    """Make a bookie; it opens files and ports only when it is started.

    :param config: configuration of the bookie.
    :param on_failure: called if a journal has failed while the bookie was running, after the bookie has stopped itself.
    :raises ConfigError: the address of the bookie cannot be found, the limit of open files is too low, or the user of
        this process may not start a bookie.
    :raises bookkeeper_twisted.errors.InvalidMetadataUriError: no metadata driver supports the URI.
    """
    require_permitted(config, process_user())
    config = with_descriptors(resolve_addresses(config), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    options = attrs.evolve(options_of(config), create=True)
    driver = create_driver(reactor, config.metadata_service_uri, options)

    protection = http_protection(reactor, config)

    def make_site(admin: IBookieAdmin) -> Any:
        assert protection is not None  # this function is called only if the bookie has an HTTP server
        return _make_site(reactor, config, admin, protection, bookie.instruments)

    def make_metrics_site(admin: IBookieAdmin) -> Any:
        from ..http.site import make_metrics_site

        return make_metrics_site(admin.metrics, reactor)

    def direct_refused(error: OSError) -> None:
        reactor.callFromThread(
            _log.info, "the system refuses direct I/O ({error}): these files are read and written through the page "
            "cache, which takes more processor time", error=error,
        )  # fmt: skip

    bookie = BookieService(
        reactor, config, driver, RealFileSystem(direct_refused=direct_refused),
        local_host=local_host(config), make_site=make_site, make_metrics_site=make_metrics_site,
        on_failure=on_failure,
    )  # fmt: skip
    return bookie


def http_protection(reactor: Any, config: BookieConfig) -> "HttpProtection | None":
    """Return the protection (TLS and access rules) of a process's HTTP server; None if it has no HTTP server.

    This call reads the key files and rule files that ``config`` names, so that a process with unusable files does not
    start.

    :raises ConfigError: a file cannot be used.
    """
    if not config.http_server_enabled:
        return None
    from ..http.access import HttpProtection

    return HttpProtection(config, reactor)


def require_permitted(config: BookieConfig, user: str) -> None:
    """Check that a user may start a bookie, as Apache's bookie does.

    :param user: the name of the user that runs this process.
    :raises ConfigError: ``permittedStartupUsers`` is set and does not contain this user.
    """
    permitted = set(config.permitted_startup_users) - {"null", "none"}
    if permitted and user not in permitted:
        raise config.error("permitted_startup_users", f"the bookie may not be started by {user!r}")


def with_descriptors(config: BookieConfig, limit: int) -> BookieConfig:
    """Reduce the maximum number of client connections in ``config`` if the limit of open files is too low for it.

    :param limit: limit of open files of this process.
    :raises ConfigError: the limit is too low for a bookie.
    """
    if limit >= config.max_connections + _OTHER_FILES:
        return config
    if limit < LEAST_FILES:
        raise ConfigError(
            f"the limit of open files is {limit}: a bookie needs {LEAST_FILES}, and should have 10,000 or more; "
            "raise it by ulimit -n or LimitNOFILE"
        )
    most = max(limit - _OTHER_FILES, limit // _SHARE)
    _log.warn(
        "{most} connections at most, not maxConnections = {wanted}: the limit of open files is {limit}",
        most=most, wanted=config.max_connections, limit=limit,
    )  # fmt: skip
    return attrs.evolve(config, max_connections=most)


def _make_site(
    reactor: Any, config: BookieConfig, admin: IBookieAdmin, protection: "HttpProtection", instruments: Instruments
) -> Any:
    # Imported here, so that a bookie without an HTTP server does not need memory for these modules.
    from ..client.admin import BookKeeperAdmin
    from ..client.bookkeeper import BookKeeper
    from ..client.sanity import OneBookie, check_bookie
    from ..config.client import ClientConfig
    from ..http.cluster_api import SharedClient
    from ..http.console.history.event_file import EventFile
    from ..http.hosts import HostNames
    from ..http.site import make_site

    shared = {name: getattr(config, name) for name in fields_of(MetadataConfig)}

    def connect() -> "Deferred[BookKeeperAdmin]":
        return BookKeeperAdmin.connect(reactor, config.metadata_service_uri, ClientConfig(**shared))

    async def check_sanity() -> bool:
        uri, placement = config.metadata_service_uri, OneBookie(admin.bookie_id)
        async with await BookKeeper.connect(reactor, uri, ClientConfig(**shared), placement) as client:
            return (await check_bookie(client)).passed

    hosts, guard = HostNames(http_names(config)), protection.guard(instruments)
    events = EventFile(
        posixpath.join(current(config.ledger_directories[0]), EVENTS_NAME),
        lambda work, *args: deferToThreadPool(reactor, reactor.getThreadPool(), work, *args),
    )
    site = make_site(admin, reactor, SharedClient(connect), check_sanity, hosts, guard, events)
    return protection.encrypted(site)
