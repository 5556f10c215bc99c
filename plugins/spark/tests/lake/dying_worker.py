"""The worker, but it, or the broker whose child it is, is killed at a chosen point, once.

    dying_worker.py POINT NUMBER self|broker MARK

At the NUMBERth time that POINT is reached, unless the file MARK exists, which is made then. `DyingDispatcher`
runs it, as told by the environment.
"""

import os
import signal
import sys
import time
from pathlib import Path

from mqframe_spark.lake.dispatcher import ParquetDispatcher

POINTS = ("before file", "torn file", "after file", "before ends", "after ends", "before answer")
TABLE_POINTS = ("before commit", "after commit", "before answer")


class DyingDispatcher(ParquetDispatcher):
    """A `ParquetDispatcher` with such a worker; `DYING` in the environment holds its words, `|` between."""

    def _start(self):
        words = os.environ["DYING"].split("|")
        self.worker_command = (sys.executable, __file__, *words)
        return super()._start()


class Fate:
    def __init__(self, point: str, number: str, victim: str, mark: str) -> None:
        self.point, self.left, self.mark = point, int(number), Path(mark)
        # What is asked for later would be init, once the broker is dead.
        self.victim = os.getpid() if victim == "self" else os.getppid()

    def reached(self, point: str) -> None:
        if point != self.point or self.mark.exists():
            return
        self.left -= 1
        if self.left == 0:
            self.mark.touch()
            os.kill(self.victim, signal.SIGKILL)
            # As an orphan it goes on for a while, when the next broker has started already.
            time.sleep(0.5)

    def around(self, call, before: str, after: str):
        def called(*arguments, **options):
            self.reached(before)
            made = call(*arguments, **options)
            self.reached(after)
            return made

        return called


def break_tables(fate: Fate) -> None:
    from mqframe_spark.lake import delta_tables
    from pyiceberg.catalog.sql import SqlCatalog

    # Of Delta with the data files, of Iceberg behind them.
    for place, name in ((delta_tables, "write_deltalake"), (SqlCatalog, "commit_table")):
        setattr(place, name, fate.around(getattr(place, name), "before commit", "after commit"))


def break_upkeep(fate: Fate) -> None:
    """Tidy up after every command, and die around a merge."""
    from mqframe_spark.lake import caretaker, parquet_worker

    caretaker.LOOK_SECONDS = 0
    make = parquet_worker.make_upkeep

    def made(*arguments):
        upkeep = make(*arguments)
        upkeep.merge = fate.around(upkeep.merge, "before merge", "after merge")
        return upkeep

    parquet_worker.make_upkeep = made


def main() -> None:
    from mqframe_spark.lake import parquet_files, parquet_worker, slot_ends

    fate = Fate(*sys.argv[1:])
    write = parquet_files.write_durably

    def torn(path, content):
        if fate.point == "torn file" and fate.left == 1 and not fate.mark.exists():
            path.with_name(f".{path.name}.tmp").write_bytes(bytes(content)[: len(content) // 2])
        fate.reached("torn file")
        write(path, content)

    parquet_files.write_durably = fate.around(torn, "before file", "after file")
    slot_ends.write_durably = fate.around(slot_ends.write_durably, "before ends", "after ends")
    if "commit" in fate.point:
        break_tables(fate)
    if "exchange" in fate.point:
        from mqframe_spark.lake import parquet_upkeep

        wrapped = fate.around(parquet_upkeep.exchange, "before exchange", "after exchange")
        parquet_upkeep.exchange = wrapped
    if fate.point in ("before exchange", "after exchange", "before merge", "after merge"):
        break_upkeep(fate)
    fate.left += fate.point == "before answer"  # the first one says that it works
    parquet_worker._say = fate.around(parquet_worker._say, "before answer", "")
    parquet_worker.main()


if __name__ == "__main__":
    main()
