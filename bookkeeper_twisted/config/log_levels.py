"""The type of configuration values that set log levels for single logger namespaces."""

import re
from collections.abc import Iterable, Mapping

from .fields import Kind

DEFAULT = "default"
"""The name that stands for all namespaces without a level of their own."""

LEVELS = ("debug", "info", "warn", "error", "critical")
"""The names of the log levels, from the least to the most severe."""

_NAMESPACE = re.compile(r"\w+(\.\w+)*", re.ASCII)


def levels_by_namespace(pairs: Iterable[str]) -> dict[str, str]:
    """Return the name of the log level by namespace; :data:`DEFAULT` stands for all other namespaces.

    :param pairs: texts of the form ``namespace:level``, for example ``bookkeeper_twisted.protocol:debug``.
    :raises ValueError: a text has another form, a level has an unknown name, or a namespace occurs twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        namespace, colon, level = pair.partition(":")
        if not colon or not _NAMESPACE.fullmatch(namespace) or level not in LEVELS:
            raise ValueError(f"expected NAMESPACE:LEVEL, separated by commas; levels are {', '.join(LEVELS)}")
        if namespace in found:
            raise ValueError(f"the namespace {namespace} is named twice")
        found[namespace] = level
    return found


def levels_text(levels: Mapping[str, str]) -> str:
    """Convert the levels of namespaces to text, in the format of configuration files.

    :param levels: names of levels by namespace.
    """
    return ",".join(f"{namespace}:{level}" for namespace, level in levels.items())


def _parse(text: str) -> tuple[str, ...]:
    pairs = [part.partition(":") for part in text.split(",") if part.strip()]
    return tuple(f"{name.strip()}{colon}{level.strip().lower()}" for name, colon, level in pairs)


def _check(pairs: tuple[str, ...]) -> None:
    levels_by_namespace(pairs)


LOG_LEVELS: Kind[tuple[str, ...]] = Kind("NAMESPACE:LEVEL, separated by commas", _parse, _check, (tuple,))
