"""Topics as Spark tables, a dispatcher that feeds Parquet, and Spark without a Java of one's own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_spark.java import prepare_java
    from mqframe_spark.local import local_session, session, session_conf

__all__ = ["local_session", "prepare_java", "session", "session_conf"]

_HOME = {
    "local_session": "local",
    "prepare_java": "java",
    "session": "local",
    "session_conf": "local",
}


def __getattr__(name: str) -> Any:
    # Imported late: workers of Spark and brokers load this package without starting a session.
    if name == "dispatcher":
        return import_module("mqframe_spark.lake.dispatcher")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'mqframe_spark' has no attribute {name!r}")
    return getattr(import_module(f"mqframe_spark.{home}"), name)
