"""A bookie on the real world, as far as it goes without starting one."""

import resource

from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.service import BookieService
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.embedding.production import make_bookie, require_permitted, with_descriptors
from bookkeeper_twisted.errors import ConfigError, InvalidMetadataUriError


class MakeBookieTests(SynchronousTestCase):
    """A bookie is made whole or refused; starting one is tested on real processes."""

    def test_made(self) -> None:
        """A valid configuration gives a bookie that has opened nothing."""
        bookie = make_bookie(MemoryReactorClock(), BookieConfig(metadata_service_uri="memory:", allow_loopback=True))
        self.assertIsInstance(bookie, BookieService)
        self.assertEqual(bookie.port, 0)

    def test_descriptors(self) -> None:
        """There are no more connections than files may be open, less some for files."""
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        with capturedLogs() as events:
            many = BookieConfig(max_connections=limit, metadata_service_uri="memory:", allow_loopback=True)
            make_bookie(MemoryReactorClock(), many)
        self.assertIn(f"{limit - 512} connections at most", formatEvent(events[0]))

    def test_few_descriptors(self) -> None:
        """Where few files may be open, a quarter of them are connections; where very few, the bookie is refused."""
        config = BookieConfig(metadata_service_uri="memory:", allow_loopback=True)
        found = [with_descriptors(config, limit).max_connections for limit in (64, 128, 256, 1024, 20_000)]
        self.assertEqual(found, [16, 32, 64, 512, 10_000])
        self.assertRaisesRegex(ConfigError, "open files is 63.*needs 64.*ulimit -n", with_descriptors, config, 63)

    def test_users(self) -> None:
        """Only users who are named may start a bookie, if any are named."""
        for users in ((), ("none",), ("joe", "ann")):
            require_permitted(BookieConfig(permitted_startup_users=users), "ann")
        config = BookieConfig(
            permitted_startup_users=("joe", "nobody at all"), metadata_service_uri="memory:", allow_loopback=True
        )
        self.assertRaisesRegex(
            ConfigError, "permittedStartupUsers = 'joe,nobody at all', default: the bookie may not be started by 'ann'",
            require_permitted, config, "ann",
        )  # fmt: skip
        self.assertRaises(ConfigError, make_bookie, MemoryReactorClock(), config)

    def test_unknown_metadata(self) -> None:
        """A URI that no driver takes is refused."""
        config = BookieConfig(metadata_service_uri="carrier-pigeon://loft", allow_loopback=True)
        self.assertRaises(InvalidMetadataUriError, make_bookie, MemoryReactorClock(), config)

    def test_unknown_interface(self) -> None:
        """An interface that is not there is refused."""
        self.assertRaises(ConfigError, make_bookie, MemoryReactorClock(), BookieConfig(listening_interface="nope0"))
