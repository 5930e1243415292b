"""Registers the plugin: Twisted finds this file in any folder of the path that has ``twisted/plugins``."""

from shared_secret import SharedSecretPlugin

shared_secret = SharedSecretPlugin()
