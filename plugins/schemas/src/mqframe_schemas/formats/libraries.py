"""Libraries that kinds of schemas need, each brought by an extra of this distribution."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mqframe.core.errors import PluginError


def library(module: str, extra: str) -> Any:
    """`module`, imported now. Raises `PluginError` that says how it is installed."""
    try:
        return import_module(module)
    except ImportError as problem:
        raise PluginError(
            f"schemas of this kind need {module.partition('.')[0]}, which is not here ({problem}); install it"
            f' with: pip install "mqframe-plugin-schemas[{extra}]"'
        ) from problem
