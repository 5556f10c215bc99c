"""Values at the edges: names, numbers and texts that a stranger may put into any field."""

from __future__ import annotations

from random import Random

TOPICS = ("fuzz-a", "fuzz-b", "fuzz-c")
GROUPS = ("fuzz-g", "fuzz-h")
SYSTEM_NAMES = (
    "TBW102",
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "BenchmarkTest",
    "OFFSET_MOVED_EVENT",
    "rmq_sys_wheel_timer",
    "rmq_sys_REVIVE_LOG_DefaultCluster",
    "rmq_sys_SYNC_BROKER_MEMBER_broker-a",
    "DefaultCluster_REPLY_TOPIC",
    "DefaultCluster",
    "broker-a",
    "CID_RMQ_SYS_TRANS",
    "TOOLS_CONSUMER",
    "CID_ONSAPI_OWNER",
)
ODD_NAMES = (
    "",
    " ",
    ".",
    "..",
    "../..",
    "../config",
    "../../escape",
    "a/b",
    "a\\b",
    "a\x00b",
    "a\nb",
    "a@b",
    "a@b@c",
    "%",
    "%%RETRY%%",
    "|",
    "ü",
    "\U0001f600",
    "\u202etopic",
    "t" * 127,
    "t" * 128,
    "t" * 255,
    "t" * 256,
    "t" * 300,
    "ü" * 200,
    "n" * 5000,
    "x" * 40_000,
    "%RETRY%",
    "%RETRY%..",
    "%RETRY%fuzz-g",
    "%RETRY%fuzz-g_fuzz-a",
    "%RETRY%fuzz-g+fuzz-a",
    "%RETRY%%RETRY%fuzz-g",
    "%DLQ%fuzz-g",
    "%DLQ%../x",
    "%RETRY%" + "g" * 250,
    "null",
    "0",
    "-1",
    "*",
)
NUMBERS = (
    0, 1, -1, 2, 3, 7, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 999, 1000, 1024, 4096, 32767, 32768, 65535,
    65536, 10**6, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**53, 10**12, 2**62, 2**63 - 1, 2**63,
    -(2**63), -(2**63) - 1, 2**64, 10**20,
)  # fmt: skip
NUMBER_TEXTS = (
    "", " ", "1.5", "1e3", "1e400", "NaN", "Infinity", "-0", "+1", " 1", "1 ", "0x10", "1_000", "١", "true",
    "null", "None", "1" * 400, "1" * 5000, "-", "１",
)  # fmt: skip
TEXTS = (
    "", " ", "*", "a || b", "null", "{}", "[]", "\x00", "\x01", "\x02", "a\x01b\x02", "\x01\x02\x01\x02",
    "ü\U0001f600", "%s%n", "'; --", "${x}", "a,b,,c", ";;;", "1 2 3", "0 0 0 0 0 broker-a 0 0", "\r\n", "=",
    "x" * 1000, "y" * 33_000, "||" * 500, " " * 2000,
)  # fmt: skip
EXPRESSIONS = (
    "*", "a", "a || b", "a||b||c", "", "||", "a IS NOT NULL", "a > 1 AND b < 2", "a BETWEEN 1 AND 2",
    "a IN ('x','y')", "a = 'x' OR NOT (b = 1.5e300)", "(" * 200 + "a" + ")" * 200, "NOT " * 500 + "a",
    "a = 1 AND " * 300 + "a = 1", "a IN (" + ",".join("'x'" for _ in range(500)) + ")", "a LIKE '%x%'",
    "1 = 1", "TRUE", "a = '" + "x" * 3000 + "'", "a >< b", "é = 1", "a CONTAINS 'x'", "-" * 3000 + "1 = 1",
)  # fmt: skip


def flip(chance: Random, share: float) -> bool:
    """True for about `share` of the calls."""
    return chance.random() < share


def topic(chance: Random, odd: float) -> str:
    """A topic that exists, a system's, or a name that none should have."""
    return _name(chance, TOPICS, odd)


def group(chance: Random, odd: float) -> str:
    """A group; of what others use none."""
    return _name(chance, GROUPS, odd)


def _name(chance: Random, usual: tuple[str, ...], odd: float) -> str:
    if not flip(chance, odd):
        return chance.choice(usual)
    which = chance.random()
    if which < 0.4:
        return chance.choice(SYSTEM_NAMES)
    if which < 0.9:
        return chance.choice(ODD_NAMES)
    return chance.choice(usual) + chance.choice(ODD_NAMES)


def number(chance: Random) -> int:
    """A number at an edge, or next to one."""
    value = chance.choice(NUMBERS)
    return value + chance.choice((0, 0, 0, 1, -1))


def number_text(chance: Random) -> str:
    """What stands where a number is wanted."""
    return chance.choice(NUMBER_TEXTS) if flip(chance, 0.3) else str(number(chance))


def text(chance: Random) -> str:
    """Any text."""
    return chance.choice(TEXTS + ODD_NAMES)


def some_bytes(chance: Random) -> bytes:
    """A body: empty, small, of odd bytes, or large."""
    return chance.choice(
        (
            b"",
            b"x",
            b"\x00" * 9,
            chance.randbytes(chance.randrange(1, 300)),
            b"[" * 200,
            b"{" * 70_000,
            b"x" * 70_000,
        )
    )
