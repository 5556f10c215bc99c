"""The time for which a broker leads its group."""

from __future__ import annotations

import attrs

from mqframe_election.rules.group import GroupState
from mqframe_election.rules.lease import Lease


@attrs.frozen
class LeaderTerm:
    """A term of this broker: what was claimed, the version of that, and the lease that it stands on."""

    state: GroupState
    version: int
    lease: Lease
