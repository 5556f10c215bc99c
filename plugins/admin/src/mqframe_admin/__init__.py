"""Administration: what operators ask brokers and name servers, and change there.

Everything public is here, and imported when it is first used: a broker loads nothing of the client's part, an
application nothing of the broker's part. The names of the client's part are those of `mqframe`, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_admin.client.admin import AsyncAdmin as AsyncAdmin
    from mqframe_admin.client.blocking.admin import Admin as Admin
    from mqframe_admin.rules.dead_letters import DeadLetter as DeadLetter
    from mqframe_admin.rules.queue_expansion import QueueExpansion as QueueExpansion

_HOME = {
    "Admin": "mqframe_admin.client.blocking.admin",
    "AsyncAdmin": "mqframe_admin.client.admin",
    "DeadLetter": "mqframe_admin.rules.dead_letters",
    "QueueExpansion": "mqframe_admin.rules.queue_expansion",
}

__getattr__, __dir__ = late_names(__name__, _HOME)
