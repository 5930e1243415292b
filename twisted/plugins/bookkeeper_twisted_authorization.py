"""The plugins for authorization: one allows everything, the other follows a file of rules."""

from bookkeeper_twisted.authorization.plugins import EverybodyPlugin, RulesPlugin

everybody = EverybodyPlugin()
rules = RulesPlugin()
