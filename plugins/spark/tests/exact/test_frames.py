"""Frames that a real Spark writes exactly once."""

from collections import Counter
from pathlib import Path

import pytest


@pytest.mark.timeout(300)
def test_a_frame(spark, query, tmp_path: Path) -> None:
    frame = spark.range(300).selectExpr(
        "concat('row ', id) as value",
        "if(id % 3 = 0, 'paid', 'orders') as topic",
        "concat('c', id % 5) as sharding_key",
    )
    query.cluster.create_topic("paid", 2)
    options = {
        "nameserver": query.given["nameserver"],
        "exactlyOnce": "true",
        "commitPath": str(tmp_path / "commits"),
        "queryName": "load-1",
    }
    for _ in range(2):
        frame.repartition(3).write.format("mqframe").mode("append").options(**options).save()
    orders = query.bodies()
    query.topic = "paid"
    assert orders == Counter(b"row %d" % number for number in range(300) if number % 3)
    assert query.bodies() == Counter(b"row %d" % number for number in range(0, 300, 3))
    del options["commitPath"]
    with pytest.raises(Exception, match="exactlyOnce = 'true' of a batch needs option commitPath"):
        frame.write.format("mqframe").mode("append").options(**options).save()


def test_a_frame_of_which_a_row_is_bad_leaves_nothing(spark, query, tmp_path: Path) -> None:
    frame = spark.range(300).selectExpr("if(id = 299, null, concat('row ', id)) as body")
    options = {
        "nameserver": query.given["nameserver"],
        "topic": query.topic,
        "exactlyOnce": "true",
        "commitPath": str(tmp_path / "commits"),
    }
    with pytest.raises(Exception, match="row 299"):
        frame.coalesce(1).write.format("mqframe").mode("append").options(**options).save()
    assert query.bodies() == Counter()
