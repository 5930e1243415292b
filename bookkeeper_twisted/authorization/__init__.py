"""Authorization: which principal may do what with which ledger, and the log of who has done it.

Theory of operation.  ``authorizerClass`` names a plugin (:mod:`.plugins`).  When a bookie starts, the plugin makes an
authorizer from the configuration (:mod:`.interfaces`).  The default one allows everything to everybody.  The plugin
``rules`` reads a file of rules (:mod:`.rules`), and looks at the file again every few seconds.  A rule may depend on
the custom metadata of a ledger, which are read from the metadata store (:mod:`.look_ups`); then the decision is made
later.

Connections and HTTP requests ask :class:`~.access.AccessControl`.  It keeps decisions, counts refusals, and writes the
audit log (:mod:`.audit`, :mod:`.audit_file`).  If any error occurs while a decision is made, the request is refused.
"""
