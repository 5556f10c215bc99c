"""The time for which a broker leads its group."""

from __future__ import annotations

import attrs

from mqframe.core.election.group import GroupState
from mqframe.core.election.lease import Lease


@attrs.frozen
class LeaderTerm:
    """A term of this broker: what was claimed, the version of that, and the lease that it stands on."""

    state: GroupState
    version: int
    lease: Lease
