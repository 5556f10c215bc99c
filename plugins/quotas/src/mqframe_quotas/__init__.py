"""A broker service that limits what is sent, read and held open, and what sets and shows such limits.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_quotas.admin import QuotasAdmin as QuotasAdmin
    from mqframe_quotas.bodies import QuotaState as QuotaState
    from mqframe_quotas.rules.limits import Quota as Quota
    from mqframe_quotas.service import Quotas as Quotas
    from mqframe_quotas.settings import QuotaSettings as QuotaSettings

__getattr__, __dir__ = late_names(
    __name__,
    {
        "Quota": "mqframe_quotas.rules.limits",
        "QuotaSettings": "mqframe_quotas.settings",
        "QuotaState": "mqframe_quotas.bodies",
        "Quotas": "mqframe_quotas.service",
        "QuotasAdmin": "mqframe_quotas.admin",
    },
)
