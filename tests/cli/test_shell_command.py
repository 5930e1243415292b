"""What a command is given."""

from .shell_case import BOOKIES, ShellCase


class ShellContextTests(ShellCase):
    """The context of a command, seen through commands."""

    def test_configuration_of_the_client(self) -> None:
        """Keys of a client count, and a bad one is refused before anything is done."""
        self.environ["BK_addEntryTimeoutSec"] = "7"
        self.assertEqual(self.shell("bookieinfo"), 0)
        self.assertEqual(len(self.printed), len(BOOKIES) + 3)
        self.environ["BK_addEntryTimeoutSec"] = "x"
        self.assertEqual(self.shell("bookieinfo"), 255)
        self.assertIn("addEntryTimeoutSec", self.complaints[0])

    def test_local_bookie_is_found_late(self) -> None:
        """A configuration that gives no bookie id is fine for commands that need none."""
        del self.environ["BK_allowLoopback"]
        self.assertEqual(self.shell("listledgers"), 0)
        self.assertEqual(self.shell("bookiesanity"), 255)
        self.assertIn("loopback", self.complaints[0])
