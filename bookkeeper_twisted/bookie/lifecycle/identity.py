"""The id and the cookie of a bookie, and the check that its directories have this cookie."""

from collections.abc import Callable

from twisted.internet.abstract import isIPAddress, isIPv6Address

from ...codec.metadata_formats.cookie import Cookie
from ...config.bookie import BookieConfig
from ...errors import CodecError, ConfigError, CookieNotFoundError, InvalidCookieError
from ...metadata.interfaces import IRegistration, Versioned
from ...model import BookieServiceInfo, Endpoint, check_bookie_id
from ...storage.cookies import CookieFiles, must_stamp, read_cookies, stamp
from ...storage.interfaces import IFileSystem
from .store import StorePaths


def listening_address(config: BookieConfig) -> str:
    """Return the address to listen on, or an empty text for all addresses.

    :param config: the configuration, with the key ``listeningInterface``.
    :raises ConfigError: ``listeningInterface`` is not an IP address.
    """
    address = config.listening_interface
    if address and not isIPAddress(address) and not isIPv6Address(address):
        raise ConfigError(f"listeningInterface = {address!r}: give the address of the interface, not its name")
    return address


def advertised_host(config: BookieConfig, local_host: str) -> str:
    """Return the host name or address under which clients reach the bookie.

    :param local_host: name or address of this machine, used if the configuration names no address.
    :raises ConfigError: the result is a loopback address, and ``allowLoopback`` is false.
    """
    host = config.advertised_address or listening_address(config) or local_host
    check_loopback(config, host)
    return host


def is_loopback(address: str) -> bool:
    """Test whether an ``address`` is a loopback address, which other machines cannot reach."""
    return address.startswith("127.") or address in ("localhost", "::1")


def check_loopback(config: BookieConfig, address: str) -> None:
    """Check that other machines can reach a bookie at an ``address``.

    :raises ConfigError: the address is a loopback address, and ``allowLoopback`` is false.
    """
    if is_loopback(address) and not config.allow_loopback:
        raise ConfigError(
            f"{config.advertised_address or address} is a loopback address: set advertisedAddress to one that other"
            " machines reach, or allowLoopback=true for a bookie that only this machine uses"
        )


def bookie_id(config: BookieConfig, local_host: str, port: int) -> str:
    """Return the bookie id: the configured id or, without one, the advertised address and the port.

    :param local_host: the address of this machine, used if ``config`` names none.
    :param port: port of the bookie.
    :raises ConfigError: the address is a loopback address.
    """
    host = advertised_host(config, local_host)
    return config.bookie_id or check_bookie_id(f"{host}:{port}")


def service_info(
    config: BookieConfig, local_host: str, port: int, http_port: int | None, http_host: str = ""
) -> BookieServiceInfo:
    """Return the information that a bookie publishes with its registration.

    :param local_host: the address of this machine, published if ``config`` names none.
    :param http_port: None if there is no HTTP server.
    :param http_host: the address to publish for the HTTP server, if it listens on a loopback address; empty to publish
        the address of the bookie.
    """
    host = config.advertised_address or listening_address(config) or local_host
    endpoints = [Endpoint("bookie", host, port, "bookie-rpc")]
    if http_port is not None:
        protocol = "https" if config.http_server_tls_enable else "http"
        endpoints.append(Endpoint("httpserver", http_host or host, http_port, protocol))
    return BookieServiceInfo(tuple(endpoints))


def expected_cookie(config: BookieConfig, own_id: str, instance_id: str) -> Cookie:
    """Return the cookie that a bookie with this configuration should have.

    :param own_id: id of this bookie.
    :param instance_id: instance id of the cluster, empty if it has none.
    """
    index_dirs = config.index_directories if config.index_directories != config.ledger_directories else None
    return Cookie(
        own_id, ",".join(config.journal_directories), config.ledger_directories, index_dirs, instance_id or None
    )


