"""The HTTP pages for speed limits of a bookie or of autorecovery, for log levels, and for the configuration."""

from collections.abc import Callable, Mapping

from twisted.logger import Logger

from ..bookie.admin import IBookieAdmin
from ..config.log_levels import DEFAULT, levels_by_namespace, levels_text
from ..errors import IncorrectParameterError, NoSuchThrottleError
from ..limits.adaptive import AdaptiveStatus, ISpeedLimits
from ..limits.ratelimit import Rate
from ..limits.throttle import ThrottleStatus
from .api import Answer, ApiRequest, check_members, json_answer
from .routes import TEXT, Parameter, Route, routed

_log = Logger()

_LEVELS_PATH = "/api/v1/config/log_levels"
_LEVEL, _LEVELS = "logLevel", "logLevels"
_MOST_LEVELS = 100
"""Maximum number of namespaces with a level of their own: each log line is compared with all of them."""

_ADAPTIVE, _REPLICATION_ADAPTIVE, _LIMITERS = "adaptive", "replicationAdaptive", "limiters"
_BOUND = "latencyBoundMs"
_ENTRIES, _BYTES = "entriesPerSecond", "bytesPerSecond"
_LEAST = 0.001
"""The least limit that a request may set, besides 0: answers have three decimal places, so a lesser one would be 0."""

_MOST = 1e19
"""The greatest limit that a request may set.  It exceeds all limits that the configuration accepts."""


Groups = Mapping[str, ISpeedLimits]
"""Speed limits in groups (of a bookie, of autorecovery), by the name of the group in JSON objects.

Each group has one latency bound: while client requests take longer, all speeds of the group are lowered.
"""


def limits_of_bookie(admin: IBookieAdmin) -> Groups:
    """Return the speed limits of a bookie's background work, and of autorecovery if it runs in the same process.

    :param admin: administration interface of the bookie.
    :raises bookkeeper_twisted.errors.NotServingError: the bookie does not serve.
    """
    groups: dict[str, ISpeedLimits] = {_ADAPTIVE: admin.background()}
    if admin.replication_limits is not None:
        groups |= limits_of_autorecovery(admin.replication_limits)
    return groups


def limits_of_autorecovery(limits: ISpeedLimits) -> Groups:
    """Return the speed ``limits`` of an autorecovery process as the only group of limits."""
    return {_REPLICATION_ADAPTIVE: limits}


def limits_value(groups: Groups) -> Mapping[str, object]:
    """Return groups of speed limits as a JSON object.

    It contains all limiters by name, and for each group the latency bound: while client requests take longer, the group
    is slowed down.

    :param groups: the groups; no two limiters have the same name.
    """
    found = {key: group.limits() for key, group in groups.items()}
    bounds: dict[str, object] = {key: _adaptive(limits.adaptive) for key, limits in found.items()}
    limiters = {each.name: _limiter(each) for limits in found.values() for each in limits.throttles}
    return bounds | {_LIMITERS: dict(sorted(limiters.items()))}


