"""Command lines: :mod:`.tap` for ``twistd bookie``."""
