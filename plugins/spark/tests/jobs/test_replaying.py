"""Between two moments."""

import pytest
from mqframe_spark.jobs.clusters import Waiting
from mqframe_spark.jobs.replaying import Replay, check_replay, moment_ms, passed

from mqframe import MessageQueue
from mqframe.core.errors import SettingError


def job(**change: str) -> Replay:
    given = {"topic": "t", "into": "u", "begin": "2026-01-01T00:00Z", "end": "2026-01-02T00:00Z", **change}
    return Replay(source={"nameserver": "127.0.0.1:1"}, checkpoint="/cp", **given)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"begin": "soon"}, "--from soon: must be milliseconds"),
        ({"end": "later"}, "--to later: must be milliseconds"),
        ({"end": "2026-01-01T00:00Z"}, "--from 2026-01-01T00:00Z does not come before --to 2026-01-01"),
        ({"into": "t"}, "--into t: is the topic that is to be replayed"),
        ({"rows_at_once": 0}, "--rows-at-once 0: must be 1 to 1000000"),
    ],
)
def test_what_cannot_be_done_is_told_before_anybody_is_asked(change, said) -> None:
    with pytest.raises(SettingError, match=said):
        check_replay(job(**change))


def test_moments_without_a_zone_are_utc() -> None:
    assert moment_ms("--from", "2026-01-01T00:00") == moment_ms("--from", "2026-01-01T01:00+01:00")
    assert moment_ms("--from", "1767225600000") == 1767225600000


def test_enough_is_read_when_every_queue_is_past_its_end() -> None:
    queues = [MessageQueue("t", "a", number) for number in (0, 1)]
    enough = passed([Waiting(queues[0], 2, 5), Waiting(queues[1], 0, 3)])

    def report(**end: int) -> dict:
        return {"sources": [{"endOffset": {"t": {f"a/{name[1:]}": at for name, at in end.items()}}}]}

    assert not enough(report(q0=5, q1=2))
    assert not enough(report(q0=9))
    assert enough(report(q0=5, q1=7, q2=0))
    assert not enough({"sources": []})
