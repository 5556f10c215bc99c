"""Copies topics of one cluster to another, with order, without doubles, and with the progress of groups.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe_mirror.mirror import Mirror as Mirror
    from mqframe_mirror.rules.marks import Mark as Mark
    from mqframe_mirror.rules.marks import mark_of as mark_of
    from mqframe_mirror.settings import ClusterSettings as ClusterSettings
    from mqframe_mirror.settings import MirrorSettings as MirrorSettings
    from mqframe_mirror.settings import read_settings as read_settings

__getattr__, __dir__ = late_names(
    __name__,
    {
        "ClusterSettings": "mqframe_mirror.settings",
        "Mark": "mqframe_mirror.rules.marks",
        "Mirror": "mqframe_mirror.mirror",
        "MirrorSettings": "mqframe_mirror.settings",
        "mark_of": "mqframe_mirror.rules.marks",
        "read_settings": "mqframe_mirror.settings",
    },
)
