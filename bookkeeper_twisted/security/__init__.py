"""TLS, the identities of peers, and encrypted entries: private keys, certificates, tokens, and what is made of them.

Theory of operation.  A store of keys or certificates is one file, or two for PEM, as the keys of Apache's
``bk_server.conf`` name them (:mod:`.keys`); stores of Java are read without Java (:mod:`.jks`).  A bookie makes one
:class:`~.contexts.ServerTls` and a client one :class:`~.contexts.ClientTls` when it starts: both read their files
then, so a file that cannot be used ends the start with a :class:`~bookkeeper_twisted.errors.ConfigError`.  From then on
each new connection is made from the newest context.  Before that the files are looked at, at most once in
``refresh_seconds``; changed files make a new context for this and later connections, and files that cannot be used are
one line of the log.  A connection keeps the context that it began with, so no change of files ends a connection.

A peer is verified inside the handshake (:mod:`.openssl`): the chain of its certificate up to a trusted one, and at the
client the name or address that was connected to.  :mod:`.principals` says who the peer is, for the rules of access.

A signed token can say who a peer is, too (:mod:`.tokens`).  Its keys (:mod:`.token_keys`) are files that are read
again when they have changed (:mod:`.files`), as those of TLS are.

The entries of an encrypted ledger are encrypted by a key of the ledger (:mod:`.entry_cipher`), which a key provider
wraps (:mod:`.ledger_keys`); the client decides when.

Only :mod:`.keys`, :mod:`.openssl` and :mod:`.entry_cipher` import the libraries of the extra ``tls``; the other modules
import these three when they are needed.  The extra ``jwt`` is imported when the first verifier of tokens is made.
"""
