"""ClusterAdmin: `AsyncClusterAdmin` for plain threads.

Generated from mqframe_admin.client.cluster, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.cluster import AsyncClusterAdmin


class ClusterAdmin(SyncSubject[AsyncClusterAdmin]):
    """The brokers of a cluster, as name servers know them."""

    def info(self) -> ClusterInfo:
        """All brokers with their addresses, and which belong to which cluster."""
        return self._call(self._client.info)

    def masters(self, *, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Addresses of masters by broker name: all, those of `cluster`, or that of `broker`.

        Raises `FixError` when there is none.
        """
        return self._call(self._client.masters, cluster=cluster, broker=broker)
