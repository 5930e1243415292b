"""Keys by subject."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.config.groups import PROTECTION, ZOOKEEPER, groups


class GroupsTests(SynchronousTestCase):
    """:func:`groups`."""

    def test_every_key_once(self) -> None:
        """Each key is in one group."""
        for config in (BookieConfig, ClientConfig):
            found = [attribute for fields in groups(config).values() for attribute, _ in fields]
            self.assertEqual(sorted(found), sorted(fields_of(config)))

    def test_places(self) -> None:
        """A key is in the group it is declared in; what all configurations share comes last."""
        found = groups(BookieConfig)
        self.assertIn("journal_max_size_mb", dict(found["journal"]))
        self.assertEqual(list(found)[-2:], [PROTECTION, ZOOKEEPER])
        self.assertIn("zk_timeout", dict(found[ZOOKEEPER]))
        self.assertEqual([attribute for attribute, _ in found[PROTECTION]], ["allow_insecure_connections"])
