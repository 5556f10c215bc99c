"""The settings of the broker service `priority`."""

from __future__ import annotations

from mqframe.core.config.settings import setting, settings, within


@settings("priority")
class PrioritySettings:
    """How topics of the type PRIORITY are popped."""

    zero_is_lowest: bool = setting(
        True,
        doc="a larger priority is more urgent; otherwise a smaller one is",
        conf="priorityOrderAsc",
        live=True,
    )
    retry_percent: int = setting(
        0,
        doc="of 100 pops by priority, so many look for messages to be tried again first, the others last",
        check=within(0, 100),
        conf="popFromRetryProbabilityForPriority",
        live=True,
    )
