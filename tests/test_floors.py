"""Which versions the tests of floors install."""

from twisted.trial.unittest import SynchronousTestCase

from .floors import ROOT, requirements

_SETUP = """[options]
install_requires =
    Twisted >= 24.7, < 30
    attrs >= 23.2
    protobuf >= 6, < 8
"""


class RequirementsTests(SynchronousTestCase):
    """:func:`requirements`."""

    def test_oldest(self) -> None:
        """The library is wanted at its floor, the others are as they were."""
        self.assertEqual(requirements(_SETUP, oldest=True), ["Twisted==24.7", "attrs>=23.2", "protobuf>=6,<8"])

    def test_newest(self) -> None:
        """The library is wanted as new as there is."""
        self.assertEqual(requirements(_SETUP), ["Twisted", "attrs>=23.2", "protobuf>=6,<8"])

    def test_no_floor(self) -> None:
        """A library without a floor is a mistake."""
        self.assertRaises(ValueError, requirements, _SETUP, "kazoo")

    def test_ours(self) -> None:
        """The repository has a floor for Twisted."""
        [twisted] = [each for each in requirements((ROOT / "setup.cfg").read_text(), oldest=True) if "Twisted" in each]
        self.assertRegex(twisted, r"^Twisted==[0-9.]+$")
