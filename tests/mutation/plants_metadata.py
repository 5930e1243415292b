"""Plants in ``metadata``."""

from .plant import Plant

_STORE = ["tests.metadata.embedded.test_sqlite_store", "tests.metadata.embedded.test_sqlite"]
_LOOP = ["tests.metadata.test_update_loop"]

PLANTS = (
    Plant(
        "commits of the embedded store are not synced", "metadata/embedded/sqlite_store.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF", _STORE,
    ),
    Plant(
        "commits of the embedded store are synced now and then", "metadata/embedded/sqlite_store.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL", _STORE,
    ),
    Plant(
        "a lost race is an error", "metadata/update_loop.py",
        "            doubts += not isinstance(error, MetadataVersionError)\n", "            doubts += 1\n", _LOOP,
    ),
    Plant(
        "doubts are never too many", "metadata/update_loop.py",
        "            if doubts > MAX_DOUBTS:\n                raise\n", "            if doubts > MAX_DOUBTS * 100:\n                raise\n", _LOOP,
    ),
    Plant(
        "an update goes back to an older value", "metadata/update_loop.py",
        "if found.version >= current.version:", "if True:", _LOOP,
    ),
    Plant(
        "a value that needs no update any more is written again", "metadata/update_loop.py",
        "    while needs_update(current.value):\n", "    first = True\n    while first or needs_update(current.value):\n        first = False\n", _LOOP,
    ),
)  # fmt: skip
