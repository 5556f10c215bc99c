from types import SimpleNamespace

from mqframe_metrics.serving.health import Readiness


def part(*, registered=True, refusal=""):
    return SimpleNamespace(is_registered=registered, refusal=refusal)


def test_nothing_is_ready_before_all_have_started():
    readiness = Readiness(("nameserver", "broker"))
    readiness.started("nameserver")
    health = readiness.health(1, 200)
    assert (health.ready, health.waits_for) == (False, ["broker has not started"])
    readiness.started("broker", part())
    assert readiness.health(1, 200).ready


def test_a_broker_that_no_name_server_knows_is_not_ready():
    readiness = Readiness(("broker",))
    broker = part(registered=False)
    readiness.started("broker", broker)
    assert readiness.health(1, 200).waits_for == ["no name server knows broker"]
    broker.is_registered = True
    assert readiness.health(1, 200).ready


def test_a_slow_loop_and_a_full_disk_are_told_and_it_stays_ready():
    readiness = Readiness(("broker",))
    readiness.started("broker", part(refusal="the disk is full"))
    health = readiness.health(200, 200)
    assert (health.ready, health.overloaded, health.refuses) == (True, True, "the disk is full")
    assert not readiness.health(199, 200).overloaded


def test_what_a_server_does_before_it_has_started_is_told():
    readiness = Readiness(("nameserver", "broker"))
    done = [7]
    readiness.starting("broker", lambda: f"{done[0]} of 9 files are read")
    missing = readiness.health(1, 200).waits_for
    assert missing == ["nameserver has not started", "broker has not started: 7 of 9 files are read"]
    done[0] = 8
    assert readiness.health(1, 200).waits_for[1] == "broker has not started: 8 of 9 files are read"
    readiness.started("nameserver")
    readiness.started("broker")
    assert readiness.health(1, 200).waits_for == []
