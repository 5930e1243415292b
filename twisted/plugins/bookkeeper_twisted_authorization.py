"""Authorization: the plugin that allows everything, and the one that follows a file of rules."""

from bookkeeper_twisted.authorization.plugins import EverybodyPlugin, RulesPlugin

everybody = EverybodyPlugin()
rules = RulesPlugin()
