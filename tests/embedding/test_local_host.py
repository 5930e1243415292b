"""The name of this machine and the addresses of its interfaces."""

import os
import pwd
from typing import Any

from twisted.internet.abstract import isIPAddress
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.embedding.local_host import (
    address_and_name,
    canonical_name,
    interface_address,
    local_host,
    process_user,
    resolve_addresses,
)
from bookkeeper_twisted.errors import ConfigError


class LocalHostTests(SynchronousTestCase):
    """What this machine is called."""

    def test_address(self) -> None:
        """By default it is an address."""
        self.assertTrue(isIPAddress(local_host(BookieConfig())))

    def test_user(self) -> None:
        """The user is the one that the system knows, whatever the environment says."""
        self.patch(os, "environ", {"USER": "somebody", "LOGNAME": "somebody"})
        self.assertEqual(pwd.getpwnam(process_user()).pw_uid, os.getuid())
        self.patch(os, "getuid", lambda: 4_000_000_000)
        self.assertEqual(process_user(), "4000000000")

    def test_interface(self) -> None:
        """It is the address of the interface that the bookie listens on, if that is configured."""
        self.assertEqual(local_host(BookieConfig(listening_interface="10.1.2.3")), "10.1.2.3")

    def test_canonical_name(self) -> None:
        """An address has a name only if the name has that address."""
        self.assertEqual(canonical_name("127.0.0.1"), "localhost")
        self.assertEqual(canonical_name("192.0.2.1"), "192.0.2.1")


class ResolveAddressesTests(SynchronousTestCase):
    """Names of interfaces become addresses."""

    def test_interface_name(self) -> None:
        """The loopback interface has the loopback address, and the rest of the configuration stays."""
        resolved = resolve_addresses(BookieConfig(listening_interface="lo", bookie_port=7, allow_loopback=True))
        self.assertEqual((resolved.listening_interface, resolved.bookie_port), ("127.0.0.1", 7))

    def test_address_stays(self) -> None:
        """An address is not looked up, nor is nothing at all."""
        for address in ("", "10.0.0.1", "::1"):
            self.assertEqual(self._resolved(address), address)

    def _resolved(self, address: str) -> str:
        return resolve_addresses(BookieConfig(listening_interface=address, allow_loopback=True)).listening_interface

    def test_no_such_interface(self) -> None:
        """An unknown interface is a bad value: key, origin, reason."""
        config = BookieConfig.load(from_options({"listeningInterface": "nope0"}))
        error = self.assertRaises(ConfigError, resolve_addresses, config)
        self.assertEqual(str(error), "listeningInterface = 'nope0', option --listeningInterface: No such device")
        self.assertRaises(OSError, interface_address, "nope0")

    def _named(self, **more: Any) -> str:
        config = BookieConfig(use_host_name_as_bookie_id=True, listening_interface="10.1.2.3", **more)
        return resolve_addresses(config, lambda address: f"host-of-{address}.example.invalid").advertised_address

    def test_host_name(self) -> None:
        """A bookie known by name has the canonical name of the address it listens on, or its first label."""
        self.assertEqual(self._named(), "host-of-10.1.2.3.example.invalid")
        self.assertEqual(self._named(use_short_host_name=True), "host-of-10")
        self.assertEqual(self._named(advertised_address="a.invalid"), "a.invalid")

    def test_no_host_name(self) -> None:
        """An address without a name is refused where the name is wanted."""
        config = BookieConfig(use_host_name_as_bookie_id=True, listening_interface="10.1.2.3")
        error = self.assertRaises(ConfigError, resolve_addresses, config, lambda address: address)
        self.assertEqual(str(error), "useHostNameAsBookieID, default: 10.1.2.3 has no host name")

    def test_loopback(self) -> None:
        """A loopback address is refused: configured, advertised, or what an advertised name stands for."""
        for more in (
            {"listening_interface": "127.0.0.1"}, {"listening_interface": "lo"}, {"advertised_address": "127.1.2.3"},
            {"advertised_address": "localhost"}, {"advertised_address": "::1"},
        ):  # fmt: skip
            config = BookieConfig(**more)  # type: ignore[arg-type]
            self.assertRaises(ConfigError, resolve_addresses, config)
            resolve_addresses(BookieConfig(allow_loopback=True, **more))  # type: ignore[arg-type]
        error = self.assertRaises(ConfigError, resolve_addresses, BookieConfig(advertised_address="localhost"))
        self.assertIn("localhost is a loopback address: set advertisedAddress", str(error))


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
