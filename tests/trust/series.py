"""Series of cases that follow from seeds: how many are run, and what is told of those that fail."""

from __future__ import annotations

import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Generator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from trust.checks import Broken

EXAMPLES: Final = 3


class Case(NamedTuple):
    """Something to try: `run` raises `Broken`, in a folder of its own. `seed` and `name` tell which it is."""

    seed: int
    name: str
    run: Callable[[Path], None]


Cases = Generator[Case, None, None]
"""Cases without an end; to be closed."""


def wanted(config: pytest.Config, usual: int) -> tuple[int, int]:
    """The first seed and the number of cases of a long series, as the command line says, or `usual` ones."""
    return config.getoption("seed"), config.getoption("cases") or usual


def try_all(cases: Cases, count: int, directory: Path, known: Collection[str] = frozenset()) -> None:
    """Run the first `count` cases; fails with examples of each kind of failure, and how to see one again.

    `known`: kinds that nobody has mended yet; where there are no others the test is an expected failure.
    """
    failures: dict[str, list[str]] = defaultdict(list)
    tried = 0
    logging.getLogger("mqframe").propagate = False  # thousands of lines that the damage was told
    with closing(cases):
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
    if set(failures) - set(known):
        pytest.fail("\n".join(told), pytrace=False)
    if failures:
        pytest.xfail("\n".join(told))
