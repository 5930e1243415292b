"""Plants in the choice of a plugin by the name in the configuration."""

from .plant import Plant

_SETTINGS = ["tests.config.test_settings"]

PLANTS = (
    Plant(
        "a name that no plugin has chooses the first one", "config/settings.py",
        'raise self._error(name, f"no such {what}; known are {\', \'.join(known)}")', "return plugins[0]",
        [*_SETTINGS, "tests.bookie.lifecycle.test_storages"], where="Config.chosen",
    ),
    Plant(
        "an unknown name of a plugin is refused without the known ones", "config/settings.py",
        "sorted({each for plugin in plugins for each in plugin.names if each}.union(others))", "sorted(others)",
        _SETTINGS, where="Config.chosen",
    ),
)  # fmt: skip
