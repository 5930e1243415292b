"""Configuration: the keys of ``bk_server.conf`` and of clients, parsed from text into immutable objects.

:mod:`.properties` parses Java's properties format.  :mod:`.settings` merges the values from file, environment and
command line.  :mod:`.fields` defines how a key is declared, with its default, unit, limits and help text; the
checks, ``--help`` and the documentation use this declaration.  :mod:`.bookie`, :mod:`.client` and :mod:`.metadata`
declare the keys.  :mod:`.java_keys` lists keys of Apache's bookie that have no effect here.
"""
