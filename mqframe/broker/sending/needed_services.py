"""Which service of the broker a message needs, and what its sender is told where that is missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from mqframe.core.delay.options import LEVEL_NAMES, TIME_NAMES
from mqframe.core.messages import properties as p
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.names import install_line

NEEDED: Final[Mapping[str, str]] = {
    p.TRANSACTION_PREPARED: "transactions",
    **dict.fromkeys(LEVEL_NAMES, "delay_levels"),
    **dict.fromkeys(TIME_NAMES, "delay"),
}
"""The service by the property of a message that asks for it: stored without it such a message would be lost,
or come too early."""


def why_missing(service: str, blocked: Collection[str]) -> str:
    """Why a broker does not have `service`, and what brings it; `blocked`: the services that are left out."""
    if service in blocked:
        return f"the service {service} is left out by broker.services_blocked"
    distribution = KNOWN_DISTRIBUTIONS.get(("broker_service", service))
    if distribution is None:
        return f"the service {service} is missing"
    return f"the service {service} is not installed; install it with: {install_line(distribution)}"
