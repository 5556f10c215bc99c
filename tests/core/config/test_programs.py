"""Which program has which sections."""

from __future__ import annotations

from mqframe.core.config.programs import ALL_SECTIONS, PROGRAMS, others_of


def test_each_program_passes_over_what_the_others_have() -> None:
    for program, sections in PROGRAMS.items():
        assert others_of(program) | set(sections) == ALL_SECTIONS
        assert others_of(program).isdisjoint(sections)
