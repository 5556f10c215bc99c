"""A broker service that sends messages by cron expressions, and what makes and lists such schedules."""

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_schedules.admin import SchedulesAdmin
from mqframe_schedules.bodies import Schedule, ScheduleState
from mqframe_schedules.service import Schedules, SchedulesOptions

__all__ = [
    "Schedule",
    "ScheduleState",
    "Schedules",
    "SchedulesAdmin",
    "SchedulesOptions",
    "register_broker_services",
]


@hookimpl
def register_broker_services() -> Factories:
    """The service of brokers."""
    return {"schedules": Schedules}
