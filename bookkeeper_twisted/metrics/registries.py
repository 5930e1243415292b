"""Makes Prometheus registries for the instruments of this package, and for metrics of the process."""

from prometheus_client import CollectorRegistry, ProcessCollector

from ..instruments import Instruments


def new_registry(*collectors: Instruments) -> CollectorRegistry:
    """Make a registry of the instruments of bookies or clients, without metrics of the process."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return registry


def process_registry() -> CollectorRegistry:
    """Make a registry of CPU time, memory and file descriptors of this process (``process_*``).

    It is empty except on Linux.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry
