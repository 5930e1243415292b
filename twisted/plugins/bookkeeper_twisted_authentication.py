"""Authentication: the plugin that asks for nothing, signed tokens, roles in certificates, and SASL."""

import time

from bookkeeper_twisted.authentication.plugins import CertificatePlugin, DisabledPlugin, SaslPlugin, TokenPlugin

disabled = DisabledPlugin()
token = TokenPlugin(time.time)
certificate = CertificatePlugin(time.time)
sasl = SaslPlugin()
