"""What messages ask for that a service sees to, and what their sender is told where a broker lacks that.

Such a message is never stored as a plain one: consumers would have it too early.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.delay.options import LEVEL_NAMES, TIME_NAMES
from mqframe.core.delay.rules import NO_LEVELS, NO_TIMES
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.hooks.missing import why_missing

TRANSACTIONS: Final = "transactions"
DELAY_LEVELS: Final = "delay_levels"
DELAY: Final = "delay"
NEEDED_SERVICES: Final[Mapping[str, str]] = {
    p.TRANSACTION_PREPARED: TRANSACTIONS,
    **dict.fromkeys(LEVEL_NAMES, DELAY_LEVELS),
    **dict.fromkeys(TIME_NAMES, DELAY),
}
"""By name of a property, the service that sees to messages which have it."""
_REFUSALS: Final[Mapping[str, tuple[ResponseCode, str]]] = {
    TRANSACTIONS: (ResponseCode.NO_PERMISSION, "this broker takes no transactional messages"),
    DELAY_LEVELS: (ResponseCode.SYSTEM_ERROR, NO_LEVELS),
    DELAY: (ResponseCode.SYSTEM_ERROR, NO_TIMES),
}
"""By service, the code and the first words of what is answered without it."""


def asking_for(service: str) -> frozenset[str]:
    """The properties by which messages ask for `service`."""
    return frozenset(name for name, needed in NEEDED_SERVICES.items() if needed == service)


def without(service: str, blocked: Collection[str]) -> Refusal:
    """What the sender of a message that needs `service` is told by a broker that does not run it.

    `blocked`: the services that its settings leave out.
    """
    code, words = _REFUSALS[service]
    return Refusal(code, f"{words}: {why_missing(service, blocked)}")
