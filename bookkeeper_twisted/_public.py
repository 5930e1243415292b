"""The public names of the package, each with the module that defines it.

``__init__.pyi`` declares the same names for type checkers.
"""

_HOMES = {
    "client": (
        "AdvLedgerWriter", "BookKeeper", "BookKeeperAdmin", "BookKeeperService", "ClientMetrics", "Confirmed",
        "EntryBatch", "LedgerReader", "LedgerWriter", "ThreadAppender", "WhenFull",
    ),
    "config.bookie": ("BookieConfig",),
    "config.client": ("ClientConfig",),
    "embedding": ("make_bookie", "standalone_configs", "temporary_cluster"),
    "errors": ("BookKeeperError",),
    "model": ("DigestType", "Entry", "LedgerMetadata", "LedgerState", "WriteFlag"),
}  # fmt: skip

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    """Import the module that defines the public name ``name``, and return the object with this name."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'bookkeeper_twisted' has no attribute {name!r}")
    # Import importlib and the module here, not when this package is imported.  A program imports this package before
    # its entry point runs.  Ctrl-C during that import prints a stack trace, so the import must be short.
    from importlib import import_module

    return getattr(import_module(f"bookkeeper_twisted.{home}"), name)


def __dir__() -> list[str]:
    """List all public names, even those that are not loaded yet."""
    return [*__all__, "__version__"]
