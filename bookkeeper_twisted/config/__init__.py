"""Configuration: the keys of ``bk_server.conf`` and of clients, parsed from text into immutable objects.

:mod:`.properties` parses Java's properties format.  :mod:`.settings` merges file, environment and options.
:mod:`.fields` defines how a key is declared: its default, unit, bounds and help.  Checks, ``--help`` and documentation
use these declarations.  :mod:`.bookie`, :mod:`.client` and :mod:`.metadata` declare the keys.  :mod:`.java_keys` lists
keys of Apache's bookie that have no effect here.
"""
