from mqframe_lagaware.snapshot import LagSnapshot, Note
from mqframe_lagaware.topic_state import TopicState
from mqframe_testing.manual_clock import ManualClock


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.state = TopicState("orders", 30.0, self.clock)

    def snapshot(self, epoch: int, in_seconds: float, publisher: str = "a") -> LagSnapshot:
        now = self.clock.now_ms()
        return LagSnapshot(
            epoch=epoch,
            publisher=publisher,
            taken_ms=now,
            from_ms=now + int(in_seconds * 1000),
            queue_cost=1,
            threshold=0.25,
            lags={},
            owners={},
        )

    def in_force(self) -> int | None:
        self.state.advance()
        return None if self.state.in_force is None else self.state.in_force.epoch


def test_a_snapshot_counts_from_its_time_on_and_the_one_before_until_then() -> None:
    world = World()
    one, two = world.snapshot(1, -100), world.snapshot(2, 20)
    assert world.state.see([Note((one, two)).text()]) is None
    assert (world.in_force(), world.state.advance()) == (1, 20.0)
    world.clock.advance(19.5)
    assert (world.in_force(), world.state.advance()) == (1, 0.5)
    world.clock.advance(0.5)
    assert (world.in_force(), world.state.advance()) == (2, None)


def test_a_time_far_ahead_counts_when_the_lead_is_over_and_a_clock_set_back_takes_nothing_away() -> None:
    world = World()
    world.state.see([Note((world.snapshot(1, 3600),)).text()])
    assert (world.in_force(), world.state.advance()) == (None, 30.0)
    world.clock.advance(30)
    assert world.in_force() == 1
    world.clock.jump(-7200)
    assert world.in_force() == 1


def test_of_several_name_servers_the_newest_note_wins_and_the_others_are_told() -> None:
    world = World()
    old, new = Note((world.snapshot(4, -1),)).text(), Note((world.snapshot(5, -1),)).text()
    assert world.state.see([old, new, ""]) == new
    assert world.in_force() == 5
    assert world.state.see([new, new]) is None
    assert world.state.see(["", "{"]) == new
    assert world.state.see([old]) == new
    assert world.in_force() == 5


def test_of_the_same_epoch_the_one_that_is_kept_now_counts() -> None:
    world = World()
    mine = Note((world.snapshot(1, 10, "b"),))
    world.state.keep(mine)
    world.clock.advance(4)
    other = Note((world.snapshot(1, 10, "a"),))
    world.state.see([other.text()])
    assert world.state.note == other
    assert world.state.unchanged_seconds() == 0
    # Two name servers that keep different ones: all members prefer the same.
    assert world.state.see([other.text(), mine.text()]) == mine.text()


def test_how_long_nothing_changed() -> None:
    world = World()
    world.clock.advance(7)
    assert world.state.unchanged_seconds() == 7
    note = Note((world.snapshot(1, 0),))
    world.state.keep(note)
    world.clock.advance(3)
    world.state.see([note.text()])
    assert world.state.unchanged_seconds() == 3
    world.state.nothing_new()
    assert world.state.unchanged_seconds() == 0
