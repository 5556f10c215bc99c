"""Finds plugins by entry-point metadata, imports those that are chosen, and makes their objects.

Nothing is scanned before something is asked for, and nothing is imported before it is chosen, so that a
broken plugin stops only those who named it. The kernel itself brings no strategy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import attrs
import pluggy

from mqframe.core.errors import MqframeError, PluginError
from mqframe.hooks import specs
from mqframe.hooks.kinds import KINDS, KNOWN_DISTRIBUTIONS, Kind, kind_of
from mqframe.hooks.options import OptionInfo, build, describe

GROUP: Final = specs.PROJECT


@attrs.frozen
class PluginInfo:
    """One name that can be chosen. `options` is filled only where it was asked for, since that imports.

    `problem`: why a plugin could not be imported when its options were asked for; "" otherwise.
    """

    kind: str
    name: str
    distribution: str
    version: str
    options: tuple[OptionInfo, ...] | None = None
    problem: str = ""


@attrs.define
class _Offer:
    """A name that somebody offers: an entry point that may be loaded, or a factory registered by code."""

    kind: Kind
    name: str
    distribution: str
    version: str
    entry_point: EntryPoint | None = None
    factory: Any = None

    @property
    def title(self) -> str:
        return f"{self.kind.name}.{self.name} of {self.distribution} {self.version}".rstrip()


class PluginManager:
    """Turns names, classes and objects into strategies and hooks.

    `find`: gives the entry points to choose from; by default those of the installed distributions in the
    group `mqframe`. Called once, at first need.
    """

    def __init__(self, find: Callable[[], Iterable[EntryPoint]] | None = None) -> None:
        self._find = find or _installed_entry_points
        self._registered: list[_Offer] = []
        self._blocked: set[str] = set()
        self._scanned: list[_Offer] | None = None
        self._pluggy = pluggy.PluginManager(specs.PROJECT)
        self._pluggy.add_hookspecs(specs)

    def create(self, kind: str, choice: object, options: object = None, *arguments: object) -> Any:
        """The strategy, store or hook that `choice` stands for.

        `choice`: a name, "module:attribute", a class or function (called as a factory), an object that is
        ready, or a pair (one of these, options). `options`: a mapping or an instance of the factory's
        `Options`. `arguments` go to the factory before the options. Raises `PluginError` or `SettingError`.
        """
        wanted = kind_of(kind)
        choice, options = _unpack(choice, options)
        title = choice if isinstance(choice, str) else _name(choice)
        if isinstance(choice, str):
            choice = self._factory(wanted, choice)
        made = choice
        if isinstance(choice, type) or (callable(choice) and not _fits(choice, wanted)):
            made = _call(title, choice, build(title, choice, options), arguments)
        elif options:
            names = ", ".join(map(str, options)) if isinstance(options, Mapping) else type(options).__name__
            raise PluginError(f"{title} is an object already; options ({names}) cannot be applied to it")
        if not _fits(made, wanted):
            assert wanted.interface is not None
            raise PluginError(f"{title} is no {wanted.interface.__name__} but a {type(made).__qualname__}")
        return made

    def check(self, kind: str, choice: object, options: object = None) -> None:
        """Find fault with `choice` and `options` now, where the object itself is made later.

        A name is looked up and imported, options are validated; nothing is made. Raises as `create` does.
        """
        wanted = kind_of(kind)
        choice, options = _unpack(choice, options)
        title = choice if isinstance(choice, str) else _name(choice)
        if isinstance(choice, str):
            choice = self._factory(wanted, choice)
        if isinstance(choice, type) or (callable(choice) and not _fits(choice, wanted)):
            build(title, choice, options)

    def create_all(
        self, kind: str, choices: Sequence[object], options: Mapping[str, object] | None = None
    ) -> tuple[Any, ...]:
        """All of `choices` in their order, for paths that want a tuple. `options` are looked up by name."""
        tables = options or {}
        return tuple(
            self.create(kind, choice, tables.get(choice) if isinstance(choice, str) else None)
            for choice in choices
        )

    def names(self, kind: str) -> list[str]:
        """The names that can be chosen for `kind`, sorted; from metadata and registrations alone."""
        wanted = kind_of(kind)
        return sorted({offer.name for offer in self._offers() if offer.kind is wanted})

    def installed(self, *, options: bool = False) -> list[PluginInfo]:
        """Everything that can be chosen, sorted by kind and name. With `options` each plugin is imported."""
        offers = sorted(self._offers(), key=lambda o: (o.kind.name, o.name, o.distribution))
        return [self._info(offer, options) for offer in offers]

    def register(self, plugin: object, name: str | None = None) -> None:
        """Add a plugin that is no distribution: an object or module with marked `register_*` hooks.

        `name` stands where a distribution's name would. Raises `PluginError` when it implements no hook or is
        registered already.
        """
        name = name or _name(plugin)
        self._register(plugin, name)
        found = [
            _Offer(kind, key, name, "", factory=factory)
            for kind in KINDS.values()
            for key, factory in self._factories(plugin, kind).items()
        ]
        if not found:
            raise PluginError(
                f"{name} implements none of the hooks {', '.join(k.hook for k in KINDS.values())}"
            )
        self._registered += found

    def block(self, name: str) -> None:
        """Make a plugin invisible: "kind.name", or the name of a distribution or registered plugin."""
        self._blocked.add(_normal(name))

    def _offers(self) -> list[_Offer]:
        if self._scanned is None:
            self._scanned = [offer for offer in map(_offer, self._find()) if offer is not None]
        return [offer for offer in self._scanned + self._registered if not self._is_blocked(offer)]

    def _is_blocked(self, offer: _Offer) -> bool:
        own = {_normal(f"{offer.kind.name}.{offer.name}"), _normal(offer.distribution)}
        return not own.isdisjoint(self._blocked)

    def _factory(self, kind: Kind, name: str) -> Any:
        if ":" in name:
            return _import_attribute(kind, name)
        offers = [offer for offer in self._offers() if offer.kind is kind and offer.name == name]
        if not offers:
            raise PluginError(self._unknown(kind, name))
        if len(offers) > 1:
            both = " and ".join(f"{o.distribution} {o.version}".rstrip() for o in offers)
            raise PluginError(
                f"{kind.name} {name!r} is offered by {both}; uninstall one, or block its distribution"
            )
        return self._load(offers[0])

    def _unknown(self, kind: Kind, name: str) -> str:
        if f"{_normal(kind.name)}.{_normal(name)}" in self._blocked:
            return f"{kind.name} {name!r} is blocked"
        distribution = KNOWN_DISTRIBUTIONS.get((kind.name, name))
        if distribution is not None and _normal(distribution) in self._blocked:
            return f"{kind.name} {name!r} is blocked with its distribution {distribution}"
        if distribution is not None:
            return f"{kind.name} {name!r} is not installed; install it with: pip install {distribution}"
        known = ", ".join(self.names(kind.name)) or "none is installed"
        more = sorted(n for k, n in KNOWN_DISTRIBUTIONS if k == kind.name and n not in self.names(kind.name))
        hint = f"; can be installed: {', '.join(more)}" if more else ""
        return f"there is no {kind.name} {name!r}; known: {known}{hint}"

    def _load(self, offer: _Offer) -> Any:
        if offer.entry_point is None or offer.factory is not None:
            return offer.factory
        try:
            plugin = offer.entry_point.load()
        except Exception as problem:  # importing foreign code: whatever it raises is the plugin's failure
            raise PluginError(f"plugin {offer.title} cannot be loaded: {_cause(problem)}") from problem
        # Several names of a distribution share one plugin, which pluggy takes once.
        if not self._pluggy.is_registered(plugin):
            self._register(plugin, f"{offer.distribution}:{offer.entry_point.value}")
        factories = self._factories(plugin, offer.kind)
        if offer.name not in factories:
            got = ", ".join(sorted(factories)) or "nothing"
            raise PluginError(f"plugin {offer.title}: {offer.kind.hook} of {_name(plugin)} gives {got}")
        offer.factory = factories[offer.name]
        return offer.factory

    def _register(self, plugin: object, name: str) -> None:
        try:
            self._pluggy.register(plugin, name)
        except (ValueError, pluggy.PluginValidationError) as problem:
            raise PluginError(f"plugin {name} cannot be registered: {problem}") from problem

    def _factories(self, plugin: object, kind: Kind) -> Mapping[str, Any]:
        for implementation in getattr(self._pluggy.hook, kind.hook).get_hookimpls():
            if implementation.plugin is plugin:
                found: Mapping[str, Any] = implementation.function()
                return found
        return {}

    def _info(self, offer: _Offer, options: bool) -> PluginInfo:
        described: tuple[OptionInfo, ...] | None = None
        problem = ""
        if options:
            try:
                described = describe(self._load(offer))
            except PluginError as failure:
                problem = str(failure)
        return PluginInfo(offer.kind.name, offer.name, offer.distribution, offer.version, described, problem)


@cache
def default_manager() -> PluginManager:
    """The manager over the installed distributions, one in a process."""
    return PluginManager()


def _installed_entry_points() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)


def _offer(entry_point: EntryPoint) -> _Offer | None:
    """What `entry_point` offers; `None` for a kind of a later version, which nobody here can choose."""
    kind, _, name = entry_point.name.partition(".")
    if kind not in KINDS or not name:
        return None
    distribution = entry_point.dist
    if distribution is None:
        return _Offer(KINDS[kind], name, entry_point.module, "", entry_point)
    return _Offer(KINDS[kind], name, distribution.name, distribution.version, entry_point)


def _import_attribute(kind: Kind, path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as problem:  # importing foreign code: whatever it raises is the plugin's failure
        raise PluginError(f"{kind.name} {path!r} cannot be loaded: {_cause(problem)}") from problem
    return found


def _unpack(choice: object, options: object) -> tuple[object, object]:
    """A pair (choice, options) taken apart; options given apart from the pair win."""
    if isinstance(choice, tuple) and len(choice) == 2:
        return choice[0], choice[1] if options is None else options
    return choice, options


def _call(title: str, factory: Any, options: object, arguments: tuple[object, ...]) -> Any:
    try:
        return factory(*arguments) if options is None else factory(*arguments, options)
    except MqframeError:
        raise
    except (ImportError, TypeError, ValueError) as problem:
        raise PluginError(f"plugin {title} cannot be made: {_cause(problem)}") from problem


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
