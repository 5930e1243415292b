"""Rows: the results of commands, each shown as the text of Apache's shell or as a JSON object.

A JSON object has a member for each field of the row, in the same order, with a name in camel case: ``ledgerId`` for
``ledger_id``.  Numbers, such as ids of ledgers, are JSON numbers; bytes are encoded in base64.  A member without a
value is null, so all objects of a command have the same members.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, Protocol, Self

import attrs

from ..model import LedgerMetadata
from .shell_text import metadata_fields

_ENCODER = json.JSONEncoder(allow_nan=False)
_NAMES: dict[type[Any], dict[str, str]] = {}
"""A cache of results of :func:`_member_names`, by class."""


class Formats(Protocol):
    """The formats that the user has chosen for ledger ids and payloads in text; JSON does not depend on them."""

    @property
    def format_id(self) -> Callable[[int], str]:
        """The function that formats a ledger id, by option ``-ledgeridformat``."""

    @property
    def format_entry(self) -> Callable[[bytes], str]:
        """The function that formats the payload of an entry, by option ``-entryformat``."""


@attrs.frozen
class ShellRow:
    """One result of a command.  A subclass declares its fields, and implements :meth:`text`."""

    def text(self, formats: Formats) -> Iterable[str]:
        """Return the lines that Apache's shell prints for this result.

        :param formats: formats of ledger ids and of payloads.
        """
        raise NotImplementedError

    @classmethod
    def members(cls) -> tuple[str, ...]:
        """Return the names of the members of the JSON object."""
        return tuple(_member_names(cls).values())

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Self:
        """Make a row from the ``members`` of a JSON object; members of fields with a default may be missing."""
        names = _member_names(cls)
        return cls(**{f.name: members[names[f.name]] for f in attrs.fields(cls)
                      if names[f.name] in members or f.default is attrs.NOTHING})  # fmt: skip

    def json_object(self) -> dict[str, Any]:
        """Return the members of the JSON object, by name."""
        return _members_of(self)

    def json_line(self) -> str:
        """Return the JSON object as a line of ASCII characters."""
        return _ENCODER.encode(self.json_object())


def _member_names(kind: type[Any]) -> dict[str, str]:
    """Map the name of each field of a class to the name of its JSON member."""
    if kind not in _NAMES:
        _NAMES[kind] = {field.name: _camel_case(field.name) for field in attrs.fields(kind)}
    return _NAMES[kind]


def _members_of(value: Any) -> dict[str, Any]:
    return {member: _json_value(getattr(value, name)) for name, member in _member_names(type(value)).items()}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _json_value(value: Any) -> Any:
    """Convert the value of a field, and the values inside it, to types that the module ``json`` can encode."""
    if value is None or type(value) in (int, str, bool):
        return value  # tested first, because most values have these types
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, float) and not isfinite(value):
        return None  # JSON has no infinite numbers and no NaN
    if isinstance(value, LedgerMetadata):
        return _json_value({**metadata_fields(value), "ctime": value.ctime})
    if isinstance(value, Mapping):
        return {str(key): _json_value(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_json_value(each) for each in value]
    return _members_of(value) if attrs.has(type(value)) else value
