from mqframe_delay.rules.timer_layout import (
    BLANK,
    BLANK_MAGIC,
    CHECKPOINT,
    SLOT,
    SLOTS,
    UNIT,
    Unit,
    decode_unit,
    is_blank,
)


def test_sizes_are_those_of_the_reference():
    assert (SLOT.size, UNIT.size, BLANK.size, CHECKPOINT.size) == (32, 52, 16, 56)
    assert SLOTS * SLOT.size == 38_707_200
    assert BLANK_MAGIC & 0xFFFFFFFF == 0xCBD43194


def test_a_unit_byte_for_byte():
    unit = Unit(104, 3, 1_700_000_000_000, 1_700_000_086_400, 0x0102030405, 300, -5)
    raw = unit.encode()
    assert raw.hex() == (
        "00000034" "0000000000000068" "00000003" "0000018bcfe56800" "00015180" "0000000102030405"
        "0000012c" "fffffffb" "0000000000000000"
    )  # fmt: skip
    assert decode_unit(raw) == unit
    assert decode_unit(b"xy" + raw, 2) == unit


def test_what_is_no_unit():
    raw = Unit(-1, 1, 0, 0, 0, 1).encode()
    assert decode_unit(raw[:51]) is None
    assert decode_unit(bytes(52)) is None
    assert decode_unit(raw[:12] + b"\0\0\0\x10" + raw[16:]) is None
    blank = BLANK.pack(60, 0, BLANK_MAGIC)
    assert is_blank(blank, 0)
    assert not is_blank(raw, 0)
    assert not is_blank(blank[:15], 0)


def test_what_a_unit_is_for():
    kinds = {
        magic: (unit.rolls, unit.recalls) for magic in (1, 3, 5, 7) if (unit := Unit(-1, magic, 0, 0, 0, 1))
    }
    assert kinds == {1: (False, False), 3: (True, False), 5: (False, True), 7: (True, False)}
