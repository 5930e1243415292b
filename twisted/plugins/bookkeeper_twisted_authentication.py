"""The plugins for authentication: none, by signed tokens, by roles in certificates, and by SASL."""

import time

from bookkeeper_twisted.authentication.plugins import CertificatePlugin, DisabledPlugin, SaslPlugin, TokenPlugin

disabled = DisabledPlugin()
token = TokenPlugin(time.time)
certificate = CertificatePlugin(time.time)
sasl = SaslPlugin()
