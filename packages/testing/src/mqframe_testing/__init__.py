"""Test support for mqframe, its plugins and applications: clusters, clocks, simulations, conformance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_testing.cluster import AsyncCluster, Cluster
    from mqframe_testing.cluster_scene import ClusterScene
    from mqframe_testing.manual_clock import ManualClock
    from mqframe_testing.stage import AsyncStage, NotSettled, Stage

__all__ = ["AsyncCluster", "AsyncStage", "Cluster", "ClusterScene", "ManualClock", "NotSettled", "Stage"]


def __getattr__(name: str) -> Any:
    # Late, so that a test which only wants the manual clock does not load a broker.
    if name in ("AsyncCluster", "Cluster"):
        from mqframe_testing import cluster

        return getattr(cluster, name)
    if name in ("AsyncStage", "NotSettled", "Stage"):
        from mqframe_testing import stage

        return getattr(stage, name)
    if name == "ClusterScene":
        from mqframe_testing.cluster_scene import ClusterScene

        return ClusterScene
    if name == "ManualClock":
        from mqframe_testing.manual_clock import ManualClock

        return ManualClock
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
