"""Authentication: the plugin that asks for nothing."""

from bookkeeper_twisted.authentication.plugins import DisabledPlugin

disabled = DisabledPlugin()
