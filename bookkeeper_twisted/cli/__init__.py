"""Command lines: ``twistd bookie`` (:mod:`.tap`), ``twistd autorecovery`` and ``bookkeeper-twisted shell``."""