class CookieCheck:
    """A check that the cookies of the configuration, the directories and the metadata store agree.

    Its methods do not block: they read and write the files on another thread.

    :param allow_expansion: whether new, empty ledger directories may be added to the bookie.
    :param take_over: whether to accept directories with cookies of Apache's bookie, which this bookie then takes over.
    """

    def __init__(
        self, fs: IFileSystem, paths: StorePaths, expected: Cookie, allow_expansion: bool, take_over: bool = False
    ) -> None:
        self._fs = fs
        self._directories = paths.all()
        self._expected = expected
        self._allow_expansion = allow_expansion
        self._take_over = take_over
        self._stored: Versioned[bytes] | None = None

    async def must_stamp(self, registration: IRegistration, in_thread: "Callable[..., object]") -> bool:
        """Compare the cookies of all directories and of the metadata store with the expected cookie.

        :param in_thread: runs a blocking function and returns an awaitable.
        :returns: whether :meth:`stamp` must write the cookie, to all directories and then to the metadata store.
        :raises InvalidCookieError: the bookie must not start.
        """
        try:
            self._stored = await registration.read_cookie(self._expected.bookie_id)
        except CookieNotFoundError:
            self._stored = None
        files: CookieFiles = await in_thread(read_cookies, self._fs, self._directories)  # type: ignore[misc]
        data = None if self._stored is None else self._stored.value
        return must_stamp(
            files, self._expected.encode(), data, self._verify, _directories_of, self._allow_expansion,
            self._take_over,
        )  # fmt: skip

    async def stamp(self, registration: IRegistration, in_thread: "Callable[..., object]") -> None:
        """Write the cookie to all directories, and then to the store.

        :param in_thread: runs a function with its arguments on a thread that may write files.
        :raises MetadataError: the store refused the cookie, or failed.
        """
        cookie = self._expected.encode()
        await in_thread(stamp, self._fs, self._directories, cookie)  # type: ignore[misc]
        version = None if self._stored is None else self._stored.version
        await registration.write_cookie(self._expected.bookie_id, cookie, version)

    def _verify(self, data: bytes, where: str) -> None:
        stored: Cookie | None = None
        try:
            stored = _parse(data)
            self._expected.verify(stored, self._allow_expansion)
        except InvalidCookieError as error:
            way_out = "" if stored is None else f": {_way_out(self._expected, stored)}"
            raise InvalidCookieError(f"{where}: {error}{way_out}") from None


def _way_out(expected: Cookie, stored: Cookie) -> str:
    """Return a text that tells an operator how to resolve the difference between two cookies."""
    if stored.bookie_id != expected.bookie_id:
        text = (
            f"bookieId={stored.bookie_id} starts the bookie that is stored here; where its address or host name has "
            "changed for good, the shell's updatecookie -bookieId hostname|ip gives it the new id, and "
            "updateBookieInLedger puts that into the metadata of its ledgers"
        )
    elif stored.instance_id != expected.instance_id and _directory_lists(stored) == _directory_lists(expected):
        text = "metadataServiceUri has to name the cluster that the directories belong to"
    else:
        text = (
            "the keys of directories have to name those that the cookie has, in its order; new ledger directories "
            "join with allowStorageExpansion=true"
        )
    return f"{text} (docs/running.rst, Identity)"


def _directory_lists(cookie: Cookie) -> tuple[object, ...]:
    return cookie.journal_dirs, cookie.ledger_dirs, cookie.index_dirs or cookie.ledger_dirs


def _parse(data: bytes) -> Cookie:
    try:
        return Cookie.parse(data)
    except CodecError as error:
        raise InvalidCookieError(f"not a cookie: {error}") from error


def _directories_of(data: bytes) -> set[str]:
    cookie = _parse(data)
    return {*cookie.journal_dirs.split(","), *cookie.ledger_dirs, *(cookie.index_dirs or ())}
