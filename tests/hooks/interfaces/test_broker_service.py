from __future__ import annotations

from mqframe.hooks.interfaces import BrokerService


def test_a_service_that_implements_nothing_serves_by_itself_and_asks_for_nothing() -> None:
    service = BrokerService()
    assert list(service.serving()) == [service]
    assert [list(service.periodic()), list(service.send_rules()), list(service.tables())] == [[], [], []]
    assert (dict(service.arrivals()), dict(service.counters())) == ({}, {})


async def test_it_can_be_started_and_ended_either_way() -> None:
    async def life(service: BrokerService) -> None:
        await service.start()
        await service.stop()
        service.abandon()

    await life(BrokerService())
