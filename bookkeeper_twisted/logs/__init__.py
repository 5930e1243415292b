"""The log of a process: lines as JSON, and levels by namespace that can change while the process runs.

A namespace is the dotted name of the module that logs, such as ``bookkeeper_twisted.protocol.server.connection``.
"""
