"""The plugins that make authorizers, and a function that finds a plugin by its name."""

from collections.abc import Iterable

from twisted.plugin import IPlugin, getPlugins
from zope.interface import implementer

from ..config.bookie import BookieConfig
from .interfaces import IAuthorizer, IAuthorizerPlugin, Surroundings


@implementer(IPlugin, IAuthorizerPlugin)
class EverybodyPlugin:
    """The plugin that allows everything to everybody, as Apache's bookie does."""

    names = frozenset({"", "none", "everybody"})

    def make(self, config: BookieConfig, surroundings: Surroundings) -> IAuthorizer | None:
        """Return None, which means that everybody may do everything."""
        return None


@implementer(IPlugin, IAuthorizerPlugin)
class RulesPlugin:
    """The plugin whose authorizer follows the rules in the file that ``authorizationRules`` names."""

    names = frozenset({"rules"})

    def make(self, config: BookieConfig, surroundings: Surroundings) -> IAuthorizer | None:
        """Return an authorizer that follows the rules in the file that ``authorizationRules`` names.

        See :meth:`.IAuthorizerPlugin.make` for parameters and errors.
        """
        from .rules_authorizer import RulesAuthorizer

        if not config.authorization_rules:
            raise config.error("authorization_rules", "authorizerClass=rules needs a file of rules")
        return RulesAuthorizer(config.authorization_rules, surroundings)


def authorizer_of(config: BookieConfig, surroundings: Surroundings) -> IAuthorizer | None:
    """Return the authorizer that ``authorizerClass`` names; None if everybody may do everything.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has the name, or the plugin refuses the configuration.
    """
    plugins: Iterable[IAuthorizerPlugin] = getPlugins(IAuthorizerPlugin)
    return config.chosen("authorizer_class", plugins, "authorizer").make(config, surroundings)
