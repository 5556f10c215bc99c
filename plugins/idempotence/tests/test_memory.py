from mqframe_idempotence import MemoryStore, Once
from mqframe_idempotence.counts import Counted
from mqframe_idempotence.stores import Claim
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock


def test_keys_are_known_for_their_time() -> None:
    clock = ManualClock()
    once = Once(MemoryStore(keep_seconds=60, now_ms=clock.now_ms), "billing")
    calls: list[int] = []
    handle = once.handler(lambda message: calls.append(message.queue_offset))
    for seconds in (0, 59, 1):
        clock.advance(seconds)
        handle(received(0, UNIQ_KEY="u"))
    assert calls == [0, 0]
    assert once.counts.snapshot() == Counted(effects=2, duplicates=1)


def test_what_is_not_finished_is_given_up() -> None:
    store = MemoryStore()
    first, second = store.open("s"), store.open("s")
    assert first.claim(["a", "b"]) == {"a": Claim.NEW, "b": Claim.NEW}
    assert second.claim(["a", "b"]) == {"a": Claim.BUSY, "b": Claim.BUSY}
    assert first.finish(["a"]) == 0
    third = store.open("s")
    assert third.claim(["a", "b"]) == {"a": Claim.DONE, "b": Claim.NEW}
    third.give_up()
    third.close()
    assert len(store) == 1