class LimitsApi:
    """Answers HTTP requests about the speed limits of one process, and logs each change.

    :param groups: returns the groups of speed limits; no two limiters have the same name.
    """

    _log = Logger()

    def __init__(self, groups: Callable[[], Groups]) -> None:
        self._groups = groups

    @routed(
        Route("GET", "/api/v1/bookie/throttles",
              "each speed limit: the limit, what of it is in force, what was granted, how long "
              "requests waited, and the jobs that use it", refusals=(503,)),
    )  # fmt: skip
    async def _limits(self, request: ApiRequest) -> Answer:
        return json_answer(limits_value(self._groups()))

    @routed(
        Route("PUT", "/api/v1/bookie/throttles",
              "changes speed limits, until the end of the process; the answer is that of GET",
              body=(Parameter(_LIMITERS, "for each, ``entriesPerSecond``, ``bytesPerSecond``; 0: no limit", "object"),
                    Parameter(_ADAPTIVE, "``latencyBoundMs`` of a bookie's background work", "object"),
                    Parameter(_REPLICATION_ADAPTIVE, "``latencyBoundMs`` of autorecovery", "object")),
              refusals=(400, 404, 503), is_logged=True),
    )  # fmt: skip
    async def _set_limits(self, request: ApiRequest) -> Answer:
        """Change the limits that the body of the request names; answer with all limits, as after a GET request."""
        groups, body = self._groups(), request.json()
        if not body.keys() & {*groups, _LIMITERS}:
            raise IncorrectParameterError(
                f'The body should be {{"{_LIMITERS}" : {{"<name>" : {{"{_ENTRIES}" : n, "{_BYTES}" : n}}}}, '
                f'"{next(iter(groups))}" : {{"{_BOUND}" : n}}}}, or a part of it'
            )
        check_members(body, [*groups, _LIMITERS], "the body")
        rates = _rates_by_group(_mapping(body.get(_LIMITERS, {}), _LIMITERS), groups)
        bounds = {key: _bound(_mapping(body.get(key, {}), key), key) for key in groups}
        before = _texts(groups)
        for key, group in groups.items():
            group.set_limits(rates[key], bounds[key])
        for name, now in _texts(groups).items():
            if now != before[name]:
                self._log.info("{name}: {before} -> {now}, set by {peer}", name=name, before=before[name], now=now,
                               peer=request.peer)  # fmt: skip
        return await self._limits(request)


class ConfigurationApi:
    """Answers HTTP requests about the configuration of one bookie, and logs each change of a key."""

    def __init__(self, admin: IBookieAdmin) -> None:
        self._admin = admin

    @routed(Route("GET", "/api/v1/config/server_config", "the configuration in force"))
    async def _configuration(self, request: ApiRequest) -> Answer:
        return json_answer(self._admin.configuration())

    @routed(
        Route("PUT", "/api/v1/config/server_config", "changes keys of garbage collection, compaction, scrub, speed "
              "limits, disk checks and the log, until the end of the process or SIGHUP",
              body=(Parameter("*", "the value of the key of this name"),),
              refusals=(400, 404, 503), content=TEXT, is_logged=True),
    )  # fmt: skip
    async def _configure(self, request: ApiRequest) -> Answer:
        if not request.body.strip():
            return Answer("Request body not found. should contains k-v pairs", 404)
        before = self._admin.configuration()
        self._admin.configure({key: _as_text(value, key) for key, value in request.json().items()})
        log_changes(before, self._admin.configuration(), request.peer)
        return Answer("Success set server config.")


class LogLevelsApi:
    """Answers HTTP requests about the levels of the log, and logs each change.

    :param configuration: returns the present configuration by key.
    :param configure: changes values of the configuration by key.
    """

    def __init__(
        self, configuration: Callable[[], Mapping[str, str]], configure: Callable[[Mapping[str, str]], None]
    ) -> None:
        self._configuration = configuration
        self._configure = configure

    def _levels(self) -> dict[str, str]:
        return levels_by_namespace([pair for pair in self._configuration()[_LEVELS].split(",") if pair])

    @routed(Route("GET", _LEVELS_PATH, "the levels of the log, by namespace"))
    async def _shown(self, request: ApiRequest) -> Answer:
        return json_answer({DEFAULT: self._configuration()[_LEVEL], **self._levels()})

    @routed(
        Route("PUT", _LEVELS_PATH, "changes levels of the log, until the end of the process; the answer is that of GET",
              body=(Parameter("*", "the level of the namespace of this name; null: that of the namespace above it"),),
              refusals=(400,), is_logged=True),
    )  # fmt: skip
    async def _set(self, request: ApiRequest) -> Answer:
        """Change the level of each namespace in the body; answer with all levels, as after a GET request.

        With null, a namespace loses its own level, so that the level of its parent is valid for it.
        """
        levels, body = self._levels(), request.json()
        if not body:
            raise IncorrectParameterError('The body should be {"<namespace>" : "<level>"}; null drops a level')
        for namespace, level in body.items():
            if level is None:
                levels.pop(namespace, None)
            elif isinstance(level, str) and not {",", ":"} & {*namespace, *level}:
                levels[namespace] = level
            else:
                raise IncorrectParameterError(f"{namespace} should be the name of a level")
        if len(levels) > _MOST_LEVELS:
            raise IncorrectParameterError(f"{len(levels)} namespaces are more than {_MOST_LEVELS}")
        before = self._configuration()
        self._configure({_LEVELS: levels_text(levels)})
        log_changes(before, self._configuration(), request.peer)
        return await self._shown(request)


