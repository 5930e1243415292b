"""Formats log events of Twisted as JSON, one object a line, for programs that collect logs.

:func:`twisted.logger.eventAsJSON` is for programs that read the events back in Python: its lines have the level as an
object, the message as a template, and all objects of the event.  The lines of this module are made for searches: they
have the level and the message as text.
"""

import json
import math
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from string import Formatter
from typing import Any

from twisted.logger import LogEvent, formatEvent
from twisted.python.failure import Failure

from ..masking import MASK, SECRET_NAME, without_credentials

_OF_LEGACY_LOG = frozenset({"message", "time", "system", "format", "isError", "failure", "why", "printed"})
"""Fields that Twisted's older log adds to an event; they repeat what the line says anyway."""

_FORMATTER = Formatter()
_PART = re.compile(r"(?!log_)\w+(\.\w+)+")
"""A pattern for the names in a message's template that mean an attribute of a field, such as ``last.entries``."""

_DEEPEST = 4
"""Maximum number of levels of lists and mappings in a field; what is nested deeper is shown as text."""


def json_line(event: LogEvent) -> str | None:
    """Return a log event as a line with one JSON object; None if the event has no message and no exception.

    The object has ``time`` (ISO 8601, UTC), ``level``, ``module``, ``message``, ``fields`` (the fields of the event by
    name, if it has any), and ``exception`` (type, text and traceback, if the event reports one).

    :param event: an event as observers get it, also one of Twisted's older log.
    """
    message, failure = formatEvent(event), event.get("log_failure")
    if not message and failure is None:
        return None
    level = event.get("log_level")
    line: dict[str, object] = {
        "time": _time(event.get("log_time")),
        "level": getattr(level, "name", "info"),
        "module": str(event.get("log_namespace") or "-"),
        "message": without_credentials(message),
    }
    if fields := _fields(event):
        line["fields"] = fields
    if isinstance(failure, Failure):
        line["exception"] = _exception(failure.value, failure.getTraceback())
    return json.dumps(line) + "\n"


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(event: LogEvent) -> dict[str, object]:
    is_legacy, parts = "isError" in event, _parts(event)
    whole = {name.partition(".")[0] for name in parts}
    given = {
        name: value
        for name, value in event.items()
        if not name.startswith("log_") and name not in whole and not (is_legacy and name in _OF_LEGACY_LOG)
    }
    return {
        name: MASK if SECRET_NAME.search(name) else _plain(value, _DEEPEST)
        for name, value in {**given, **parts}.items()
    }


def _parts(event: LogEvent) -> dict[str, object]:
    """Return the attributes of objects that a message names, such as ``last.entries``: they replace the objects."""
    found: dict[str, object] = {}
    try:
        for _, name, _, _ in _FORMATTER.parse(str(event.get("log_format") or "")):
            if name and _PART.fullmatch(name):
                found[name] = _FORMATTER.get_field(name, (), event)[0]
    except (ValueError, LookupError, AttributeError):
        return {}  # the template is wrong, and formatEvent() has said so in the message
    return found


def _plain(value: Any, depth: int) -> object:
    """Return a value of a field as JSON can have it: an object of another class becomes its text.

    :param depth: how many levels of lists and mappings may follow.
    """
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Failure):
        return _exception(value.value, value.getTraceback())
    if isinstance(value, BaseException):
        return _exception(value, "".join(traceback.format_exception(value)) if value.__traceback__ else "")
    if depth and isinstance(value, list | tuple) and type(value) in (list, tuple):
        return [_plain(each, depth - 1) for each in value]
    if depth and isinstance(value, dict):
        return _members(value, depth)
    return without_credentials(_text(value))


def _members(values: Mapping[Any, Any], depth: int) -> dict[str, object]:
    texts = {_text(name): value for name, value in values.items()}
    return {name: MASK if SECRET_NAME.search(name) else _plain(value, depth - 1) for name, value in texts.items()}


def _exception(error: BaseException | None, trace: str) -> dict[str, object]:
    found: dict[str, object] = {"type": type(error).__qualname__, "text": without_credentials(_text(error))}
    if trace:
        found["traceback"] = without_credentials(trace)
    return found


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # a log line must not fail because of what it shows
        return f"<{type(value).__qualname__} without a text: {type(error).__qualname__}>"
