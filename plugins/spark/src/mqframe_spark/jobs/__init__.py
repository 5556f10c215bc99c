"""Jobs over topics: a user's pipeline on a stream, and ready-made ones. Each takes a Spark session.

`run_pipeline`, `drain`, `replay`, `republish_dead_letters`, `report` and `search` are what the commands of
`mqframe spark` call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqframe_spark.jobs.checkpoints import checkpoint_for
    from mqframe_spark.jobs.clusters import waiting
    from mqframe_spark.jobs.dead_letters import Republish, Republished, open_letters, republish_dead_letters
    from mqframe_spark.jobs.draining import Drain, check_drain, drain
    from mqframe_spark.jobs.loading import load_function, travel_with_tasks
    from mqframe_spark.jobs.pipeline import OUTPUT_MODES, Pipeline, run_pipeline
    from mqframe_spark.jobs.progress import Progress
    from mqframe_spark.jobs.replaying import Replay, check_replay, replay
    from mqframe_spark.jobs.reporting import Report, check_report, lags, report
    from mqframe_spark.jobs.searching import Found, Search, search
    from mqframe_spark.jobs.sessions import SessionOptions, check_session, open_session
    from mqframe_spark.jobs.watching import StopRequest, Totals

_HOME = {
    name: f"mqframe_spark.jobs.{module}"
    for module, names in {
        "checkpoints": "checkpoint_for",
        "clusters": "waiting",
        "dead_letters": "Republish Republished open_letters republish_dead_letters",
        "draining": "Drain check_drain drain",
        "loading": "load_function travel_with_tasks",
        "pipeline": "OUTPUT_MODES Pipeline run_pipeline",
        "progress": "Progress",
        "replaying": "Replay check_replay replay",
        "reporting": "Report check_report lags report",
        "searching": "Found Search search",
        "sessions": "SessionOptions check_session open_session",
        "watching": "StopRequest Totals",
    }.items()
    for name in names.split()
}

__all__ = [
    "OUTPUT_MODES",
    "Drain",
    "Found",
    "Pipeline",
    "Progress",
    "Replay",
    "Report",
    "Republish",
    "Republished",
    "Search",
    "SessionOptions",
    "StopRequest",
    "Totals",
    "check_drain",
    "check_replay",
    "check_report",
    "check_session",
    "checkpoint_for",
    "drain",
    "lags",
    "load_function",
    "open_letters",
    "open_session",
    "replay",
    "report",
    "republish_dead_letters",
    "run_pipeline",
    "search",
    "travel_with_tasks",
    "waiting",
]


def __getattr__(name: str) -> Any:
    # Imported late: the help of a command needs neither pyspark nor pyarrow.
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'mqframe_spark.jobs' has no attribute {name!r}")
    return getattr(import_module(home), name)