def log_changes(before: Mapping[str, str], after: Mapping[str, str], peer: str) -> None:
    """Log a line for each key of a configuration whose value has changed.

    :param before, after: the values by key, without secrets.
    :param peer: address of the client that changed them.
    """
    for key, now in after.items():
        if now != before[key]:
            _log.info(
                "{key}: {before} -> {now}, set by {peer}", key=key, before=before[key], now=now, peer=peer,
                log_always=True,
            )  # fmt: skip


def _rates_by_group(wanted: Mapping[str, object], groups: Groups) -> Mapping[str, Mapping[str, Rate]]:
    """Return the rates that a request sets: for each group of limiters, a mapping from the limiter's name to its rate.

    If the request names only one rate of a limiter, entries or bytes per second, the other rate does not change.

    :param wanted: the limiters in the body of the request, by name.
    :raises NoSuchThrottleError: no group has a limiter with a name in ``wanted``.
    """
    now = {each.name: (key, each.limit) for key, group in groups.items() for each in group.limits().throttles}
    rates: dict[str, dict[str, Rate]] = {key: {} for key in groups}
    for name, numbers in wanted.items():
        if name not in now:
            raise NoSuchThrottleError(f"no limiter is named {name!r}; there are {', '.join(sorted(now))}")
        key, limit = now[name]
        rates[key][name] = _rate(_mapping(numbers, name), limit, name)
    return rates


def _bound(adaptive: Mapping[str, object], key: str) -> float | None:
    check_members(adaptive, [_BOUND], key)
    return _number(adaptive[_BOUND], _BOUND) if _BOUND in adaptive else None


def _texts(groups: Groups) -> Mapping[str, str]:
    """Return the value of each speed limit and of each group's latency bound, as text for the log, by its name."""
    found = {key: group.limits() for key, group in groups.items()}
    bounds = {f"{key} {_BOUND}": f"{limits.adaptive.bound:g}" for key, limits in found.items()}
    return bounds | {
        f"speed limit {each.name}": _limit_text(each.limit) for limits in found.values() for each in limits.throttles
    }


def _limit_text(limit: Rate) -> str:
    parts = [f"{_shown(number)} {unit}/s" for number, unit in ((limit.entries, "entries"), (limit.bytes, "bytes"))
             if number]  # fmt: skip
    return ", ".join(parts) or "no limit"


def _adaptive(status: AdaptiveStatus) -> Mapping[str, object]:
    return {
        _BOUND: _shown(status.bound),
        "factor": _shown(status.factor),
        "latencyP99Ms": None if status.latency is None else _shown(status.latency),
    }


def _limiter(status: ThrottleStatus) -> Mapping[str, object]:
    return {
        _ENTRIES: _shown(status.limit.entries),
        _BYTES: _shown(status.limit.bytes),
        # what is in force may be far below the limit, and 0 would mean that there is none
        "entriesPerSecondInForce": _shown(status.in_force.entries) or status.in_force.entries,
        "bytesPerSecondInForce": _shown(status.in_force.bytes) or status.in_force.bytes,
        "grantedEntries": status.granted_entries,
        "grantedBytes": status.granted_bytes,
        "waitedSeconds": _shown(status.waited),
        "waiters": status.waiting,
        "users": list(status.users),
    }


def _shown(number: float) -> float:
    """Round a number to three decimal places; return a whole number as an integer."""
    rounded = round(number, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def _rate(wanted: Mapping[str, object], now: Rate, name: str) -> Rate:
    check_members(wanted, [_ENTRIES, _BYTES], name)
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise IncorrectParameterError(f"{name} should be a number from 0, which sets no limit, to {_MOST:g}")
    if 0 < value < _LEAST:
        raise IncorrectParameterError(f"{name} should be 0, which sets no limit, or at least {_LEAST}")
    return value


def _as_text(value: object, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise IncorrectParameterError(f"{key} should be a text, a number, true or false")
