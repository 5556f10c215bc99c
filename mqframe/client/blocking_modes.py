"""The part of the blocking administration that says whether groups pull or pop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, TypeVar

from mqframe.client.admin import AsyncAdmin
from mqframe.core.pop_bodies import RequestModeBody

T = TypeVar("T")


class BlockingModes(ABC):
    """Arguments, results and errors are those of `AsyncAdmin`."""

    @property
    @abstractmethod
    def _admin(self) -> AsyncAdmin: ...

    @abstractmethod
    def _do(self, work: Coroutine[Any, Any, T]) -> T: ...

    def set_request_mode(self, group: str, topic: str, mode: str, *, share: int = 0) -> None:
        """Let members of `group` read `topic` by PULL or POP from their next rebalance on."""
        return self._do(self._admin.set_request_mode(group, topic, mode, share=share))

    def request_modes(self, group: str | None = None) -> list[RequestModeBody]:
        """All modes that were set, or those of `group`, by topic and group."""
        return self._do(self._admin.request_modes(group))
