"""Authentication providers: the one that asks for nothing."""

from bookkeeper_twisted.protocol.authentication import AuthenticationDisabled

disabled = AuthenticationDisabled()
