"""What a local Spark says on standard error: nothing while all is well, everything else whole."""

import subprocess
import sys
import textwrap
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_spark.starting import Sieve

BANNER = b"""\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).
26/11/24 00:13:24 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using
"""
LEFT = b"""\
Traceback (most recent call last):
  File "/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
  File "/lib/pyspark.zip/pyspark/daemon.py", line 95, in worker
BrokenPipeError: [Errno 32] Broken pipe
"""
NEWS = b"""\
26/11/24 00:13:24 WARN NativeCodeLoader of mine
Traceback (most recent call last):
  File "/lib/pyspark.zip/pyspark/daemon.py", line 264, in manager
Traceback (most recent call last):
  File "job.py", line 1, in <module>
    1 / 0
ZeroDivisionError: division by zero
    at the end
"""
PARTS = [LEFT, NEWS, b"[Stage 1:> (0 + 2) / 4]\r", "größer\n".encode(), b"Trace", b"\n"]
STORY = """
    import pandas  # noqa: F401  # Spark has a word to say about its version
    from mqframe import Message, Producer
    from mqframe_testing import Cluster
    from mqframe_spark import local_session
    import pyspark

    with Cluster() as cluster:
        cluster.create_topic("orders", queues=4)
        with Producer("shop", nameserver=cluster.nameserver) as producer:
            for number in range(3000):
                producer.submit(Message("orders", b"x" * 100))
            producer.flush()
        spark = local_session("quiet", master="local[2]")
        options = {"nameserver": cluster.nameserver, "topic": "orders"}
        orders = spark.read.format("mqframe").options(**options).load()
        orders.show(3)
        assert len(orders.limit(2).collect()) == len(orders.take(2)) == 2
        assert orders.first() is not None
        assert not orders.isEmpty()
        assert orders.count() == 3000
        worker = spark.sparkContext.parallelize([0], 1).map(lambda _: pyspark.__file__).first()
        assert worker == pyspark.__file__, "compiled anew from an archive of sources"
        spark.stop()
"""


def sifted(pieces: list[bytes], *, begun: bool) -> bytes:
    sieve = Sieve()
    return b"".join([sieve.put(piece, begun=begun) for piece in pieces] + [sieve.end()])


@example([b"[Stage 1:> (0 + 2) / 4]\r", LEFT], [25])
@given(st.lists(st.sampled_from(PARTS), max_size=6), st.lists(st.integers(0, 900), max_size=8))
def test_all_but_left_workers_is_told_however_it_comes(parts: list[bytes], cuts: list[int]) -> None:
    whole = b"".join(parts)
    ends = sorted({min(cut, len(whole)) for cut in cuts} | {0, len(whole)})
    pieces = [whole[at:to] for at, to in pairwise(ends)]
    in_one = sifted([whole], begun=True)
    assert sifted(pieces, begun=True) == in_one
    if b"Trace" not in parts and b"[Stage 1:> (0 + 2) / 4]\r" not in parts:
        assert in_one == b"".join(part for part in parts if part != LEFT)


def test_nothing_is_told_of_a_left_worker_that_was_ended_while_it_spoke() -> None:
    lines = LEFT.splitlines(keepends=True)
    for count in range(len(lines)):
        assert sifted([NEWS, b"".join(lines[:count])], begun=True) == NEWS


def test_the_banner_is_left_out_until_spark_has_begun() -> None:
    assert sifted([BANNER, NEWS], begun=False) == NEWS
    assert sifted([BANNER], begun=True) == BANNER


def test_half_lines_do_not_wait_once_spark_has_begun() -> None:
    sieve = Sieve()
    assert sieve.put(b"[Stage 1:>", begun=True) == b"[Stage 1:>"
    assert sieve.put(b"WARN", begun=False) == b""
    assert sieve.put(b" of mine", begun=True) == b"WARN of mine"


def test_a_session_says_nothing_while_all_is_well(monkeypatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", textwrap.dedent(STORY)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n|") == 4
