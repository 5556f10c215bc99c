"""What is optional in an allocation strategy."""

from __future__ import annotations

from typing import Any

from mqframe_testing.consuming import AllQueues

from mqframe.hooks.interfaces import AllocationStrategy


class Looking(AllQueues):
    async def prepare(self, port: Any, group: str, topic: str, queues: Any, clients: Any) -> None:
        """Looks."""


class LookingToo(Looking):
    """Inherits it."""


def test_only_those_that_look_are_asked_to() -> None:
    assert [made.prepares for made in (AllQueues(), Looking(), LookingToo())] == [False, True, True]


async def test_what_is_not_overridden_does_nothing() -> None:
    plain: AllocationStrategy = AllQueues()
    await plain.prepare(None, "g", "t", [], [])  # type: ignore[arg-type]
    assert plain.basis("g", "t") == ""
