import pytest
from mqframe_spark.sink import task_facts
from mqframe_spark.sink.task_facts import BATCH_ID, QUERY_ID, partition, told

from mqframe.core.errors import FixError


class Task:
    """What Spark says in a task."""

    said = {QUERY_ID: "q-1"}

    @classmethod
    def get(cls) -> type["Task"]:
        return cls

    @staticmethod
    def partitionId() -> int:
        return 7

    @classmethod
    def getLocalProperty(cls, name: str) -> str | None:
        return cls.said.get(name)


def test_in_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_facts, "TaskContext", Task)
    assert (partition(), told(QUERY_ID, "exactlyOnce")) == (7, "q-1")
    with pytest.raises(FixError, match=f"exactlyOnce = 'true': Spark does not tell its tasks {BATCH_ID}"):
        told(BATCH_ID, "exactlyOnce")


def test_outside_of_spark() -> None:
    assert partition() == 0
    with pytest.raises(FixError, match="option idempotenceKeys"):
        told(QUERY_ID, "idempotenceKeys")
