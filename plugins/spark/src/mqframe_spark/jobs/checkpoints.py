"""Where a job keeps its progress, and what it says."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mqframe.core.errors import SettingError
from mqframe_spark.jobs.sessions import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def checkpoint_for(
    given: str,
    name: str,
    facts: Mapping[str, str],
    master: str,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The folder that `given` names, else one of this user's that belongs to the same `name` and `facts`.

    By default it is `mqframe/spark/NAME-DIGEST` in `XDG_STATE_HOME` or `~/.local/state`, so that who starts
    the same job again goes on where it was. Raises `SettingError` where other machines must see the folder
    and none was given.
    """
    if given:
        # A relative path would be another folder tomorrow.
        return given if "://" in given else str(Path(given).expanduser().absolute())
    if not is_local(master):
        raise SettingError(
            f"option --checkpoint is missing: with master {master} name a folder that all its machines see"
        )
    environment = os.environ if environment is None else environment
    state = environment.get("XDG_STATE_HOME")
    folder = (Path(state) if state else Path.home() / ".local" / "state") / "mqframe" / "spark"
    digest = hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode()).hexdigest()[:12]
    return str(folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)}-{digest}")


def committed_offsets(spark: SparkSession, checkpoint: str) -> dict[str, dict[str, int]]:
    """How far the stream with this checkpoint is, as its source wrote it; empty when no micro-batch ended.

    Read by Spark, which knows whatever file system the folder is in.
    """
    from pyspark.errors import PySparkException

    try:
        listed = spark.read.format("binaryFile").load(f"{checkpoint}/commits").select("path").collect()
    except PySparkException:
        return {}  # there is no such folder: nothing was committed
    done = [int(name) for name in (row["path"].rpartition("/")[2] for row in listed) if name.isdecimal()]
    if not done:
        return {}
    text = spark.read.text(f"{checkpoint}/offsets/{max(done)}", wholetext=True).first()
    return {} if text is None else offsets_in(text["value"])


def offsets_in(text: str) -> dict[str, dict[str, int]]:
    """The offset of the one source in a file of a checkpoint's folder `offsets`.

    It has a line with its version, one with facts of the micro-batch, and one for each source.
    """
    lines = text.strip().splitlines()
    found: Any = json.loads(lines[2]) if len(lines) > 2 and lines[2].startswith("{") else {}
    table: dict[str, dict[str, int]] = found
    return table
