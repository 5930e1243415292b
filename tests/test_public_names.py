"""The names at the top of the package."""

import ast
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import bookkeeper_twisted
from bookkeeper_twisted import BookKeeper, ClientConfig, DigestType, _public

STUB = Path(bookkeeper_twisted.__file__).with_suffix(".pyi")


class PublicNamesTests(SynchronousTestCase):
    """``from bookkeeper_twisted import ...``."""

    def test_stub(self) -> None:
        """Type checkers are told the same names as there are, and each from where it comes."""
        told = {}
        for node in ast.parse(STUB.read_text()).body:
            if isinstance(node, ast.ImportFrom):
                told[node.names[0].asname] = f"bookkeeper_twisted.{node.module}"
        self.assertEqual(sorted(told, key=str), _public.__all__)
        for name, home in told.items():
            found = getattr(bookkeeper_twisted, str(name))
            self.assertIs(getattr(sys.modules[home], str(name)), found)

    def test_typed(self) -> None:
        """A type checker knows what a name from the top is: this would not pass it otherwise."""
        config: ClientConfig = ClientConfig(read_ahead_bytes=1)
        size: int = config.read_ahead_bytes
        digest: DigestType = DigestType.HMAC
        client: type[BookKeeper] = BookKeeper
        self.assertEqual((size, digest, client.__name__), (1, DigestType.HMAC, "BookKeeper"))

    def test_dir(self) -> None:
        """The names can be listed without loading them."""
        self.assertLess({"BookKeeper", "ClientConfig", "__version__"}, set(dir(bookkeeper_twisted)))

    def test_unknown(self) -> None:
        """A name that is not there is an ImportError, as ever."""
        error = self.assertRaises(AttributeError, getattr, bookkeeper_twisted, "Bookkeeper")
        self.assertEqual(str(error), "module 'bookkeeper_twisted' has no attribute 'Bookkeeper'")

    def test_lazy(self) -> None:
        """Importing the package loads no Twisted, which workers of other programs can do without."""
        code = "import sys, bookkeeper_twisted, bookkeeper_twisted.errors; print('twisted' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "False\n")
