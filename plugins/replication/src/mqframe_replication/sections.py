"""The section `replication` among the settings of a broker."""

from __future__ import annotations

from mqframe.broker.sections import BrokerSections
from mqframe.core.errors import SettingError
from mqframe_replication.settings import ReplicationSettings


def replication_of(sections: BrokerSections) -> ReplicationSettings:
    """The section of `sections`. Raises `SettingError` where its role has another one."""
    found = sections.replication
    if not isinstance(found, ReplicationSettings):
        raise SettingError(
            f"the section replication is of the class {type(found).__name__}: a role that copies, or is"
            " copied, needs ReplicationSettings"
        )
    return found
