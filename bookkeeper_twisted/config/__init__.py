"""Configuration: the keys of ``bk_server.conf`` and of clients, from text to frozen values.

:mod:`.properties` reads Java's properties text, :mod:`.settings` merges file, environment and options,
:mod:`.fields` declares what a key is (default, unit, bounds, help) once for checks, ``--help`` and documentation.
:mod:`.bookie`, :mod:`.client` and :mod:`.metadata` declare the keys themselves, :mod:`.java_keys` lists keys of Java
that have no effect here.
"""
