"""Authentication: the plugin that asks for nothing, signed tokens, and roles in certificates."""

import time

from bookkeeper_twisted.authentication.plugins import CertificatePlugin, DisabledPlugin, TokenPlugin

disabled = DisabledPlugin()
token = TokenPlugin(time.time)
certificate = CertificatePlugin(time.time)
