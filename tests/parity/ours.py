"""What is here, as the program itself says it: its verbs, HTTP operations, metrics and configuration keys."""

import re
from collections.abc import Mapping
from pathlib import Path

from bookkeeper_twisted.autorecovery.auditing.auditor_metrics import AuditorMetrics
from bookkeeper_twisted.autorecovery.metrics import CheckerMetrics, ReplicationMetrics, WorkerMetrics
from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.http.routes import ANY_METHOD
from bookkeeper_twisted.http.site import ROUTES
from bookkeeper_twisted.metrics import Instruments, new_registry, render
from docs import metrics_reference

SHELL_PAGE = Path(__file__).parents[2] / "docs" / "shell.rst"


def verbs() -> Mapping[str, str]:
    """The verbs of the shell; ``differs`` if the page about it says what differs from Apache's."""
    differences = SHELL_PAGE.read_text().partition("Beside Apache's shell\n")[2]
    return {name: "differs" if f"``{name}" in differences else "yes" for name in [*COMMANDS, "help"]}


def documented_verbs() -> set[str]:
    """The verbs that the page about the shell explains."""
    return {text.split()[0] for text in re.findall(r"``([^`]+)``", SHELL_PAGE.read_text())} & {*COMMANDS, "help"}


def operations() -> Mapping[str, str]:
    """The HTTP operations."""
    return {f"{route.method} {route.path}": "yes" for route in ROUTES if route.method != ANY_METHOD}


def metrics() -> Mapping[str, str]:
    """The metrics that a bookie exports after its start, and autorecovery."""
    autorecovery = Instruments()
    AuditorMetrics(autorecovery)
    CheckerMetrics(autorecovery)
    ReplicationMetrics(autorecovery)
    worker = WorkerMetrics(autorecovery)
    worker.failed(type("ReadError", (Exception,), {})())
    found = {each.name: "bookie" for each in metrics_reference.exported()}
    text = render(new_registry(autorecovery)).decode()
    found |= {each.name: "autorecovery" for each in metrics_reference.parse(text)}
    usage = r"^bookie_ledger_dir_.+_usage$"
    return {re.sub(usage, "bookie_ledger_dir_<directory>_usage", _base(name)): kind for name, kind in found.items()}


def _base(name: str) -> str:
    """The name of a metric as Java's exposition declares it: a counter without the end of its samples."""
    return name.removesuffix("_total") if name.startswith("process_") else name


def keys() -> Mapping[str, str]:
    """The configuration keys that have an effect, and who takes them."""
    found: dict[str, str] = {}
    for kind, config in (("bookie", BookieConfig), ("client", ClientConfig)):
        for field in fields_of(config).values():
            for key in (field.key, field.alias):
                if key:
                    found[key] = f"{found[key]}, {kind}" if key in found else kind
    return found


def attributes() -> Mapping[str, str]:
    """The attributes of configurations, by key."""
    configs = (BookieConfig, ClientConfig)
    return {field.key: attribute for config in configs for attribute, field in fields_of(config).items()}
