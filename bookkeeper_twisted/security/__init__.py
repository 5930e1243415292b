"""TLS, the identities of peers, and the encryption of entries: private keys, certificates and tokens.

Theory of operation.  A key store or trust store is one file; a key store in PEM has two.  The files are named by the
keys of Apache's ``bk_server.conf`` (:mod:`.keys`).  Java's own format JKS is read, too (:mod:`.jks`).  A bookie makes
one :class:`~.contexts.ServerTls` and a client one :class:`~.contexts.ClientTls` when it starts: both read their files
at this time, so that an unusable file ends the start with a :class:`~bookkeeper_twisted.errors.ConfigError`.  Before a
new connection, at most once in ``refresh_seconds``, they check whether the files have changed.  If so, the new
connection and later ones use a context with the new content.  If the changed files cannot be used, one line of the log
says so, and the old context stays in use.  A connection keeps the context with which it began, so a change of files
ends no connection.

A peer is verified inside the handshake (:mod:`.openssl`): its certificate must lead to a trusted one.  A client also
verifies that the bookie's certificate contains the name or address to which the client connected.  :mod:`.principals`
says who the peer is, for the rules of access.

A signed token can also say who a peer is (:mod:`.tokens`).  The files with the keys of tokens (:mod:`.token_keys`) are
read again when they have changed (:mod:`.files`), like the files of TLS.

The client can encrypt the entries of a ledger with a key of the ledger (:mod:`.entry_cipher`).  A key provider encrypts
(wraps) this key (:mod:`.ledger_keys`).

Only :mod:`.keys`, :mod:`.openssl` and :mod:`.entry_cipher` import the libraries of the extra ``tls``; the other modules
import these three when they are needed.  The extra ``jwt`` is imported when the first verifier of tokens is made.
"""
