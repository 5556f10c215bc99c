"""AllocationAdmin: `AsyncAllocationAdmin` for plain threads.

Generated from mqframe_admin.client.allocation, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.client.consuming.group.allocation import DEFAULT
from mqframe_admin.client.allocation import AsyncAllocationAdmin
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.rules.allocation_plan import AllocationPlan


class AllocationAdmin(SyncSubject[AsyncAllocationAdmin]):
    """Who owns which queue of a group, and who would."""

    def plan(
        self,
        group: str,
        allocate: object = DEFAULT,
        options: object = None,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
    ) -> AllocationPlan:
        """What would move if all members of `group` had the allocation strategy `allocate`. Changes nothing.

        `allocate`, `options`: as for consumers; the strategy is made and runs here. `add`, `remove`: client
        ids of members that come and go as well. Each member is asked what it holds, Java ones too; one that
        does not answer is in `AllocationPlan.silent`. Raises `FixError` for a group that is unknown, whose
        members are offline or broadcast, and for a strategy that fails; `PluginError` for a wrong one.
        """
        return self._call(self._client.plan, group, allocate, options, add=add, remove=remove)
