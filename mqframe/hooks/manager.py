"""Plugins by their names: what is chosen is found, imported and made.

Nothing is scanned before something is asked for, and nothing is imported before it is chosen, so that a
broken plugin stops only those who named it. Whoever starts a program or makes a client makes one manager and
hands it down; there is no global one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from mqframe.core.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from mqframe.hooks.catalog import Catalog
    from mqframe.hooks.interfaces.broker_port import BrokerPort
    from mqframe.hooks.interfaces.broker_service import SlaveCopies
    from mqframe.hooks.interfaces.cut_back import CutBack
    from mqframe.hooks.plugin_info import PluginInfo

T = TypeVar("T")


class PluginManager:
    """Turns names, classes and objects into strategies and hooks.

    `find`: returns the entry points to choose from; by default those of the installed distributions in the
    group `mqframe`. Called once, at first need.
    """

    def __init__(self, find: Callable[[], Iterable[EntryPoint]] | None = None) -> None:
        self._find = find

    @cached_property
    def _catalog(self) -> Catalog:
        # Imported when something is asked for: clients with defaults choose nothing.
        from mqframe.hooks.catalog import Catalog

        return Catalog(self, self._find)

    def configured(self, tables: Mapping[str, Mapping[str, object]]) -> PluginManager:
        """This manager, with options for plugins by the names that these are chosen by.

        They count wherever such a name is chosen; options that are given there come first. Raises
        `SettingError` for a name that no plugin has.
        """
        with_options = copy.copy(self)
        with_options._catalog = self._catalog.configured(with_options, tables)
        return with_options

    def create(self, kind: str, choice: object, options: object = None, *arguments: object) -> Any:
        """The strategy, store or hook that `choice` stands for.

        `choice`: a name, "module:attribute", a class or function (called as a factory), an object that is
        ready, or a pair (one of these, options). `options`: a mapping or an instance of the factory's
        `Options`; a mapping is filled up with the options that this manager was configured with for the name.
        `arguments` go to the factory before the options; one with a parameter `plugins` is handed
        this manager by it. Raises `PluginError` or `SettingError`.
        """
        return self._catalog.create(kind, choice, options, *arguments)

    def check(self, kind: str, choice: object, options: object = None) -> Any:
        """Find fault with `choice` and `options` now, where the object itself is made later.

        A name is looked up and imported, options are validated; nothing is made. Returns the instance of its
        `Options`, `None` where it has none. Raises as `create` does.
        """
        return self._catalog.check(kind, choice, options)

    def settings_class(self, service: str) -> type[Any] | None:
        """The class of the section of settings that a broker service has, `None` where it has none.

        Raises `PluginError` when there is no such service, or when it has another section than its own.
        """
        return self._catalog.settings_class(service)

    def runs_at_slaves(self, service: str) -> bool:
        """Whether slaves run a broker service, too; imports it. Raises `PluginError` when there is none."""
        return self._catalog.runs_at_slaves(service)

    def cut_backs(self) -> list[CutBack]:
        """What puts back that which the installed broker services keep, for a log that is about to be cut.

        All services are imported. Raises `PluginError` for one that cannot be: what it keeps would count on
        what is cut off; block it, or uninstall it.
        """
        return self._catalog.cut_backs()

    def slave_copies(self, services: Iterable[str], port: BrokerPort) -> list[SlaveCopies]:
        """What a slave with this `port` keeps of those of `services` that are installed.

        They are imported. Raises `PluginError` for one that cannot be.
        """
        return self._catalog.slave_copies(services, port)

    def brought(self, services: Iterable[str], wanted: type[T]) -> tuple[str, type[T]] | None:
        """The first of these services, by name, that brings a class that inherits `wanted`, and that class.

        They are imported. Raises `PluginError` for one that cannot be.
        """
        return self._catalog.brought(services, wanted)

    def create_all(self, kind: str, choices: Sequence[object]) -> tuple[Any, ...]:
        """All of `choices` in their order, for paths that want a tuple. Raises `PluginError` for one text."""
        if isinstance(choices, str):
            raise PluginError(f"{kind}s are a list, not the text {choices!r}; write [{choices!r}]")
        return tuple(self.create(kind, choice) for choice in choices)

    def names(self, kind: str) -> list[str]:
        """The names that can be chosen for `kind`, sorted; from metadata and registrations alone."""
        return self._catalog.names(kind)

    def installed(self, *, options: bool = False) -> list[PluginInfo]:
        """Everything that can be chosen, and that cannot as its name is misspelt, sorted by kind and name.

        With `options` each plugin is imported.
        """
        return self._catalog.installed(options=options)

    def knows(self, kind: str, name: str) -> bool:
        """Whether `name` is a plugin of `kind`: an installed one, or one of this project's that is not."""
        return self._catalog.knows(kind, name)

    def not_installed(self) -> frozenset[str]:
        """The distributions of this project with plugins that are not installed; those blocked are."""
        return self._catalog.not_installed()

    def register(self, plugin: object, name: str | None = None) -> None:
        """Add a plugin that is no distribution: an object or module with marked `register_*` hooks.

        `name` stands where a distribution's name would. Raises `PluginError` when it implements no hook, is
        registered already, or one of its hooks fails.
        """
        self._catalog.register(plugin, name)

    def block(self, name: str) -> None:
        """Make a plugin invisible: "kind.name", or the name of a distribution or registered plugin."""
        self._catalog.block(name)
