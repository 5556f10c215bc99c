"""A user's function, found by "module:function" or "file.py:function"."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from mqframe.core.errors import SettingError
from mqframe_spark.jobs.failures import cause_of


def load_function(text: str) -> Callable[..., Any]:
    """The function that `text` names; the working directory counts as a place for modules.

    What the module holds travels to Spark's workers with the tasks; what it imports must be installed there,
    or be shipped. Raises `SettingError` when there is no such module or function, when the module cannot be
    imported, and when the function cannot be called with one argument, the DataFrame.
    """
    place, colon, name = text.rpartition(":")
    if not colon or not place or not name:
        raise SettingError(f"pipeline {text!r}: write module:function or file.py:function")
    module = _file(text, Path(place)) if place.endswith(".py") else _module(text, place)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        names = ", ".join(_functions(module)) or "none"
        raise SettingError(f"pipeline {text!r}: {place} has no function {name}; its functions: {names}")
    if not callable(found):
        raise SettingError(f"pipeline {text!r}: {name} is no function but {type(found).__name__}")
    _check_arguments(text, found)
    made: Callable[..., Any] = found
    return made


def travel_with_tasks(function: Callable[..., Any]) -> None:
    """Have Spark send the code of `function`'s module to its workers, which may not have the file."""
    from pyspark.cloudpickle import register_pickle_by_value

    module = sys.modules.get(getattr(function, "__module__", ""))
    path = getattr(module, "__file__", None) or ""
    if module is not None and path and "site-packages" not in Path(path).parts:
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _module(text: str, name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is not None and (name == missing.name or name.startswith(f"{missing.name}.")):
            raise SettingError(f"pipeline {text!r}: there is no module {missing.name}") from None
        raise SettingError(f"pipeline {text!r}: {cause_of(missing)}") from missing
    except Exception as problem:  # the user's code: whatever importing it raises is its failure
        raise SettingError(f"pipeline {text!r}: {cause_of(problem)}") from problem


def _file(text: str, path: Path) -> ModuleType:
    path = path.expanduser().absolute()
    if not path.is_file():
        raise SettingError(f"pipeline {text!r}: there is no file {path}")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None, "a name that ends in .py has a loader"
    module = module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as problem:  # the user's code: whatever importing it raises is its failure
        del sys.modules[path.stem]
        raise SettingError(f"pipeline {text!r}: {cause_of(problem)}") from problem
    return module


def _check_arguments(text: str, function: Callable[..., Any]) -> None:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise SettingError(
            f"pipeline {text!r}: it is called with the DataFrame alone, but takes "
            f"{inspect.signature(function)}"
        ) from None
    except ValueError:
        return  # written in C: nobody knows what it takes


def _functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
