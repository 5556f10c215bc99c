"""The cluster that programs mean in whose folder a command runs."""

from __future__ import annotations

import os
from typing import Final

from mqframe.core.config.layers import NAMESRV_ADDR, PREFIX

_VARIABLE: Final = f"{PREFIX}CLIENT_NAMESERVER"


def cluster_of_programs() -> tuple[str, str] | None:
    """The name servers that a client made `from_config` here would ask, and who says so; `None` for none.

    Raises `SettingError` for a file that cannot be used.
    """
    for name in (_VARIABLE, NAMESRV_ADDR):
        if said := os.environ.get(name):
            return said, f"variable {name}"
    from mqframe_cli.settings.configuration import file_here, load

    if (file := file_here()) is None:
        return None
    entries = {entry.path: entry for entry in load("client", {}, file, ()).entries}
    found = entries["client.nameserver"]
    return (found.value, found.origin) if found.value else None
