"""`mqframe spark`: pipelines from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqframe.hooks.specs import hookimpl


@hookimpl
def register_commands() -> Mapping[str, Any]:
    """None yet."""
    return {}
