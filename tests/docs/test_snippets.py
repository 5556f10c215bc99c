"""Each Python block of the documentation can be pasted alone; the root `conftest.py` runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?: *```|<!--+ invisible-code-block: )python\n(.*?)^ *(?:```|--+>)", re.MULTILINE | re.DOTALL
)
ONCE = re.compile(r"<!-- once: (.*?)-->")
ONCE_MAX = 9


def pages() -> list[Path]:
    """All pages whose blocks are run."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("packages/*/README.md")]
    found += ROOT.glob("plugins/*/README.md")
    found += [page for page in ROOT.glob("docs/**/*.md") if "_build" not in page.parts]
    return sorted(found)


def place(page: Path, text: str, at: int) -> str:
    return f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, at) + 1}"


def blocks() -> dict[str, str]:
    """The source of each Python block, by its place."""
    found = {}
    for page in pages():
        text = page.read_text("utf-8")
        found |= {place(page, text, block.start(1)): block[1] for block in BLOCK.finditer(text)}
    return found


def problems(sources: dict[str, str], folder: Path) -> list[str]:
    """What is undefined, imported in vain or no Python in each of `sources`."""
    for number, source in enumerate(sources.values()):
        (folder / f"block{number}.py").write_text(source, "utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F"]
    command += ["--output-format", "json", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode in (0, 1), result.stderr
    places = list(sources)
    found = []
    for problem in json.loads(result.stdout):
        number = int(Path(problem["filename"]).stem.removeprefix("block"))
        line = problem["location"]["row"]
        found.append(f"{places[number]}, line {line} of the block: {problem['message']}")
    return found


def test_every_python_block_imports_or_defines_what_it_uses(tmp_path: Path) -> None:
    found = blocks()
    assert len(found) > 100
    assert problems(found, tmp_path) == []


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("producer.send(b'')\n", "producer"),
        ("def send():\n    return Message('orders', b'')\n", "Message"),
        ("import time\n", "time"),
        ("if True\n    pass\n", "Expected"),
    ],
)
def test_a_block_that_leans_on_another_is_named(source: str, word: str, tmp_path: Path) -> None:
    (found,) = problems({"docs/page.md:7": source}, tmp_path)
    assert found.startswith("docs/page.md:7, line ")
    assert word in found


def test_python_blocks_run_again_after_all_have_run() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "--twice",
        "docs/howto/pop.md",
        "docs/tutorial.md",
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout
    found = re.findall(r"^(\S+\.md)::(sybil:again,)?line:(\d+)", result.stdout, re.MULTILINE)
    for name in ("docs/howto/pop.md", "docs/tutorial.md"):
        text = (ROOT / name).read_text("utf-8")
        python = [text.count("\n", 0, block.start()) + 1 for block in BLOCK.finditer(text)]
        runs = [(bool(again), int(line)) for page, again, line in found if page == name]
        assert runs == sorted(runs)
        assert [line for again, line in runs if again] == python
        assert [line for again, line in runs if not again and line in python] == python


def test_what_runs_only_once_says_why_and_is_rare() -> None:
    marks = {}
    for page in pages():
        text = page.read_text("utf-8")
        marks |= {place(page, text, mark.start()): mark[1] for mark in ONCE.finditer(text)}
    for where, words in marks.items():
        assert re.fullmatch(r'(?:page )?"[^"]+" ', words), where
    assert len(marks) <= ONCE_MAX
