"""What configurations have in common, tried on that of a bookie."""

from functools import partial
from inspect import signature
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import from_environment, from_file, from_options
from bookkeeper_twisted.errors import ConfigError


class LoadTests(SynchronousTestCase):
    """Sources, origins, and what is said about keys."""

    def test_priority(self) -> None:
        """Command line over environment over file over default."""
        file = from_file("bookiePort=1\nhttpServerPort=1\nflushInterval=1", "f")
        environ = from_environment({"BK_bookiePort": "2", "BK_httpServerPort": "2"})
        options = from_options({"bookiePort": "3"})
        config = BookieConfig.load(file, environ, options)
        self.assertEqual((config.bookie_port, config.http_server_port, config.flush_interval), (3, 2, 1))
        self.assertEqual(config.disk_check_interval, 10000)

    def test_origins(self) -> None:
        """Each value remembers where it came from."""
        config = BookieConfig.load(from_file("\nbookiePort=1", "f"), from_environment({"BK_diskCheckInterval": "2"}))
        self.assertEqual(config.origin("bookie_port"), "f:2")
        self.assertEqual(config.origin("disk_check_interval"), "environment variable BK_diskCheckInterval")
        self.assertEqual(config.origin("flush_interval"), "default")

    def test_unknown_key_warns(self) -> None:
        """An unknown key is no error; a warning names it, where it is, and what may have been meant."""
        config = BookieConfig.load(from_file("bookiePrt=1\ngcwaittime=5\nroomService=2", "f"))
        self.assertEqual(config.warnings, (
            "bookiePrt, f:1: unknown key, ignored; is bookiePort meant?",
            "gcwaittime, f:2: unknown key, ignored; is gcWaitTime meant?",
            "roomService, f:3: unknown key, ignored",
        ))  # fmt: skip
        self.assertEqual(config.notes, ())

    def test_unknown_argument(self) -> None:
        """An unknown argument is an error that names the attribute that may have been meant, by its name or its key."""
        for name, meant in (
            ("addEntryTimeoutSec", "; is add_entry_timeout_sec meant?"),
            ("add_entry_timeout", "; is add_entry_timeout_sec meant?"),
            ("speculativeReadTimeout", "; is first_speculative_read_timeout meant?"),
            ("room_service", ""),
        ):
            given: Any = {name: 2}
            for make in (ClientConfig, partial(attrs.evolve, ClientConfig())):
                error = self.assertRaises(ConfigError, make, **given)
                self.assertEqual(str(error), f"{name}: ClientConfig has no such argument{meant}")
        self.assertIn("add_entry_timeout_sec", signature(ClientConfig).parameters)

    def test_unused_key_is_noted(self) -> None:
        """A key of Apache's bookie without effect here is no warning, but it is said."""
        config = BookieConfig.load(from_file("pageSize=1", "f"))
        self.assertEqual(config.warnings, ())
        self.assertEqual(config.notes, ("pageSize, f:1: has no effect here",))

    def test_same_values_are_equal(self) -> None:
        """Configurations are compared by their values, not by where those came from."""
        self.assertEqual(BookieConfig.load(from_options({"bookiePort": "7"})), BookieConfig(bookie_port=7))


@attrs.frozen
class _Plugin:
    names: frozenset[str]


class ChosenTests(SynchronousTestCase):
    """The plugin that a value names."""

    def test_first(self) -> None:
        """The first plugin that has the name is chosen, whatever blanks are around the name."""
        plugins = [_Plugin(frozenset({"a", ""})), _Plugin(frozenset({"b", "c"})), _Plugin(frozenset({"c"}))]
        for value, place in (("a", 0), (" b ", 1), ("c", 1), ("", 0)):
            config = BookieConfig(authorizer_class=value)
            self.assertIs(config.chosen("authorizer_class", iter(plugins), "plugin"), plugins[place], value)

    def test_unknown(self) -> None:
        """A name that no plugin has is an error with its key, its origin and each known name once."""
        config = BookieConfig.load(from_file("authorizerClass=d", "f"))
        plugins = [_Plugin(frozenset({"c", ""})), _Plugin(frozenset({"b", "c"}))]
        with self.assertRaises(ConfigError) as raised:
            config.chosen("authorizer_class", plugins, "authorizer", ("a",))
        text = "authorizerClass = 'd', f:1: no such authorizer; known are a, b, c"
        self.assertEqual(str(raised.exception), text)
