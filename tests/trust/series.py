"""Series of cases that follow from seeds: how many are run, and what is told of those that fail."""

from __future__ import annotations

import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from trust.checks import Broken

EXAMPLES: Final = 3
CASES_BEFORE_A_RELEASE: Final = 10_000


class Case(NamedTuple):
    """Something to try. `seed` and `name` tell it from others; `run` raises `Broken`, in a folder of its own."""

    seed: int
    name: str
    run: Callable[[Path], None]


def wanted(config: pytest.Config) -> tuple[int, int]:
    """The first seed and the number of cases of a long series, as the command line says."""
    return config.getoption("seed"), config.getoption("cases") or CASES_BEFORE_A_RELEASE


def try_all(cases: Iterator[Case], count: int, directory: Path) -> None:
    """Run the first `count` cases; fails with examples of each kind of failure, and how to see one again."""
    failures: dict[str, list[str]] = defaultdict(list)
    tried = 0
    logging.getLogger("mqframe").propagate = False  # thousands of lines that the damage was told
    for case in islice(cases, count):
        tried += 1
        place = directory / "case"
        try:
            case.run(place)
        except Broken as broken:
            failures[broken.kind].append(f"--seed {case.seed}, {case.name}: {broken}")
        shutil.rmtree(place, ignore_errors=True)
    logging.getLogger("mqframe").propagate = True
    assert tried == count
    told = [
        f"{kind}: {len(each)} of {tried}\n  " + "\n  ".join(each[:EXAMPLES])
        for kind, each in sorted(failures.items())
    ]
    if told:
        pytest.fail("\n".join(told), pytrace=False)
