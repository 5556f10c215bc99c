"""Progress is kept by brokers, older at the target than at the source."""

from __future__ import annotations

from mirror_scenes import MirrorScene

GROUP = "mirror-tokyo-berlin"


def kept(cluster) -> int | None:
    found: int | None = cluster.cluster.broker.service_port.offsets.query(GROUP, "orders", 0)
    return found


async def test_the_source_has_what_is_copied_and_the_target_what_was_a_while_ago() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0", b"1")
        mirror = await scene.begin(commit_seconds=1.0, margin_seconds=600.0)
        await scene.copied(mirror)
        await scene.pass_time(2)
        assert (kept(scene.tokyo), kept(scene.berlin)) == (2, None)
        await scene.until(lambda: kept(scene.berlin) == 2, 2000.0, step=5.0)
        await scene.tokyo.send("orders", b"2")
        await scene.copied(mirror)
        await scene.pass_time(2)
        assert (kept(scene.tokyo), kept(scene.berlin)) == (3, 2)
        await scene.until(lambda: kept(scene.berlin) == 3, 2000.0, step=5.0)


async def test_an_end_in_good_order_commits() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0", b"1")
        await scene.copy_once(commit_seconds=1000.0)
        assert kept(scene.tokyo) == 2


async def test_brokers_that_forgot_the_group_or_its_offsets_hear_of_it_again() -> None:
    from mqframe import AsyncAdmin

    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0", b"1")
        mirror = await scene.begin(commit_seconds=1.0)
        await scene.copied(mirror)
        await scene.until(lambda: kept(scene.tokyo) == 2)
        admin = await scene.tokyo.open(AsyncAdmin(nameserver=scene.tokyo.nameserver, clock=scene.clock))
        await scene.finish(admin.groups.delete(GROUP, clean_offsets=True))
        await scene.until(lambda: kept(scene.tokyo) == 2)


async def test_a_broker_that_is_away_is_no_error() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0")
        mirror = await scene.begin(commit_seconds=1.0)
        await scene.copied(mirror)
        await scene.tokyo.cluster.stop_broker()
        await scene.pass_time(5)
        await scene.tokyo.cluster.start_broker()
        await scene.tokyo.send("orders", b"1")
        await scene.copied(mirror)
        await scene.until(lambda: kept(scene.tokyo) == 2)
