"""The name of this machine and the addresses of its interfaces."""

import socket

from twisted.internet.abstract import isIPAddress
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.cli.local_host import address_and_name, interface_address, local_host, resolve_addresses
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.errors import ConfigError


class LocalHostTests(SynchronousTestCase):
    """What this machine is called."""

    def test_address(self) -> None:
        """By default it is an address."""
        self.assertTrue(isIPAddress(local_host(BookieConfig())))

    def test_name(self) -> None:
        """On demand it is the host name, cut at the first dot on demand."""
        self.assertEqual(local_host(BookieConfig(use_host_name_as_bookie_id=True)), socket.gethostname())
        short = local_host(BookieConfig(use_host_name_as_bookie_id=True, use_short_host_name=True))
        self.assertEqual(short, socket.gethostname().split(".")[0])


class ResolveAddressesTests(SynchronousTestCase):
    """Names of interfaces become addresses."""

    def test_interface_name(self) -> None:
        """The loopback interface has the loopback address, and the rest of the configuration stays."""
        resolved = resolve_addresses(BookieConfig(listening_interface="lo", bookie_port=7))
        self.assertEqual((resolved.listening_interface, resolved.bookie_port), ("127.0.0.1", 7))

    def test_address_stays(self) -> None:
        """An address is not looked up, nor is nothing at all."""
        for address in ("", "10.0.0.1", "::1"):
            self.assertEqual(resolve_addresses(BookieConfig(listening_interface=address)).listening_interface, address)

    def test_no_such_interface(self) -> None:
        """An unknown interface is a bad value: key, origin, reason."""
        config = BookieConfig.load(from_options({"listeningInterface": "nope0"}))
        error = self.assertRaises(ConfigError, resolve_addresses, config)
        self.assertEqual(str(error), "listeningInterface = 'nope0', option --listeningInterface: No such device")
        self.assertRaises(OSError, interface_address, "nope0")

    def test_host_name_is_advertised(self) -> None:
        """A bookie that is known by name advertises the name, unless it was told another address."""
        config = BookieConfig(use_host_name_as_bookie_id=True)
        self.assertEqual(resolve_addresses(config).advertised_address, socket.gethostname())
        config = BookieConfig(use_host_name_as_bookie_id=True, advertised_address="a")
        self.assertEqual(resolve_addresses(config).advertised_address, "a")


class AddressAndNameTests(SynchronousTestCase):
    """Both of a host."""

    def test_address(self) -> None:
        """An address stays, and has the name that the resolver knows, or itself."""
        address, name = address_and_name("127.0.0.1")
        self.assertEqual(address, "127.0.0.1")
        self.assertTrue(name)

    def test_name(self) -> None:
        """A name stays, and has the address that the resolver knows, or none."""
        self.assertEqual(address_and_name("localhost"), ("127.0.0.1", "localhost"))
        self.assertEqual(address_and_name("no.such.host.invalid"), ("UNKNOWN", "no.such.host.invalid"))
