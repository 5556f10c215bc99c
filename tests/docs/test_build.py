"""The documentation builds without a warning, offline, and tells everything that there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from mqframe_cli.built_in import COMMANDS
from mqframe_cli.settings.configuration import settings_class
from request_kinds import ROCKETMQ_S

import mqframe
from mqframe.core.config.programs import ALL_SECTIONS
from mqframe.hooks.kinds import KINDS
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS
from mqframe.hooks.sections import added_sections

ROOT = Path(__file__).parents[2]
BELOW = ("schedule create", "spark run", "spark drain", "spark republish-dlq")
OF_PLUGINS = [name for kind, name in KNOWN_DISTRIBUTIONS if kind == "command"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-d", str(target / "doctrees"), str(ROOT / "docs"), str(target / "html")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stderr
    return target / "html"


def test_every_setting_is_in_the_reference(site: Path) -> None:
    text = (site / "reference/settings.html").read_text().replace("<wbr>", "")
    for section in {*ALL_SECTIONS, *added_sections()}:
        for field in attrs.fields(settings_class(section)):
            assert field.metadata["doc"], f"{section}.{field.name} has no doc"
            assert f">{field.name}<" in text


def test_every_option_of_spark_is_in_the_reference() -> None:
    options = pytest.importorskip("mqframe_spark.source.options", reason="the Spark plugin is not installed")
    from mqframe_spark.lake.parquet_options import ParquetOptions
    from mqframe_spark.records.schema import ARROW_SCHEMA
    from mqframe_spark.sink.options import SINK_NAMES

    text = (ROOT / "docs/reference/spark.md").read_text()
    spark_s_own = {"checkpointLocation"}
    names = {*options.NAMES, *SINK_NAMES, *ARROW_SCHEMA.names} - spark_s_own
    names |= {field.name for field in attrs.fields(ParquetOptions)}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_every_request_kind_is_in_the_reference(site: Path) -> None:
    text = (site / "reference/requests.html").read_text().replace("<wbr>", "")
    for code, kind in ROCKETMQ_S.items():
        assert f"<p>{code}</p>" in text
        assert kind.__name__ in text
    assert "CreateSchedule" in text  # of a plugin


def test_marks_for_what_is_generated_are_filled(site: Path) -> None:
    pages = sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
    marked = [page for page in pages if re.search(r"^\{\w+\}$", page.read_text("utf-8"), re.MULTILINE)]
    assert len(marked) > 4
    for page in marked:
        built = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text()
        assert not re.search(r"<p>\{\w+\}</p>", built), page


def test_every_command_is_in_the_reference(site: Path) -> None:
    text = (site / "reference/cli.html").read_text()
    for name in (
        *COMMANDS,
        *OF_PLUGINS,
        "schedule create",
        "spark run",
        "spark drain",
        "spark republish-dlq",
    ):
        assert f"mqframe {name}" in text


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = "".join(path.read_text() for path in (site / "reference").glob("*.html"))
    documented = set(re.findall(r'<dt [^>]*id="(?:[\w.]+\.)?(\w+)"|<span class="pre">(\w+)<', pages))
    documented = {name for names in documented for name in names}
    assert [name for name in mqframe.__all__ if not name.startswith("_") and name not in documented] == []


def test_every_kind_of_plugin_has_a_page_and_an_interface(site: Path) -> None:
    interfaces = (site / "reference/hooks.html").read_text()
    for kind in KINDS.values():
        page = {"allocation": "allocation", "command": "command"}.get(kind.name, kind.name)
        assert (site / f"howto/{page}.html").exists()
        if kind.interface is not None:
            assert kind.interface.__name__ in interfaces
        assert kind.hook in interfaces


def test_links_to_files_in_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_ci_runs_the_command_of_the_readme() -> None:
    command = (ROOT / ".ci/run").read_text().strip().splitlines()[-1]
    assert command in (ROOT / "README.md").read_text()
