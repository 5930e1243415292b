"""The configuration of a client."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.errors import ConfigError


class DerivedDefaultsTests(SynchronousTestCase):
    """Defaults that depend on other fields."""

    def test_wire_protocol(self) -> None:
        """Apache's switch pins V2; our key wins over it."""
        self.assertEqual(ClientConfig().wire_protocol, "auto")
        self.assertEqual(ClientConfig(use_v2_wire_protocol=True).wire_protocol, "v2")
        self.assertEqual(ClientConfig(use_v2_wire_protocol=True, wire_protocol="v3").wire_protocol, "v3")



class ArgumentTests(SynchronousTestCase):
    """Values given in Python."""

    def test_types(self) -> None:
        """A value of another type is an error with its key, its argument, and the type that is wanted."""
        for name, value, given, wanted in (
            ("add_entry_timeout_sec", "5", "addEntryTimeoutSec = '5'", "str was given, float or int"),
            ("max_in_flight_bytes", 1.5, "maxInFlightBytes = '1.5'", "float was given, int"),
            ("max_in_flight_bytes", True, "maxInFlightBytes = 'true'", "bool was given, int"),
            ("batch_read_enabled", "no", "batchReadEnabled = 'no'", "str was given, bool"),
            ("wire_protocol", b"v2", "wireProtocol = \"b'v2'\"", "bytes was given, str"),
            ("read_ahead_bytes", None, "readAheadBytes = 'None'", "NoneType was given, int"),
        ):
            wrong: dict[str, Any] = {name: value}
            error = self.assertRaises(ConfigError, ClientConfig, **wrong)
            self.assertEqual(str(error), f"{given}, argument {name}: {wanted} is wanted")

    def test_limits(self) -> None:
        """So is a number out of its limits, or one that is none."""
        for value in (0, -1, float("nan"), float("inf")):
            error = self.assertRaises(ConfigError, ClientConfig, add_entry_timeout_sec=value)
            self.assertIn(", argument add_entry_timeout_sec: must be at least 0.001", str(error))
