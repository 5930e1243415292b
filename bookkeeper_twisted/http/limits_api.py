"""Speed limits and configuration of a running bookie over HTTP."""

import math
from collections.abc import Mapping

from twisted.web.resource import Resource

from ..bookie.admin import IBookieAdmin
from ..errors import IncorrectParameterError
from ..ratelimit import Rate
from ..throttle import ThrottleStatus
from .api import Answer, ApiPage, Question, json_answer

_ADAPTIVE, _LIMITERS = "adaptive", "limiters"
_BOUND = "latencyBoundMs"
_ENTRIES, _BYTES = "entriesPerSecond", "bytesPerSecond"


class LimitsApi:
    """The pages of one bookie's limits and configuration."""

    def __init__(self, admin: IBookieAdmin) -> None:
        self._admin = admin

    def bookie_pages(self) -> Mapping[str, Resource]:
        """The resources by their path below ``/api/v1/bookie``."""
        return {"throttles": ApiPage(self._limits, put=self._set_limits)}

    def config_pages(self) -> Mapping[str, Resource]:
        """The resources by their path below ``/api/v1/config``."""
        return {"server_config": ApiPage(self._configuration, put=self._configure)}

    # -- speed limits --

    async def _limits(self, question: Question) -> Answer:
        status = self._admin.background().limits()
        adaptive = status.adaptive
        return json_answer(
            {
                _ADAPTIVE: {
                    _BOUND: _shown(adaptive.bound),
                    "factor": _shown(adaptive.factor),
                    "latencyP99Ms": None if adaptive.latency is None else _shown(adaptive.latency),
                },
                _LIMITERS: {each.name: _limiter(each) for each in status.throttles},
            }
        )

    async def _set_limits(self, question: Question) -> Answer:
        """Changes what the body names and leaves the rest; the answer is that of GET."""
        work, body = self._admin.background(), question.json()
        if not body.keys() & {_ADAPTIVE, _LIMITERS}:
            raise IncorrectParameterError(
                f'The body should be {{"{_LIMITERS}" : {{"<name>" : {{"{_ENTRIES}" : n, "{_BYTES}" : n}}}}, '
                f'"{_ADAPTIVE}" : {{"{_BOUND}" : n}}}}, or a part of it'
            )
        _check_keys(body, {_ADAPTIVE, _LIMITERS}, "the body")
        now = {each.name: each.limit for each in work.limits().throttles}
        rates = {
            name: _rate(_mapping(wanted, name), now.get(name, Rate()), name)
            for name, wanted in _mapping(body.get(_LIMITERS, {}), _LIMITERS).items()
        }
        adaptive = _mapping(body.get(_ADAPTIVE, {}), _ADAPTIVE)
        _check_keys(adaptive, {_BOUND}, _ADAPTIVE)
        work.set_limits(rates, _number(adaptive[_BOUND], _BOUND) if _BOUND in adaptive else None)
        return await self._limits(question)

    # -- configuration --

    async def _configuration(self, question: Question) -> Answer:
        return json_answer(self._admin.configuration())

    async def _configure(self, question: Question) -> Answer:
        if not question.body.strip():
            return Answer("Request body not found. should contains k-v pairs", 404)
        self._admin.configure({key: _as_text(value, key) for key, value in question.json().items()})
        return Answer("Success set server config.")


def _limiter(status: ThrottleStatus) -> Mapping[str, object]:
    return {
        _ENTRIES: _shown(status.limit.entries),
        _BYTES: _shown(status.limit.bytes),
        "entriesPerSecondInForce": _shown(status.in_force.entries),
        "bytesPerSecondInForce": _shown(status.in_force.bytes),
        "grantedEntries": status.granted_entries,
        "grantedBytes": status.granted_bytes,
        "waitedSeconds": _shown(status.waited),
        "waiters": status.waiting,
    }


def _shown(number: float) -> float:
    """A number to three places, whole ones without any."""
    rounded = round(number, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def _rate(wanted: Mapping[str, object], now: Rate, name: str) -> Rate:
    _check_keys(wanted, {_ENTRIES, _BYTES}, name)
    if not wanted:
        raise IncorrectParameterError(f"{name} has neither {_ENTRIES} nor {_BYTES}")
    return Rate(
        _number(wanted[_ENTRIES], f"{name}: {_ENTRIES}") if _ENTRIES in wanted else now.entries,
        _number(wanted[_BYTES], f"{name}: {_BYTES}") if _BYTES in wanted else now.bytes,
    )


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise IncorrectParameterError(f"{name} should be a JSON object")
    return value


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise IncorrectParameterError(f"{name} should be a number from 0, which sets no limit")
    return value


def _check_keys(found: Mapping[str, object], known: set[str], where: str) -> None:
    unknown = sorted(found.keys() - known)
    if unknown:
        raise IncorrectParameterError(f"{where}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")


def _as_text(value: object, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise IncorrectParameterError(f"{key} should be a text, a number, true or false")
