"""The levels of the log by namespace, as text."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import from_options
from bookkeeper_twisted.config.log_levels import levels_by_namespace, levels_text
from bookkeeper_twisted.errors import ConfigError


class LogLevelsTests(SynchronousTestCase):
    """The key ``logLevels``."""

    def _levels(self, text: str, level: str = "info") -> dict[str, str]:
        return BookieConfig.load(from_options({"logLevels": text, "logLevel": level})).levels

    def test_levels(self) -> None:
        """Namespaces have their levels, and all others that of logLevel, or of the word default."""
        self.assertEqual(self._levels(""), {"default": "info"})
        levels = self._levels(" a.b : DEBUG, c:warn", "error")
        self.assertEqual(levels, {"default": "error", "a.b": "debug", "c": "warn"})
        self.assertEqual(self._levels("default:critical,a:debug"), {"default": "critical", "a": "debug"})

    def test_text(self) -> None:
        """The text of levels is read as the same levels."""
        levels = {"default": "warn", "bookkeeper_twisted.protocol": "debug"}
        self.assertEqual(levels_by_namespace(levels_text(levels).split(",")), levels)

    def test_refused(self) -> None:
        """Another form, an unknown level, and a namespace that is there twice, are refused with the reason."""
        for text in ("debug", "a:", ":debug", "a:loud", "a b:debug", "a..b:debug", "a:b:debug", "\u00e4:debug"):
            refused = self.assertRaises(ConfigError, self._levels, text)
            self.assertRegex(str(refused), "logLevels = .*, option --logLevels: expected NAMESPACE:LEVEL")
        self.assertIn("named twice", str(self.assertRaises(ConfigError, self._levels, "a:debug,a:warn")))
