"""Reads the configuration of a running process again, after SIGHUP."""

from collections.abc import Callable, Iterable, Sequence

from twisted.logger import Logger

from ...config.bookie import BookieConfig
from ...config.client import ClientConfig
from ...config.live import Change, changes, with_live
from ...config.settings import Config
from ...errors import ConfigError
from .bookies import Startable

ReadAgain = Callable[[], tuple[BookieConfig, ClientConfig]]
"""Reads configuration file, environment and command line; returns the configurations of a bookie and of a client."""


class Reload:
    """Reads the configuration of a process again, and applies the new values of *live* keys to its running services.

    A key is live if its value can change without a restart.  The values that are read also replace values that an
    administrator has changed over HTTP since the start.  One line in the log names the changed keys, and the keys that
    need a restart; each new warning, such as one about an unknown key, is a line of its own, as at the start.  If the
    configuration is invalid, no value changes, and one line in the log gives the reason.

    :param read: reads the configuration.
    :param started: the configurations with which the process has started.
    :param services: the services of the process.
    """

    _log = Logger()

    def __init__(
        self, read: ReadAgain, started: tuple[BookieConfig, ClientConfig], services: Sequence[Startable]
    ) -> None:
        self._read = read
        self._started = started
        self._services = services

    def __call__(self) -> None:
        """Read the configuration again, and apply it."""
        try:
            config, client = self._read()
            wanted = [(service, with_live(service.config, config)) for service in self._services]
        except ConfigError as error:
            self._log.error("SIGHUP changes nothing: the configuration cannot be used: {error}", error=str(error))
            return
        changed: dict[str, Change] = {}
        for service, new in wanted:
            changed |= {each.key: each for each in changes(service.config, new)}
            service.take(new)
        self._say(changed.values(), self._for_restart(config, client))
        for text in self._new_warnings(config, client):
            self._log.warn("{text}", text=text)

    def _for_restart(self, config: BookieConfig, client: ClientConfig) -> list[str]:
        """Return the keys whose values have changed since the start, but can change only with a restart."""
        pairs: Iterable[tuple[Config, Config]] = zip(self._started, (config, client), strict=True)
        differing = [each for before, after in pairs for each in changes(before, after)]
        return list(dict.fromkeys(each.key for each in differing if not each.live))

    def _new_warnings(self, config: BookieConfig, client: ClientConfig) -> list[str]:
        known = {text for each in self._started for text in each.warnings}
        return [text for each in (config, client) for text in each.warnings if text not in known]

    def _say(self, changed: Iterable[Change], restart: Sequence[str]) -> None:
        texts = [f"{each.key}: {each.before or 'empty'} -> {each.after or 'empty'}" for each in changed]
        parts = [f"changed {', '.join(texts)}"] if texts else []
        parts += [f"a restart is needed for {', '.join(restart)}"] if restart else []
        self._log.info(
            "SIGHUP, the configuration was read again: {what}", what="; ".join(parts) or "nothing has changed",
            changed={each.key: each.after for each in changed}, restart=list(restart), log_always=True,
        )  # fmt: skip
