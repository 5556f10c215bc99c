"""The transport options of this transport: their names, units and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError

OF_KOMBU: Final = frozenset(
    {
        "callback",
        "client_properties",
        "connect_retries_timeout",
        "connect_timeout",
        "errback",
        "interval_max",
        "interval_start",
        "interval_step",
        "login_method",
        "max_retries",
    }
)
"""What kombu itself, or Celery, reads from the same table."""
OF_OTHERS: Final[Mapping[str, str]] = {
    "polling_interval": "nothing is polled here: brokers hold requests; see wait_time_seconds",
    "global_keyprefix": "the name here is queue_name_prefix",
    "queue_order_strategy": "queues take turns here",
    "sep": "topics of priorities are called <topic>%-<step> here",
    "unacked_restore_interval": "brokers bring messages back by themselves here",
    "fanout_prefix": "bindings are kept by name servers here",
    "fanout_patterns": "bindings are kept by name servers here",
    "max_connections": "a connection has one client here",
    "socket_timeout": "the name here is request_timeout",
    "socket_connect_timeout": "use broker_connection_timeout of Celery, or connect_timeout of kombu",
    "region": "this is no SQS",
    "predefined_queues": "this is no SQS",
    "confirm_publish": "every message is confirmed here",
}
"""Options of other transports that people bring along, and what to do about them."""


def _between(low: float, high: float) -> Callable[[Any, Any, Any], None]:
    def check(_: object, field: Any, value: float) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise SettingError(f"{value!r} is not a number from {low:g} to {high:g}")
        if field.type == "int" and not isinstance(value, int):
            raise SettingError(f"{value!r} is not a whole number")

    return check


def _steps(_: object, __: object, value: object) -> None:
    steps = value if isinstance(value, tuple) else ()
    legal = all(isinstance(step, int) and 0 <= step <= 9 for step in steps)
    if not steps or not legal or list(steps) != sorted(set(steps)) or steps[0] != 0:
        raise SettingError(f"{value!r} are not rising priorities from 0 to 9, the first of which is 0")


def _text(_: object, __: object, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise SettingError(f"{value!r} is not a text")


def _truth(_: object, __: object, value: object) -> None:
    if not isinstance(value, bool):
        raise SettingError(f"{value!r} is neither True nor False")


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else value


@attrs.frozen(kw_only=True)
class TransportOptions:
    """What may stand in `transport_options` of kombu, and `broker_transport_options` of Celery.

    All times are in seconds. The fields are in the table of the README.
    """

    visibility_timeout: float = attrs.field(default=60.0, validator=_between(1, 43_200))
    wait_time_seconds: float = attrs.field(default=10.0, validator=_between(0.1, 300))
    reconnect_after: float = attrs.field(default=5.0, validator=_between(0, 3600))
    request_timeout: float = attrs.field(default=5.0, validator=_between(0.1, 600))
    delays: bool = attrs.field(default=True, validator=_truth)
    delay_max: float = attrs.field(default=259_000.0, validator=_between(1, 31_536_000))
    priority_steps: tuple[int, ...] = attrs.field(default=(0, 3, 6, 9), converter=_as_tuple, validator=_steps)
    max_redeliveries: int = attrs.field(default=100, validator=_between(1, 2_147_483_647))
    reject_to_dead_letters: bool = attrs.field(default=True, validator=_truth)
    queue_name_prefix: str = attrs.field(default="", validator=_text)
    topic_queues: int = attrs.field(default=1, validator=_between(1, 65_536))
    deadletter_queue: str | None = attrs.field(default=None, validator=_text)


NAMES: Final = tuple(field.name for field in attrs.fields(TransportOptions))


def options_of(given: Mapping[str, Any]) -> TransportOptions:
    """`given`, checked. Raises `SettingError` that names the option, where it stands and what it may be."""
    mine: dict[str, Any] = {}
    for name, value in given.items():
        if name in OF_KOMBU:
            continue
        if name not in NAMES:
            raise SettingError(f"transport_options has {name!r}, which mqframe does not know{_hint(name)}")
        mine[name] = value
    for name, value in mine.items():
        try:
            TransportOptions(**{name: value})
        except SettingError as wrong:
            raise SettingError(f"transport_options[{name!r}]: {wrong}") from None
    return TransportOptions(**mine)


def _hint(name: str) -> str:
    if name in OF_OTHERS:
        return f": {OF_OTHERS[name]}"
    meant = did_you_mean(name, [*NAMES, *OF_KOMBU], most=2)
    return f"; {meant}" if meant else f"; it knows {', '.join(sorted(NAMES))}"
