from types import SimpleNamespace

from mqframe.metrics.health import Readiness


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
