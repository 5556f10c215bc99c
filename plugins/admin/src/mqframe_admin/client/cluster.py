"""Administration of a cluster: which brokers there are."""

from __future__ import annotations

from mqframe.core.cluster.route_bodies import ClusterInfo
from mqframe_admin.client.calls import AdminCalls


class AsyncClusterAdmin:
    """The brokers of a cluster, as name servers know them."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def info(self) -> ClusterInfo:
        """All brokers with their addresses, and which belong to which cluster."""
        return await self._calls.cluster_info()

    async def masters(self, *, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Addresses of masters by broker name: all, those of `cluster`, or that of `broker`.

        Raises `FixError` when there is none.
        """
        return await self._calls.masters(cluster=cluster, broker=broker)
