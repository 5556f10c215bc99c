"""A broker service that sends messages by cron expressions, and what makes and lists such schedules.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_schedules.admin import SchedulesAdmin as SchedulesAdmin
    from mqframe_schedules.bodies import Schedule as Schedule
    from mqframe_schedules.bodies import ScheduleState as ScheduleState
    from mqframe_schedules.service import Schedules as Schedules
    from mqframe_schedules.service import SchedulesOptions as SchedulesOptions

__getattr__, __dir__ = late_names(
    __name__,
    {
        "Schedule": "mqframe_schedules.bodies",
        "ScheduleState": "mqframe_schedules.bodies",
        "Schedules": "mqframe_schedules.service",
        "SchedulesAdmin": "mqframe_schedules.admin",
        "SchedulesOptions": "mqframe_schedules.service",
    },
)
