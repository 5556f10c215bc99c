"""Coordination by etcd, through its JSON gateway."""

from __future__ import annotations

from mqframe.hooks.specs import Factories, hookimpl
from mqframe_etcd.coordination import EtcdCoordination
from mqframe_etcd.options import EtcdOptions

__all__ = ["EtcdCoordination", "EtcdOptions", "register_coordinations"]


@hookimpl
def register_coordinations() -> Factories:
    """`etcd`."""
    return {"etcd": EtcdCoordination}
