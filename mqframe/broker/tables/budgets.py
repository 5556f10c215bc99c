"""The budgets of a broker: what clients and operators can make grow, and the most of each."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.tables.live_settings import LiveSettings
from mqframe.broker.tables.shared import Registry
from mqframe.core.consuming.queue_locks import QueueLocks
from mqframe.core.filtering.filter_table import FilterTable
from mqframe.core.measuring.budget import Budget


class Budgets:
    """Gives the tables of a broker their limits, and shows how much of them is in use."""

    def __init__(
        self, live: LiveSettings, registry: Registry, filters: FilterTable, locks: QueueLocks
    ) -> None:
        self._live = live
        self._budgets: list[Budget] = []
        self.of_connections: Callable[[], dict[str, str]] = dict
        self._limit(registry)
        filters.admit = self.add("expressions", "expressions_max", lambda: filters.count).admit
        locks.admit = self.add("queue locks", "queue_locks_max", lambda: locks.count).admit

    def add(self, name: str, setting: str, used: Callable[[], int]) -> Budget:
        """A budget whose limit is the broker's `setting`; `name` is how it is shown."""
        live = self._live
        budget = Budget(name, f"broker.{setting}", used, lambda: int(getattr(live.current, setting)))
        self._budgets.append(budget)
        return budget

    def _limit(self, registry: Registry) -> None:
        topics, groups, offsets, clients = registry
        topics.admit = self.add("topics", "topics_max", lambda: len(topics)).admit
        groups.admit = self.add("groups", "groups_max", lambda: len(groups)).admit
        groups.admit_rule = self.add("forbidden topics", "group_rules_max", lambda: groups.rules).admit
        offsets.admit = self.add("offsets", "offsets_max", lambda: offsets.entries).admit
        clients.admit_member = self.add("members", "members_max", lambda: clients.members).admit
        clients.admit_subscriptions = self.add(
            "subscriptions", "subscriptions_max", lambda: clients.subscribed
        ).admit

    def counters(self) -> dict[str, str]:
        """All of them, and those of the connections."""
        found = self.of_connections()
        for budget in self._budgets:
            found |= budget.counters()
        return found
