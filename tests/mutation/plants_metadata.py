"""Plants in ``metadata``."""

from .plant import Plant

_STORE = ["tests.metadata.embedded.test_sqlite_store", "tests.metadata.embedded.test_sqlite"]

PLANTS = (
    Plant(
        "commits of the embedded store are not synced", "metadata/embedded/sqlite_store.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF", _STORE,
    ),
    Plant(
        "commits of the embedded store are synced now and then", "metadata/embedded/sqlite_store.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL", _STORE,
    ),
)  # fmt: skip
