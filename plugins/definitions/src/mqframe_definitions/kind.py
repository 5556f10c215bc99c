"""What a kind of definition is: a table of the file, and how it is read from and written to a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import msgspec

from mqframe.core.errors import PluginError
from mqframe.hooks.installed import entry_points

if TYPE_CHECKING:
    from mqframe import Admin

GROUP: Final = "mqframe.definitions"
"""Entry points of kinds, by the name of their table."""
S = TypeVar("S", bound=msgspec.Struct)


class DefinitionKind(Generic[S]):
    """One kind: `[topics.orders]` in the file is the definition `orders` of the kind `topics`.

    `Spec`: what may stand in such a table, a `msgspec.Struct` whose fields all have defaults and that takes
    no unknown ones. `rank`: kinds with a smaller one are applied first and deleted last. `only_new`: fields
    that clusters do not tell, and that are of use when a definition is made.
    """

    Spec: ClassVar[type[msgspec.Struct]]
    rank: ClassVar[int] = 100
    only_new: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, admin: Admin) -> None:
        self.admin = admin

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, S | None]]:
        """The definitions that the cluster has, each by place (a broker, or "" where there is only one).

        `names`: those that are asked for; `None`: all but the system's own. A place that has no such
        definition has `None`; what no place has is left out. May have more than `names`.
        """
        raise NotImplementedError

    def apply(self, name: str, wanted: S, *, new: bool) -> None:
        """Make the definition `name`, or change it, at all places."""
        raise NotImplementedError

    def delete(self, name: str) -> None:
        """Delete the definition `name` at all places."""
        raise NotImplementedError


def kind_classes() -> dict[str, type[DefinitionKind[Any]]]:
    """The kinds that distributions offer, by name, in the order in which they are applied.

    Raises `PluginError` for one that cannot be loaded.
    """
    found: dict[str, type[DefinitionKind[Any]]] = {}
    for each in entry_points(group=GROUP):
        try:
            found[each.name] = each.load()
        except Exception as problem:
            raise PluginError(
                f"definitions {each.name!r} ({each.value}) cannot be loaded: {problem}"
            ) from problem
    return dict(sorted(found.items(), key=lambda item: (item[1].rank, item[0])))


def installed_kinds(admin: Admin) -> dict[str, DefinitionKind[Any]]:
    """Those, for the cluster of `admin`."""
    return {name: kind(admin) for name, kind in kind_classes().items()}
