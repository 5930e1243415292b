"""Authorization: which principal may read, write or administer which ledger, and the audit log of such actions.

Theory of operation.  ``authorizerClass`` names a plugin (:mod:`.plugins`).  When a bookie starts, the plugin makes an
*authorizer* from the configuration (:mod:`.interfaces`).  The default authorizer allows everything to everybody.  The
authorizer of the plugin ``rules`` follows a file of rules (:mod:`.rules`), and reads the file again when it has
changed. A rule may depend on the custom metadata of a ledger.  If these must be read from the metadata store first
(:mod:`.look_ups`), the decision is a Deferred.

Connections and HTTP requests ask :class:`~.access.AccessControl`, which asks the authorizer.  The access control
also caches decisions, counts refusals, and writes the audit log (:mod:`.audit`, :mod:`.audit_file`).  If any error
occurs while a decision is made, the request is refused.
"""
