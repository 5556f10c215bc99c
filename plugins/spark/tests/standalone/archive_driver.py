"""A program for `spark-submit` on machines whose Python has none of mqframe: it comes as an archive.

    archive_driver.py '{"nameserver": …, "source": …, "target": …, "path": …}'

It reads a topic, writes what it read to another one, and keeps in the file `path`, as JSON, what is in that
then, and where a worker has mqframe from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def place(_: object) -> str:
    """Where this process has mqframe from."""
    import mqframe

    assert mqframe.__file__ is not None
    return str(Path(mqframe.__file__).absolute())


def main() -> None:
    given = json.loads(sys.argv[1])
    spark = SparkSession.builder.appName("archive").getOrCreate()
    topic = {"nameserver": given["nameserver"]}
    rows = spark.read.format("mqframe").options(**topic, topic=given["source"]).load()
    rows.select("body").write.format("mqframe").options(**topic, topic=given["target"]).mode("append").save()
    written = spark.read.format("mqframe").options(**topic, topic=given["target"]).load()
    found = {
        "bodies": sorted(bytes(row.body).decode() for row in written.select("body").collect()),
        "places": spark.sparkContext.parallelize([0], 1).map(place).collect(),
    }
    Path(given["path"]).write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
