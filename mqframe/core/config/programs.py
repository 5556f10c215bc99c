"""The sections of a configuration, and which program has which. One file may hold those of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CLIENT: Final = "client"
STANDARD_SERVICES: Final = (
    "transactions", "delay_levels", "delay", "pop", "request_reply", "admin", "index", "assignment",
    "speedups",
)  # fmt: skip
"""The services that a broker runs wherever they are installed, unless they are left out, in their order:

transactions come first, for they complete a commit that a crash cut off, and that has to be what the log ends
with; pop asks the timer how far it is."""
PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("nameserver", "broker", "store", "access", "net", "monitoring"),
    "nameserver": ("nameserver", "access", "net", "monitoring"),
    "broker": ("broker", "store", "access", "net", "monitoring"),
    "proxy": ("client", "access", "net", "monitoring"),
    CLIENT: ("client", "net", "producer", "consumer", "admin"),
}
"""The sections of each program, but those of plugins; `client`: programs with clients `from_config`."""
PARTS: Final[Mapping[str, tuple[str, ...]]] = {"server": ("nameserver", "broker")}
"""Programs that are made of several others."""
ALL_SECTIONS: Final = frozenset(section for sections in PROGRAMS.values() for section in sections)


def others_of(program: str) -> frozenset[str]:
    """The sections of other programs, which `program` passes over."""
    return ALL_SECTIONS.difference(PROGRAMS[program])
