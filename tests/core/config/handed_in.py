"""Settings as code hands them in."""

from __future__ import annotations

from typing import Any

from mqframe.core.config.layers import Given, Layer, Rank


def arguments(values: dict[str, Any]) -> Layer:
    given = (Given(path, value, f"argument {path}") for path, value in values.items())
    return Layer(Rank.ARGUMENT, tuple(given))
