"""The quotas that operators set, as the broker saves them."""

from __future__ import annotations

from collections.abc import Callable

from mqframe_quotas.bodies import QuotaTable
from mqframe_quotas.rules.limits import Quota


class KeptQuotas:
    """By whose they are. `changed`: called after every change."""

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed = changed
        self.changes = 0
        self.quotas: dict[tuple[str, str], Quota] = {}

    def put(self, quota: Quota) -> None:
        """Set one, in place of that for the same."""
        self.quotas[quota.key] = quota
        self.changes += 1
        self._changed()

    def remove(self, kind: str, name: str) -> bool:
        """Forget one; whether there was one."""
        if self.quotas.pop((kind, name), None) is None:
            return False
        self.changes += 1
        self._changed()
        return True

    def dump(self) -> QuotaTable:
        """Everything, as a body."""
        return QuotaTable(quotas=[quota for _, quota in sorted(self.quotas.items())])

    def load(self, table: QuotaTable) -> None:
        """Take over what was saved."""
        self.quotas = {quota.key: quota for quota in table.quotas}
        self._changed()
