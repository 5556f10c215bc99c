"""A program with a Spark Connect session of its own; prints what each of its parts found as JSON.

Arguments: name server, folder, port. A classic session can be in no process that has this kind. Spark's
server is at the port that all local ones have, or at the next free one, where its own client does not look;
tests that run beside this one have such servers, too.
"""

import faulthandler
import io
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
from mqframe_spark.deduplication import drop_doubles
from mqframe_spark.functions import avro_body, json_body, own_properties
from mqframe_spark.jobs.searching import Search, search
from mqframe_spark.lag import LagListener
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.streaming.listener import QueryTerminatedEvent

NAMESERVER, FOLDER, PORT = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
SECONDS_MAX = 240
faulthandler.dump_traceback_later(SECONDS_MAX, exit=True)  # whoever waits for ever says where
SCHEMA = {"type": "record", "name": "n", "fields": [{"name": "id", "type": "long"}]}
DefaultChannelBuilder.default_port = staticmethod(lambda: PORT)
spark = (
    SparkSession.builder.remote("local[2]")
    .config("spark.connect.grpc.binding.port", str(PORT))
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", str(FOLDER / "warehouse"))
    .getOrCreate()
)
assert isinstance(spark, ConnectSession)


def source(topic: str, **more: str) -> dict[str, str]:
    return {"nameserver": NAMESERVER, "topic": topic, "startingOffsets": "earliest", **more}


def read(topic: str, **more: str) -> Any:
    return spark.read.format("mqframe").options(**source(topic, **more)).load()


def numbers(frame: Any) -> list[int]:
    return sorted(int(row.text) for row in frame.select(f.col("body").cast("string").alias("text")).collect())


def batch() -> Any:
    frame = read("connect-read")
    return {"numbers": numbers(frame), "tagged": frame.where("tags = 'tag1'").count()}


def stream() -> Any:
    counts = []
    for _ in range(2):
        frame = spark.readStream.format("mqframe").options(**source("connect-read")).load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(FOLDER / "read"))
        query = writer.option("path", str(FOLDER / "rows")).trigger(availableNow=True).start()
        query.awaitTermination()
        counts.append(numbers(spark.read.parquet(str(FOLDER / "rows"))))
    return counts


def sink() -> Any:
    frame = read("connect-read").select("body", "tags")
    options = {"nameserver": NAMESERVER, "topic": "connect-written"}
    frame.write.format("mqframe").mode("append").options(**options).save()
    once = {"exactlyOnce": "true", "commitPath": str(FOLDER / "commits")}
    frame.write.format("mqframe").mode("append").options(**options, **once).save()
    return numbers(read("connect-written"))


def stream_sink() -> Any:
    frame = spark.readStream.format("mqframe").options(**source("connect-read")).load().select("body")
    options = {"nameserver": NAMESERVER, "topic": "connect-streamed", "exactlyOnce": "true"}
    for _ in range(2):
        writer = frame.writeStream.format("mqframe").options(**options)
        query = (
            writer.option("checkpointLocation", str(FOLDER / "written")).trigger(availableNow=True).start()
        )
        query.awaitTermination()
    return numbers(read("connect-streamed"))


def table() -> Any:
    spark.sql(
        f"CREATE TABLE connected USING mqframe OPTIONS (nameserver '{NAMESERVER}', topic 'connect-read')"
    )
    found = spark.sql("SELECT body FROM connected WHERE tags = 'tag1'")
    return {"numbers": numbers(found), "columns": spark.table("connected").columns[:2]}


def functions() -> Any:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, SCHEMA, {"id": 8})
    rows = spark.createDataFrame([(b'{"id": 7}', buffer.getvalue())], "json binary, avro binary")
    [row] = rows.select(
        json_body("id long", "json").alias("json"), avro_body(SCHEMA, "avro").alias("avro")
    ).collect()
    bad = spark.createDataFrame([(b'{"id": "x", "cents": 3}',), (b"no json",)], "body binary")
    told = json_body("id long, cents long", reason="why").alias("told")
    try:
        bad.select(json_body("id long", mode="strict")).collect()
        failed = ""
    except PySparkException as problem:
        failed = str(problem)
    own = read("connect-read").select(own_properties().alias("own")).where("own['n'] = '3'").collect()
    doubled = read("connect-read").union(read("connect-read"))
    return {
        "json": row.json.asDict(),
        "bad_json": [row.told.asDict() for row in bad.select(told).collect()],
        "strict_json": failed,
        "avro": row.avro.asDict(),
        "own": [each.own for each in own],
        "once": numbers(drop_doubles(doubled)),
    }


def refused() -> Any:
    try:
        read("connect-read", colour="red").count()
    except PySparkException as problem:
        return [type(problem).__name__, str(problem)]
    return None


def job() -> Any:
    found = search(spark, Search(source=source("connect-read"), sql="text = '3'"))
    return [row["text"] for row in found.rows]


def lag() -> Any:
    told: list[Any] = []
    ended = threading.Event()

    class Ended(LagListener):
        def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
            ended.set()

    listener = Ended(lambda lag: told.append([lag.query, lag.total]))
    spark.streams.addListener(listener)
    frame = spark.readStream.format("mqframe").options(**source("connect-read")).load()
    writer = (
        frame.writeStream.format("noop").queryName("lags").option("checkpointLocation", str(FOLDER / "lag"))
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    # Spark's client holds the lock of its listeners while it waits for their thread, which needs it for each
    # event: a listener that is removed before the last one came would be waited for for ever.
    ended.wait(60)
    spark.streams.removeListener(listener)
    return told


def outcome(part: Callable[[], Any]) -> Any:
    try:
        return part()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"[:3000]


PARTS = (batch, stream, sink, stream_sink, table, functions, refused, job, lag)
print(json.dumps({part.__name__: outcome(part) for part in PARTS}), flush=True)
spark.stop()
