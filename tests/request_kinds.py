"""The request kinds of Apache RocketMQ: those of the kernel, and those that its own plugins declare."""

from __future__ import annotations

import importlib
from typing import Final

from mqframe.core.requests import REQUESTS, Request

PACKAGES: Final = (
    "mqframe.", "mqframe_admin.", "mqframe_assignment.", "mqframe_delay.", "mqframe_pop.",
    "mqframe_request_reply.", "mqframe_transactions.",
)  # fmt: skip
"""What a name of their modules begins with. Other plugins declare requests that only they know."""
for _module in (*(f"{package}requests" for package in PACKAGES[1:]), "mqframe_admin.access.requests"):
    importlib.import_module(_module)
ROCKETMQ_S: Final[dict[int, type[Request]]] = {
    code: kind for code, kind in sorted(REQUESTS.items()) if kind.__module__.startswith(PACKAGES)
}
