"""Roles of brokers among those that have the same log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class BrokerRole(ABC):
    """What brokers are that the section `replication` names this role for: `replication.role`.

    Made as `factory()`. Unlike other plugins a role is trusted and deep: it is handed the inside of the
    broker, and makes parts of it by the interfaces named below, which change with any version. Sections of
    settings that it has are entry points of their own (`mqframe.hooks.sections`).
    """

    @abstractmethod
    def group_role(self, sections: Any) -> Any:
        """What one broker of these settings is, in a program of its own that says so.

        `sections`: `mqframe.broker.sections.BrokerSections`; returns a
        `mqframe.broker.roles.group_role.GroupRole`. Raises `SettingError`.
        """

    @abstractmethod
    def decider(self, sections: Any, clock: Any, plugins: Any, on_lost: Callable[[], object]) -> Any:
        """Who decides what the broker of a server is, and may have it made anew in another role.

        `sections`: as of `group_role`; `clock`: `mqframe.net.clock.LoopClock`; `plugins`: the `PluginManager`
        of the server; `on_lost`: to be called when no broker serves any more, because none could be started.
        Returns a `mqframe.broker.host.RoleDecider`. Raises `SettingError`, `PluginError`.
        """
