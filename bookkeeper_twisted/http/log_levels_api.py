"""The HTTP page that shows and changes the levels of the log of a process."""

from collections.abc import Callable, Mapping

from twisted.web.resource import Resource

from ..config.log_levels import DEFAULT, levels_by_namespace, levels_text
from ..errors import IncorrectParameterError
from .api import Answer, ApiPage, ApiRequest, json_answer
from .limits_api import log_changes

_LEVEL, _LEVELS = "logLevel", "logLevels"


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

    def pages(self) -> Mapping[str, Resource]:
        """Return the page by its path below ``/api/v1/config``."""
        return {"log_levels": ApiPage(self._shown, put=self._set)}

    def _levels(self) -> dict[str, str]:
        values = self._configuration()
        pairs = [pair for pair in values[_LEVELS].split(",") if pair]
        return {DEFAULT: values[_LEVEL], **levels_by_namespace(pairs)}

    async def _shown(self, question: ApiRequest) -> Answer:
        return json_answer(self._levels())

    async def _set(self, question: ApiRequest) -> Answer:
        """Change the levels that the body names, drop those that are null there; answer with all, as for GET."""
        levels, body = self._levels(), question.json()
        if not body:
            raise IncorrectParameterError('The body should be {"<namespace>" : "<level>"}; null drops a level')
        for namespace, level in body.items():
            if level is None and namespace != DEFAULT:
                levels.pop(namespace, None)
            elif isinstance(level, str) and not {",", ":"} & {*namespace, *level}:
                levels[namespace] = level
            else:
                raise IncorrectParameterError(f"{namespace} should be the name of a level")
        before = self._configuration()
        self._configure({_LEVELS: levels_text(levels)})
        log_changes(before, self._configuration(), question.peer)
        return await self._shown(question)
