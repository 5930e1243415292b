"""Bookies inside an application: the service of ``twistd bookie``, without the command line.

Theory of operation.  :func:`make_bookie` puts a bookie together from the real disk, the real network and the metadata
driver that its configuration names, on the reactor of the application; ``start`` and ``stop`` give Deferreds.
:func:`standalone_configs` makes the configurations of a cluster in one process, and
:func:`temporary_cluster` runs such a cluster in a temporary folder for the length of a context.
"""

from .production import make_bookie
from .standalone import standalone_configs
from .temporary import temporary_cluster

__all__ = ["make_bookie", "standalone_configs", "temporary_cluster"]
