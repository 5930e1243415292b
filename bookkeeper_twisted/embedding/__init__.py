"""Bookies inside an application: the same bookies that ``twistd bookie`` runs, without its command line.

Theory of operation.  :func:`make_bookie` makes a bookie from a configuration.  The bookie runs on the reactor of the
application, and its ``start`` and ``stop`` return Deferreds.  :func:`standalone_configs` makes the configurations for a
cluster of bookies in one process.  :func:`temporary_cluster` runs such a cluster, with its files in a temporary folder,
until a ``with`` block ends.
"""

from .production import make_bookie
from .standalone import standalone_configs
from .temporary import temporary_cluster

__all__ = ["make_bookie", "standalone_configs", "temporary_cluster"]
