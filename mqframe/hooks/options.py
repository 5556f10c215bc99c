"""Options of plugins: a factory's `Options` class, and tables of values turned into an instance of it.

A broker service may have a section of settings besides, its factory's `Settings` class, and further classes
in attributes that are called as what these inherit: `CutBack`, `SlaveCopies`, `KeyIndexing`, `LogReading`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from mqframe.core.config.field_types import convert, field_types, name_of
from mqframe.core.config.settings import shown
from mqframe.core.errors import PluginError, SettingError

T = TypeVar("T")


@attrs.frozen
class OptionInfo:
    """One option for people to read: `type` and `default` as text ("" when the option must be given)."""

    name: str
    type: str
    default: str
    doc: str


def options_class(factory: Any) -> type[Any] | None:
    """The attrs class in `factory.Options`, or `None`. Raises `PluginError` when it is something else."""
    declared = getattr(factory, "Options", None)
    if declared is None:
        return None
    if not (isinstance(declared, type) and attrs.has(declared)):
        raise PluginError(f"{factory!r}: Options must be an attrs class, not {declared!r}")
    return declared


def settings_class(name: str, factory: Any) -> type[Any] | None:
    """The class of a section of settings in `factory.Settings`, or `None`.

    `name`: by which the factory was chosen. Raises `PluginError` when it is something else, or has the name
    of another section than its own.
    """
    declared = getattr(factory, "Settings", None)
    if declared is None:
        return None
    section = getattr(declared, "SECTION", None)
    if not (isinstance(declared, type) and attrs.has(declared) and isinstance(section, str)):
        raise PluginError(f"{name}: Settings must be a class made by settings(...), not {declared!r}")
    if ":" not in name and section != section_of(name):
        raise PluginError(
            f"{name}: its Settings are the section {section}; a service's section is called as the service:"
            f' settings("{section_of(name)}")'
        )
    return declared


def declared_class(name: str, factory: Any, kind: type[T]) -> type[T] | None:
    """The class in the attribute of `factory` that is called as `kind`, `None` where there is none.

    `name`: by which the factory was chosen. Raises `PluginError` when it does not inherit `kind`.
    """
    declared = getattr(factory, kind.__name__, None)
    if declared is not None and not (isinstance(declared, type) and issubclass(declared, kind)):
        raise PluginError(
            f"{name}: {kind.__name__} must be a class that inherits {kind.__name__}, not {declared!r}"
        )
    return declared


def section_of(service: str) -> str:
    """What the section of settings of a broker service is called, if it has one."""
    return service.replace("-", "_")


def describe(factory: Any) -> tuple[OptionInfo, ...]:
    """The options that `factory` declares, in their order. Raises whatever their class raises."""
    declared = options_class(factory)
    if declared is None:
        return ()
    kinds = field_types(declared)
    return tuple(
        OptionInfo(field.name, name_of(kinds[field.name]), _default(field), field.metadata.get("doc", ""))
        for field in attrs.fields(declared)
    )


def build(name: str, factory: Any, given: object) -> Any:
    """An instance of the factory's `Options` from `given` (a mapping, an instance or `None`); else `None`.

    `name` is the plugin's, for messages. Raises `SettingError` for unknown names, bad and missing values, and
    `PluginError` for a class that fails otherwise.
    """
    declared = options_class(factory)
    if declared is None:
        if given:
            raise SettingError(f"plugin {name} takes no options, but got {_without_values(given)}")
        return None
    if isinstance(given, declared):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise SettingError(
            f"options of plugin {name} must be a table or a {declared.__qualname__}, "
            f"not a {type(given).__qualname__}"
        )
    try:
        return _from_table(name, declared, given or {})
    except SettingError:
        raise
    except ValueError as problem:
        raise SettingError(f"options of plugin {name}: {problem}") from problem
    except Exception as problem:  # foreign code: whatever it raises is the plugin's failure
        cause = f"{type(problem).__name__}: {problem}"
        raise PluginError(f"options of plugin {name} cannot be made: {cause}") from problem


def _from_table(name: str, declared: type[Any], table: Mapping[str, Any]) -> Any:
    fields = {field.name: field for field in attrs.fields(declared)}
    unknown = sorted(set(table) - set(fields))
    if unknown:
        known = ", ".join(sorted(fields)) or "none"
        raise SettingError(f"there is no {_place(name, unknown[0], table)}; its options: {known}")
    missing = [f.name for f in fields.values() if f.default is attrs.NOTHING and f.name not in table]
    if missing:
        raise SettingError(f"plugin {name} needs the option {', '.join(missing)}")
    kinds = field_types(declared)
    values = {}
    for key, value in table.items():
        try:
            values[fields[key].alias] = convert(value, kinds[key])
        except ValueError as problem:
            said = shown(value, fields[key].metadata.get("secret", False))
            raise SettingError(f"{_place(name, key, table)} = {said}: {problem}") from None
        check = fields[key].validator
        if check is not None:
            try:
                check(declared, fields[key], values[fields[key].alias])
            except SettingError as problem:
                raise SettingError(f"{_place(name, key, table)}: {problem}") from None
            except (TypeError, ValueError) as problem:  # of attrs, whose messages hold the value
                said = "is refused" if fields[key].metadata.get("secret") else problem.args[0]
                raise SettingError(f"{_place(name, key, table)}: {said}") from None
    return declared(**values)


def _place(name: str, key: str, table: Mapping[str, Any]) -> str:
    """What to call an option in a message; with its origin where the configuration knows it."""
    origin = getattr(table, "origins", {}).get(key)
    return f"option {key} of plugin {name}" + (f" from {origin}" if origin else "")


def _without_values(given: object) -> str:
    # Whose options they are is unknown here, and so is which of them are secret.
    return ", ".join(map(str, given)) if isinstance(given, Mapping) else f"a {type(given).__qualname__}"


def _default(field: attrs.Attribute[Any]) -> str:
    if field.default is attrs.NOTHING:
        return ""
    default: Any = field.default
    if getattr(default, "takes_self", False):
        return "from other options"
    return repr(default.factory() if isinstance(default, attrs.Factory) else default)  # type: ignore[arg-type]
