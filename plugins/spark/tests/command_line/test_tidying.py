"""`mqframe spark compact` and `vacuum`: through all of it, in each format."""

import json
import os
import sys
from pathlib import Path

import pytest
from mqframe_spark.command_line.app import app
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "lake"))

from lake_log import Log, Written, delta_rows, iceberg_rows, stored

ROWS = {"parquet": stored, "delta": delta_rows, "iceberg": iceberg_rows}
LIBRARIES = {"parquet": "pyarrow", "delta": "deltalake", "iceberg": "pyiceberg"}


def run(*words: str):
    return CliRunner().invoke(app, [*words])


@pytest.fixture
def log(store) -> Log:
    """Five messages on each of two days that are over, in two topics."""
    log = Log(store)
    for n in range(20):
        log.add(("orders", "refunds")[n % 2], day=n // 10)
    return log


def written(root: Path, log: Log, **options) -> Written:
    made = Written(root, log, roll_rows=1, **options)
    made.take(0, 20)
    return made


def rows(given: dict[str, list[int]]) -> dict[str, list[int]]:
    return {topic: sorted(offsets) for topic, offsets in given.items()}


@pytest.mark.parametrize("name", ["parquet", "delta", "iceberg"])
def test_small_files_are_put_together_and_told(tmp_path, log, name) -> None:
    pytest.importorskip(LIBRARIES[name])
    written(tmp_path, log, format=name)
    before = rows(ROWS[name](tmp_path))
    dry = run("compact", str(tmp_path / name), "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    told = json.loads(dry.stdout)
    assert [(row["topic"], row["day"], row["small_files"]) for row in told] == [
        (topic, day, 5) for topic in ("orders", "refunds") for day in ("2023-11-14", "2023-11-15")
    ]
    assert "fewer_files" not in told[0]
    done = run("compact", str(tmp_path / name), "--json")
    assert [row["fewer_files"] for row in json.loads(done.stdout)] == [4, 4, 4, 4]
    assert rows(ROWS[name](tmp_path)) == before
    assert run("compact", str(tmp_path / name)).stdout.strip() == "no small files lie together"


def test_tables_of_another_catalog_are_named_by_its_properties(tmp_path, log) -> None:
    pytest.importorskip("pyiceberg")
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/w"}
    written(tmp_path, log, format="iceberg", catalog=catalog, namespace="raw")
    words = [word for pair in catalog.items() for word in ("--catalog", "=".join(pair))]
    done = run("compact", *words, "--namespace", "raw", "--json")
    assert [row["fewer_files"] for row in json.loads(done.stdout)] == [4, 4, 4, 4]


def test_files_that_nothing_needs_are_told_and_then_go(tmp_path, log) -> None:
    written(tmp_path, log)
    left = tmp_path / "parquet/orders/day=2023-11-14/.half.parquet.tmp"
    left.write_bytes(b"x")
    os.utime(left, (0, 0))
    for words in (["--dry-run"], []):
        assert left.exists()
        done = run("vacuum", str(tmp_path / "parquet"), "--json", *words)
        assert json.loads(done.stdout) == [{"file": str(left)}]
    assert not left.exists()
    assert run("vacuum", str(tmp_path / "parquet")).stdout.strip() == "no file is older and not needed"
    assert run("vacuum", str(tmp_path / "parquet"), "--hours", "0.5").exit_code != 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "give either a folder or --catalog"),
        (("{}", "--catalog", "uri=x"), "give either a folder or --catalog"),
        (("{}",), "holds nothing of a dispatcher; name the folder above those of topics"),
        (("{}", "--compression", "lzo"), "--compression lzo: must be one of zstd, snappy, gzip, none"),
        (("--catalog", "uri"), "--catalog uri: must be written key=value"),
    ],
)
def test_what_cannot_work_is_named(tmp_path, words, problem) -> None:
    done = run("compact", *(word.format(tmp_path) for word in words))
    assert done.exit_code != 0
    assert problem in f"{done.output}{done.exception}"
