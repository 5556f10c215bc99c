import struct

from mqframe_delay.store.checkpoint import TimerCheckpoint


def test_a_checkpoint_byte_for_byte(tmp_path):
    path = tmp_path / "config" / "timercheck"
    checkpoint = TimerCheckpoint(path)
    assert (checkpoint.exists, checkpoint.read_time, checkpoint.queue_offset) == (False, 0, 0)
    checkpoint.advance(5000, 104, 2, 77)
    checkpoint.save(checkpoint.encode())
    raw = path.read_bytes()
    assert len(raw) == 4096
    assert struct.unpack_from(">qqqqqqq", raw) == (5000, 104, 2, 2, 0, 77, 1)
    again = TimerCheckpoint(path)
    assert again.exists
    assert again.encode() == checkpoint.encode()


def test_the_version_grows_with_what_it_says(tmp_path):
    checkpoint = TimerCheckpoint(tmp_path / "timercheck")
    checkpoint.advance(5000, 104, 2, 1)
    checkpoint.advance(5000, 156, 2, 2)
    assert (checkpoint.counter, checkpoint.timestamp, checkpoint.position) == (1, 1, 156)
    checkpoint.advance(6000, 156, 2, 3)
    assert (checkpoint.counter, checkpoint.timestamp) == (2, 3)
