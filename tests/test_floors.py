"""Which versions the tests of floors install, and which tests they are."""

from twisted.trial.unittest import SynchronousTestCase

from .floors import MODULES, ROOT, floors, requirements

_SETUP = """[options]
install_requires =
    Twisted >= 24.7, < 30
    attrs >= 23.2
[options.extras_require]
zookeeper =
    kazoo >= 2.10
tools =
arrow =
    pyarrow >= 18
tls =
    Twisted[tls] >= 24.7
jwt =
    PyJWT[crypto] >= 2.10.1
otel =
    opentelemetry-sdk >= 1.27, < 2
spark =
    pyspark
"""


class FloorsTests(SynchronousTestCase):
    """:func:`floors`."""

    def test_oldest(self) -> None:
        """Everything is wanted at its floor, the extras that count included."""
        pins = ["Twisted==24.7", "attrs==23.2", "kazoo==2.10", "pyarrow==18", "Twisted[tls]==24.7"]
        pins += ["PyJWT[crypto]==2.10.1", "opentelemetry-sdk==1.27"]
        self.assertEqual(floors(_SETUP), pins)

    def test_no_floor(self) -> None:
        """A library without a floor is a mistake."""
        self.assertRaises(ValueError, floors, _SETUP.replace("attrs >= 23.2", "attrs"))

    def test_ours(self) -> None:
        """Every requirement of the repository has a floor."""
        text = (ROOT / "setup.cfg").read_text()
        pins = floors(text)
        self.assertIn("zope.interface==6.2", pins)
        self.assertEqual(len(pins), len(list(requirements(text))))

    def test_modules(self) -> None:
        """The tests that are run exist."""
        for name in MODULES:
            path = ROOT.joinpath(*name.partition(".ExamplesTests")[0].split("."))
            self.assertTrue(path.is_dir() or path.with_suffix(".py").exists(), name)
