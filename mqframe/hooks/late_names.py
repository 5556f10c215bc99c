"""What a package offers, each name imported when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package`, which offers each name of `homes` out of that module.

        __getattr__, __dir__ = late_names(__name__, {"Puller": "mqframe_pull.puller.blocking_puller"})

    `__all__` is found like them. For type checkers the package imports all of them, which is never run.
    """
    offered = sorted(homes)

    def find(name: str) -> Any:
        if name == "__all__":
            return offered
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: list(offered)
