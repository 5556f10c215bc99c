"""What an exporter is that implements nothing."""

from __future__ import annotations

from mqframe.hooks.interfaces import Exporter


async def test_one_that_shows_nothing_takes_no_place_and_hears_everything() -> None:
    class Broker:
        is_registered = True
        refusal = ""

        def measure(self) -> None:
            raise AssertionError("nobody asked")

    exporter = Exporter()
    exporter.starting("broker", lambda: "opens its store")
    await exporter.start()
    exporter.broker_started("broker", Broker())
    assert (exporter.addresses, exporter.settings_beside(3)) == ({}, {})
    await exporter.stop()
