"""Writes the tables of the operations of the HTTP servers, from the descriptions beside their handlers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bookkeeper_twisted.http.routes import ANY_METHOD, Access, Parameter, Route
from bookkeeper_twisted.http.site import ROUTES
from tests.parity.tables import apache

_GROUPS: dict[str, str | tuple[str, ...]] = {
    "The server": "",
    "A bookie": "/api/v1/bookie/",
    "Configuration": "/api/v1/config/",
    "Ledgers": "/api/v1/ledger/",
    "The console": ("/api/v1/console/", "/console"),
    "Autorecovery": "/api/v1/autorecovery/",
}


def write_reference(path: Path) -> None:
    """Write a table for each group of paths."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines()))


def _lines() -> Iterator[str]:
    left = list(ROUTES)
    for title, prefix in _GROUPS.items():
        other = tuple(each for group in _GROUPS.values() if group and not prefix for each in _several(group))
        found = [route for route in left if route.path.startswith(prefix) and not route.path.startswith(other)]
        left = [route for route in left if route not in found]
        yield from ("", title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1", "   :widths: 38 47 15")
        yield from ("", "   * - request", "     - answer, or effect", "     - for")
        for route in found:
            yield from _row(route)
    assert not left


def _several(prefixes: str | tuple[str, ...]) -> tuple[str, ...]:
    return (prefixes,) if isinstance(prefixes, str) else prefixes


def _row(route: Route) -> Iterator[str]:
    method = "any other method" if route.method == ANY_METHOD else f"``{route.method}``"
    yield f"   * - {method} ``{route.path}``"
    is_apache = route.method == ANY_METHOD or f"{route.method} {route.path}" in apache("operations")
    alone = "" if is_apache else "  Ours alone."
    yield f"     - {route.summary[0].upper()}{route.summary[1:]}.{alone}"
    yield from _named("Parameters", route.parameters)
    yield from _named("Members of the body", route.body)
    yield f"     - {'administrators' if route.access is Access.ADMINISTRATOR else route.access.value}"


def _named(title: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    if parameters:
        listed = "; ".join(f"``{each.name}`` ({each.kind}): {each.text}" for each in parameters)
        yield f"       {title}: {listed}."
