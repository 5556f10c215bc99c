"""A program on a cluster of Spark's own: a stream from one topic to another, and what is read of that then.

    python standalone_driver.py '{"master": …, "nameserver": …, "source": …, "target": …, "checkpoint": …}'

It prints the bodies that a batch finds in the target, as JSON.
"""

from __future__ import annotations

import json
import sys

from mqframe_spark import local_session

BATCH_ROWS = 20


def main() -> None:
    given = json.loads(sys.argv[1])
    spark = local_session(
        "standalone",
        master=given["master"],
        **{
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            # Both executors take part from the beginning.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        },
    )
    servers = {"nameserver": given["nameserver"]}
    query = (
        spark.readStream.format("mqframe")
        .options(**servers, topic=given["source"], maxOffsetsPerTrigger=str(BATCH_ROWS))
        .load()
        .select("body")
        .writeStream.format("mqframe")
        .options(**servers, topic=given["target"], exactlyOnce="true", checkpointLocation=given["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    written = spark.read.format("mqframe").options(**servers, topic=given["target"]).load()
    print(json.dumps([bytes(row.body).decode() for row in written.select("body").collect()]))
    spark.stop()


if __name__ == "__main__":
    main()
