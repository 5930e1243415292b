"""The ways to authenticate the peers of connections, and how a configuration chooses one.

Theory of operation.  ``bookieAuthProviderFactoryClass`` and ``clientAuthProviderFactoryClass`` name a plugin
(:mod:`.plugins`).  When a bookie or a client starts, its plugin reads the rest of the configuration, and the files that
are named there, and makes the side of the bookie or of the client: a mistake ends the start with a
:class:`~bookkeeper_twisted.errors.ConfigError`.  For each connection that side makes an exchange, which ends with the
principal of the peer or with a refusal (:mod:`bookkeeper_twisted.protocol.authentication` has these interfaces; the
connections carry the tokens, and know nothing of what is in them).

:mod:`.tokens` authenticates by signed tokens, :mod:`.certificates` by the roles in the certificates of clients, and
:mod:`.sasl` by passwords or Kerberos.

An exchange that compares secrets compares them in constant time, and no secret is in a text that may be logged: not in
an error, not in a ``repr``.
"""
