"""Formats log events of Twisted as JSON, one object a line, for programs that collect logs.

Twisted's own :func:`twisted.logger.eventAsJSON` is made to restore events in Python: its lines contain the level as an
object, and the message as a template with its objects.  The lines of this module are made for searches: they contain
the level and the formatted message as text.
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
"""Fields that :mod:`twisted.python.log`, Twisted's older log, adds to an event.  They repeat other fields."""

_FORMATTER = Formatter()
_PART = re.compile(r"(?!log_)\w+(\.\w+)+")
"""A pattern for names in the template of a message that refer to an attribute of a field, such as ``last.entries``."""

_DEEPEST = 4
"""Maximum depth of nested lists and mappings in a field; lists and mappings below it are converted to text."""


def json_line(event: LogEvent) -> str | None:
    """Return a log event as a line with one JSON object; None if the event has no message and no exception.

    The object has ``time`` (ISO 8601, UTC), ``level``, ``module``, ``message``, ``fields`` (the fields of the event by
    name, if it has any), and ``exception`` (type, text and traceback, if the event reports one).

    :param event: an event from :mod:`twisted.logger`, or from the older :mod:`twisted.python.log`.
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
    """Return the fields of a log line for those template fields that name an attribute, such as ``{last.entries}``.

    For this example, the line gets a field ``last.entries`` instead of a field ``last`` with the whole object.
    """
    found: dict[str, object] = {}
    try:
        for _, name, _, _ in _FORMATTER.parse(str(event.get("log_format") or "")):
            if name and _PART.fullmatch(name):
                found[name] = _FORMATTER.get_field(name, (), event)[0]
    except (ValueError, LookupError, AttributeError):
        return {}  # the template is invalid: formatEvent() has reported this in the message
    return found


def _plain(value: Any, depth: int) -> object:
    """Convert the value of a field to a value that JSON can represent; convert other objects to text.

    :param depth: maximum depth of nested lists and mappings in the value.
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
    except Exception as error:  # an error in __str__() of a field must not prevent the log line
        return f"<{type(value).__qualname__} without a text: {type(error).__qualname__}>"
