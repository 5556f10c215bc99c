"""Which program has which sections."""

from __future__ import annotations

from mqframe.core.config.programs import ALL_SECTIONS, CLIENT, PROGRAMS, WITH_PROFILES, others_of


def test_each_program_passes_over_what_the_others_have() -> None:
    for program, sections in PROGRAMS.items():
        assert others_of(program) | set(sections) == ALL_SECTIONS
        assert others_of(program).isdisjoint(sections)


def test_clients_have_profiles_where_there_may_be_several_of_a_kind() -> None:
    assert {"producer", "consumer", "admin"} == WITH_PROFILES
    assert set(PROGRAMS[CLIENT]) > WITH_PROFILES
