"""What plugins bring: found by entry-point metadata, imported when it is chosen, and made into objects.

What the kernel itself brings stands in a table beside them. Imported by `PluginManager` when it is first
asked for something.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import pluggy

from mqframe import __version__
from mqframe.core.config.plugin_options import PLUGINS, PluginOptions
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import MqframeError, PluginError, SettingError
from mqframe.hooks import specs
from mqframe.hooks.built_in import BUILT_IN, DISTRIBUTION
from mqframe.hooks.installed import entry_points, name_and_version
from mqframe.hooks.kinds import KINDS, Kind, kind_of
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.names import install_line
from mqframe.hooks.options import OptionInfo, build, declared_class, describe, settings_class
from mqframe.hooks.plugin_info import PluginInfo, misnamed

if TYPE_CHECKING:  # interfaces import what messages are made of, which a list of names needs not
    from mqframe.hooks.interfaces import Plugins
    from mqframe.hooks.interfaces.broker_port import BrokerPort
    from mqframe.hooks.interfaces.broker_service import SlaveCopies
    from mqframe.hooks.interfaces.cut_back import CutBack

T = TypeVar("T")
GROUP: Final = specs.PROJECT
_SERVICE: Final = "broker_service"
FAILURES: Final = (Exception, SystemExit)
"""What code of plugins may raise: a module that ends the program when it is imported is broken as well."""


@attrs.define
class _Offer:
    """A name that somebody offers: an entry point that may be loaded, or a factory registered by code.

    `given`: distribution and version of such a factory.
    """

    kind: Kind
    name: str
    given: tuple[str, str] = ("", "")
    entry_point: EntryPoint | None = None
    factory: Any = None

    @property
    def origin(self) -> tuple[str, str]:
        """Distribution and version. Those of entry points are read from metadata, which takes time."""
        if (entry := self.entry_point) is None:
            return self.given
        return (entry.module, "") if entry.dist is None else name_and_version(entry.dist)

    @property
    def title(self) -> str:
        return f"{self.kind.name}.{self.name} of {' '.join(self.origin)}".rstrip()


class Catalog:
    """Behind a `PluginManager`, whose methods are these. `plugins`: that manager, for factories that ask.

    `find`: returns the entry points to choose from; by default those of the installed distributions in the
    group `mqframe`. Called once, at first need.
    """

    def __init__(self, plugins: Plugins, find: Callable[[], Iterable[EntryPoint]] | None = None) -> None:
        self._plugins = plugins
        self._find = find or _installed_entry_points
        self._registered: list[_Offer] = []
        self._blocked: set[str] = set()
        self._scanned: list[_Offer] | None = None
        self._misnamed: list[PluginInfo] = []
        self._tables: dict[str, PluginOptions] = {}
        self._pluggy = pluggy.PluginManager(specs.PROJECT)
        self._pluggy.add_hookspecs(specs)

    def configured(self, plugins: Plugins, tables: Mapping[str, Mapping[str, object]]) -> Catalog:
        """This catalog with options for plugins, for the manager `plugins`. Raises `SettingError`."""
        with_options = copy.copy(self)
        with_options._plugins = plugins
        with_options._tables = dict(self._tables)
        for name, table in tables.items():
            key = self._check_table(name, table)
            known = with_options._tables.get(key, PluginOptions())
            with_options._tables[key] = known.with_(table)
        return with_options

    def create(self, kind: str, choice: object, options: object = None, *arguments: object) -> Any:
        """As `PluginManager.create`."""
        wanted, title, choice, options = self._chosen(kind, choice, options)
        made = choice
        if _is_factory(choice, wanted):
            made = self._make(title, choice, build(title, choice, options), arguments)
        elif options:
            names = ", ".join(map(str, options)) if isinstance(options, Mapping) else type(options).__name__
            raise PluginError(f"{title} is an object already; options ({names}) cannot be applied to it")
        if not _fits(made, wanted):
            assert wanted.interface is not None
            raise PluginError(f"{title} is no {wanted.interface.__name__} but a {type(made).__qualname__}")
        return made

    def check(self, kind: str, choice: object, options: object = None) -> Any:
        """As `PluginManager.check`."""
        wanted, title, choice, options = self._chosen(kind, choice, options)
        return build(title, choice, options) if _is_factory(choice, wanted) else None

    def settings_class(self, service: str) -> type[Any] | None:
        """As `PluginManager.settings_class`."""
        return settings_class(service, self._factory(kind_of(_SERVICE), service))

    def runs_at_slaves(self, service: str) -> bool:
        """As `PluginManager.runs_at_slaves`."""
        return getattr(self._factory(kind_of(_SERVICE), service), "at_slaves", False) is True

    def cut_backs(self) -> list[CutBack]:
        """As `PluginManager.cut_backs`."""
        from mqframe.hooks.interfaces.cut_back import CutBack

        return [made() for _, made in self._declared(self.names(_SERVICE), CutBack)]

    def slave_copies(self, services: Iterable[str], port: BrokerPort) -> list[SlaveCopies]:
        """As `PluginManager.slave_copies`."""
        from mqframe.hooks.interfaces.broker_service import SlaveCopies

        there = self.names(_SERVICE)
        found = self._declared([name for name in services if name in there], SlaveCopies)
        return [made(port) for _, made in found]

    def brought(self, services: Iterable[str], wanted: type[T]) -> tuple[str, type[T]] | None:
        """As `PluginManager.brought`."""
        return next(self._declared(services, wanted), None)

    def _declared(self, services: Iterable[str], wanted: type[T]) -> Iterator[tuple[str, type[T]]]:
        """Of these broker services what their factories name in the attribute that is called as `wanted`."""
        for name in services:
            made = declared_class(name, self._factory(kind_of(_SERVICE), name), wanted)
            if made is not None:
                yield name, made

    def names(self, kind: str) -> list[str]:
        """As `PluginManager.names`."""
        wanted = kind_of(kind)
        return sorted({offer.name for offer in self._offers() if offer.kind is wanted})

    def installed(self, *, options: bool = False) -> list[PluginInfo]:
        """As `PluginManager.installed`."""
        found = [self._info(offer, options) for offer in self._offers()]
        found += [each for each in self._misnamed if _normal(each.distribution) not in self._blocked]
        return sorted(found, key=lambda info: (info.kind, info.name, info.distribution))

    def knows(self, kind: str, name: str) -> bool:
        """As `PluginManager.knows`."""
        return (kind, name) in KNOWN_DISTRIBUTIONS or name in self.names(kind)

    def not_installed(self) -> frozenset[str]:
        """As `PluginManager.not_installed`."""
        found = {_normal(offer.origin[0]) for offer in self._all_offers()}
        return frozenset(each for each in KNOWN_DISTRIBUTIONS.values() if _normal(each) not in found)

    def register(self, plugin: object, name: str | None = None) -> None:
        """As `PluginManager.register`."""
        name = name or _name(plugin)
        self._register(plugin, name)
        try:
            found = [
                _Offer(kind, key, (name, ""), factory=factory)
                for kind in KINDS.values()
                for key, factory in self._ask(plugin, name, kind).items()
            ]
            if not found:
                raise PluginError(
                    f"{name} implements none of the hooks {', '.join(k.hook for k in KINDS.values())}"
                )
        except PluginError:
            self._pluggy.unregister(plugin)
            raise
        self._registered += found

    def block(self, name: str) -> None:
        """As `PluginManager.block`."""
        self._blocked.add(_normal(name))

    def _chosen(self, kind: str, choice: object, options: object) -> tuple[Kind, str, Any, object]:
        """The kind, what messages call the choice, the factory or object that it stands for, its options."""
        wanted = kind_of(kind)
        if isinstance(choice, tuple) and len(choice) == 2:
            # Options given apart from the pair win.
            choice, paired = choice
            options = paired if options is None else options
        if not isinstance(choice, str):
            return wanted, _name(choice), choice, options
        table = self._tables.get(table_key(choice))
        if table is not None and (options is None or isinstance(options, Mapping)):
            options = table.with_(options or {})
        return wanted, choice, self._factory(wanted, choice), options

    def _check_table(self, name: str, table: Mapping[str, object]) -> str:
        """The key of the options for `name`. Raises `SettingError` for a name that no plugin has."""
        key = table_key(name)
        known = {offer.name for offer in self._offers()} | {each for _, each in KNOWN_DISTRIBUTIONS}
        if ":" in name or key in map(table_key, known):
            return key
        meant = did_you_mean(name, known, most=2, cutoff=0.5)
        hint = meant or "`mqframe plugins` lists what is installed"
        origins = getattr(table, "origins", {})
        source = f" from {next(iter(origins.values()))}" if origins else ""
        raise SettingError(f"{PLUGINS}.{name}{source}: no plugin has this name; {hint}")

    def _offers(self) -> list[_Offer]:
        offers = self._all_offers()
        return [offer for offer in offers if not self._is_blocked(offer)] if self._blocked else offers

    def _all_offers(self) -> list[_Offer]:
        """What is blocked included."""
        if self._scanned is None:
            own = [
                _Offer(KINDS[kind], name, (DISTRIBUTION, __version__), factory=place)
                for (kind, name), place in BUILT_IN.items()
            ]
            installed = list(self._find())
            self._misnamed = misnamed(installed)
            self._scanned = own + [offer for offer in map(_offer, installed) if offer is not None]
        return self._scanned + self._registered

    def _is_blocked(self, offer: _Offer) -> bool:
        own = {_normal(f"{offer.kind.name}.{offer.name}"), _normal(offer.origin[0])}
        return not own.isdisjoint(self._blocked)

    def _factory(self, kind: Kind, name: str) -> Any:
        if ":" in name:
            return _import_attribute(kind, name)
        offers = self._offers_of(kind, name)
        if not offers:
            raise PluginError(self._unknown(kind, name))
        if len(offers) > 1:
            both = " and ".join(" ".join(offer.origin).rstrip() for offer in offers)
            raise PluginError(
                f"{kind.name} {name!r} is offered by {both}; uninstall one, or block its distribution"
            )
        return self._load(offers[0])

    def _offers_of(self, kind: Kind, name: str) -> list[_Offer]:
        """What is offered as `name`; else as a name that differs in hyphens and underscores only."""
        mine = [offer for offer in self._offers() if offer.kind is kind]
        exact = [offer for offer in mine if offer.name == name]
        return exact or [offer for offer in mine if _squeezed(offer.name) == _squeezed(name)]

    def _unknown(self, kind: Kind, name: str) -> str:
        if f"{_normal(kind.name)}.{_normal(name)}" in self._blocked:
            return f"{kind.name} {name!r} is blocked"
        ours = {_squeezed(n): found for (k, n), found in KNOWN_DISTRIBUTIONS.items() if k == kind.name}
        distribution = ours.get(_squeezed(name))
        if distribution is not None and _normal(distribution) in self._blocked:
            return f"{kind.name} {name!r} is blocked with its distribution {distribution}"
        if distribution is not None:
            return f"{kind.name} {name!r} is not installed; install it with: {install_line(distribution)}"
        names = self.names(kind.name)
        known = ", ".join(names) or "none is installed"
        more = sorted(n for k, n in KNOWN_DISTRIBUTIONS if k == kind.name and n not in names)
        meant = did_you_mean(name, [*names, *more], most=2)
        hint = f"; {meant} known: {known}" if meant else f"; known: {known}"
        hint += f"; can be installed: {', '.join(more)}" if more else ""
        return f"there is no {kind.name} {name!r}{hint}"

    def _load(self, offer: _Offer) -> Any:
        if offer.factory is None:
            offer.factory = self._offered(offer)
        if isinstance(offer.factory, str):
            offer.factory = _import_attribute(offer.kind, offer.factory)
        return offer.factory

    def _offered(self, offer: _Offer) -> Any:
        """What the plugin behind `offer` registers under its name; the plugin is imported now."""
        assert offer.entry_point is not None
        try:
            plugin = offer.entry_point.load()
        except FAILURES as problem:  # importing foreign code: whatever it raises is the plugin's failure
            raise PluginError(f"plugin {offer.title} cannot be loaded: {_cause(problem)}") from problem
        # Several names of a distribution share one plugin, which pluggy takes once.
        if not self._pluggy.is_registered(plugin):
            self._register(plugin, f"{offer.origin[0]}:{offer.entry_point.value}")
        factories = self._ask(plugin, offer.title, offer.kind)
        if offer.name not in factories:
            got = ", ".join(sorted(factories)) or "nothing"
            raise PluginError(f"plugin {offer.title}: {offer.kind.hook} of {_name(plugin)} registers {got}")
        return factories[offer.name]

    def _register(self, plugin: object, name: str) -> None:
        try:
            self._pluggy.register(plugin, name)
        except (ValueError, pluggy.PluginValidationError) as problem:
            raise PluginError(
                f"plugin {name} cannot be registered: {' '.join(str(problem).split())}"
            ) from problem

    def _ask(self, plugin: object, title: str, kind: Kind) -> dict[str, Any]:
        """What the hook of `kind` returns; only `plugin` is asked, others when they are chosen."""
        others = [each for each in self._pluggy.get_plugins() if each is not plugin]
        hook = self._pluggy.subset_hook_caller(kind.hook, others)
        found: dict[str, Any] = {}
        try:
            for factories in hook():
                found.update(factories)
        except FAILURES as problem:  # foreign code: whatever it raises is the plugin's failure
            raise PluginError(f"plugin {title}: {kind.hook} failed: {_cause(problem)}") from problem
        return found

    def _make(self, title: str, factory: Any, options: object, arguments: tuple[object, ...]) -> Any:
        given = arguments if options is None else (*arguments, options)
        try:
            return factory(*given, plugins=self._plugins) if _wants_plugins(factory) else factory(*given)
        except MqframeError:
            raise
        except FAILURES as problem:  # foreign code: whatever it raises is the plugin's failure
            raise PluginError(f"plugin {title} cannot be made: {_cause(problem)}") from problem

    def _info(self, offer: _Offer, options: bool) -> PluginInfo:
        described: tuple[OptionInfo, ...] | None = None
        problem = ""
        if options:
            try:
                described = describe(self._load(offer))
            except PluginError as failure:
                problem = str(failure)
            except Exception as failure:  # foreign code: its class of options fails
                problem = f"options cannot be read: {_cause(failure)}"
        return PluginInfo(offer.kind.name, offer.name, *offer.origin, described, problem)


def _installed_entry_points() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)


def _offer(entry_point: EntryPoint) -> _Offer | None:
    """What `entry_point` offers; `None` for a kind of a later version or a misspelt one."""
    kind, _, name = entry_point.name.partition(".")
    if kind not in KINDS or not name:
        return None
    return _Offer(KINDS[kind], name, entry_point=entry_point)


def _import_attribute(kind: Kind, path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except FAILURES as problem:  # importing foreign code: whatever it raises is the plugin's failure
        raise PluginError(f"{kind.name} {path!r} cannot be loaded: {_cause(problem)}") from problem
    return found


def _wants_plugins(factory: Any) -> bool:
    try:
        return "plugins" in inspect.signature(factory).parameters
    except (TypeError, ValueError):  # a callable of C that does not say what it takes
        return False


def _is_factory(choice: object, kind: Kind) -> bool:
    return isinstance(choice, type) or (callable(choice) and not _fits(choice, kind))


def _fits(candidate: object, kind: Kind) -> bool:
    return kind.interface is None or isinstance(candidate, kind.interface)


def _cause(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"


def _name(thing: object) -> str:
    return str(
        getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None) or type(thing).__qualname__
    )


def _normal(name: str) -> str:
    return name.replace("-", "_").lower()


def _squeezed(name: str) -> str:
    """What is the same in the name of a strategy and in that of its distribution."""
    return name.replace("-", "").replace("_", "").lower()


def table_key(name: str) -> str:
    """The name of the table of options for what is chosen as `name`."""
    return name if ":" in name else _squeezed(name)
