"""Somebody with metrics: a broker, a name server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from mqframe.core.measuring.family import Metric


class Measured(Protocol):
    """Somebody with metrics."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that all of them have."""

    def families(self) -> AsyncIterator[Metric]:
        """All of them, each under a name of its own."""
