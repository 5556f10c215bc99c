"""The distributions: what is in them, and that they install and work apart from this checkout.

Builds with uv (build back ends come from its cache, or from the registry). Installing needs a registry for
what other people publish, so that part runs only where CI or MQFRAME_SLOW is set.
"""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Collection
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from installed import BARE_KERNEL, EVERY_HELP, EVERY_PLUGIN, run, server
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
COMPILED = ROOT / "packages/speedups"
"""What only a machine with a compiler can build: it stands outside of the workspace."""
PROJECTS = [
    ROOT,
    *sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml") if path.parent != COMPILED),
    *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml")),
]
UV = shutil.which("uv")

pytestmark = pytest.mark.skipif(UV is None, reason="uv, which builds the distributions, is not on PATH")

slow = pytest.mark.skipif(
    not (os.environ.get("CI") or os.environ.get("MQFRAME_SLOW")),
    reason="needs a registry; set MQFRAME_SLOW=1",
)


def table(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())


def title(project: Path) -> str:
    return str(table(project)["project"]["name"])


def standard() -> set[str]:
    """What the extra of this name brings to this machine."""
    named = map(Requirement, table(ROOT)["project"]["optional-dependencies"]["standard"])
    return {each.name for each in named if each.marker is None or each.marker.evaluate()}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution of every project."""
    folder = tmp_path_factory.mktemp("dist")
    build = [UV, "build", "--all-packages", "--quiet", "--out-dir", folder]
    offline = subprocess.run([str(word) for word in [*build, "--offline"]], cwd=ROOT, capture_output=True)
    if offline.returncode:
        run(*build, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def links(built: Path, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Options by which pip and uv find all that `standard` names of this repository."""
    if title(COMPILED) not in standard():
        return ["--find-links", built]
    if shutil.which("cargo") is None:
        pytest.skip("cargo, which builds a part of what `standard` brings, is not on PATH")
    folder = tmp_path_factory.mktemp("compiled")
    environment = {"CARGO_TARGET_DIR": str(ROOT / "build/speedups_target"), **os.environ}
    words = [str(UV), "build", "--quiet", "--wheel", "--out-dir", str(folder), str(COMPILED)]
    subprocess.run(words, env=environment, check=True)
    return ["--find-links", built, "--find-links", folder]


def wheel_of(project: Path, built: Path) -> zipfile.ZipFile:
    stem = f"{title(project).replace('-', '_')}-{table(project)['project']['version']}"
    return zipfile.ZipFile(built / f"{stem}-py3-none-any.whl")


def packages_of(project: Path) -> list[Path]:
    names = table(project)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return [project / name for name in names]


@pytest.mark.parametrize("project", PROJECTS, ids=title)
def test_a_wheel_holds_its_packages_and_nothing_else(project: Path, built: Path) -> None:
    with wheel_of(project, built) as wheel:
        got = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(package.parent).as_posix()
        for package in packages_of(project)
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert got == wanted
    for package in packages_of(project):
        assert f"{package.name}/py.typed" in got


@pytest.mark.parametrize("project", PROJECTS, ids=title)
def test_a_wheel_carries_license_readme_and_entry_points(project: Path, built: Path) -> None:
    stated = table(project)["project"]
    with wheel_of(project, built) as wheel:
        info = {name.partition(".dist-info/")[2]: name for name in wheel.namelist() if ".dist-info/" in name}
        assert wheel.read(info["licenses/LICENSE"]) == (project / "LICENSE").read_bytes()
        metadata = Parser().parsestr(wheel.read(info["METADATA"]).decode())
        points = configparser.ConfigParser(delimiters=("=",))
        points.optionxform = str  # type: ignore[assignment,method-assign]
        if "entry_points.txt" in info:
            points.read_string(wheel.read(info["entry_points.txt"]).decode())
    assert (metadata["Name"], metadata["Version"]) == (stated["name"], stated["version"])
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_payload().strip() == (project / "README.md").read_text().strip()
    # Of mqframe's own groups, or of the framework that a plugin is for.
    given = {group: dict(points[group]) for group in points.sections()}
    scripts = {"console_scripts": stated["scripts"]} if "scripts" in stated else {}
    assert given == stated.get("entry-points", {}) | scripts
    if project == ROOT:
        assert given == {}, "the kernel brings no command"


@pytest.mark.parametrize("project", PROJECTS, ids=title)
def test_a_source_distribution_holds_sources_tests_and_license(project: Path, built: Path) -> None:
    stem = f"{title(project).replace('-', '_')}-{table(project)['project']['version']}"
    with tarfile.open(built / f"{stem}.tar.gz") as archive:
        names = {name.removeprefix(f"{stem}/") for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"} <= names
    for package in packages_of(project):
        assert f"{package.relative_to(project).as_posix()}/__init__.py" in names
    tests = {path.relative_to(project).as_posix() for path in (project / "tests").glob("*.py")}
    assert tests <= names
    assert not any("__pycache__" in name or name.startswith(".venv") for name in names)


def test_what_has_to_be_compiled_is_built_by_itself_and_says_how() -> None:
    kernel, own = table(ROOT), table(COMPILED)
    assert kernel["tool"]["uv"]["workspace"]["exclude"] == [COMPILED.relative_to(ROOT).as_posix()]
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    assert title(COMPILED) not in {each["name"] for each in locked}, "a clone needs no compiler"
    assert (COMPILED / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert own["project"]["license"] == "Apache-2.0"
    assert own["project"]["version"] == kernel["project"]["version"]
    # It takes the place of parts of a broker, so it goes with the kernel that it was made for alone.
    assert own["project"]["dependencies"] == [f"mqframe=={kernel['project']['version']}"]

    crate = tomllib.loads((COMPILED / own["tool"]["maturin"]["manifest-path"]).read_text())["package"]
    assert crate["version"] == own["project"]["version"]
    for page in (COMPILED / "README.md", ROOT / "docs/howto/speedups.md"):
        text = page.read_text()
        assert f"pip install ./{COMPILED.relative_to(ROOT).as_posix()}" in text
        assert f"Rust {crate['rust-version']} or newer" in text


@pytest.mark.parametrize(
    ("system", "machine", "python", "is_asked_for"),
    [
        ("linux", "x86_64", "cpython", True),
        ("linux", "aarch64", "cpython", True),
        ("linux", "armv7l", "cpython", False),
        ("linux", "riscv64", "cpython", False),
        ("linux", "x86_64", "pypy", False),
        ("darwin", "x86_64", "cpython", False),
        ("darwin", "arm64", "cpython", False),
        ("win32", "AMD64", "cpython", False),
    ],
)
def test_what_has_to_be_compiled_is_asked_for_where_there_is_a_wheel(
    system: str, machine: str, python: str, is_asked_for: bool
) -> None:
    named = {
        extra: [each for each in map(Requirement, needs) if each.name == title(COMPILED)]
        for extra, needs in table(ROOT)["project"]["optional-dependencies"].items()
    }
    (own,) = named.pop("standard")
    assert not any(named.values())
    assert (str(own.specifier), own.url) == ("", None), "its own pin chooses"
    assert own.marker is not None
    asked = {"sys_platform": system, "platform_machine": machine, "implementation_name": python}
    assert own.marker.evaluate(asked) is is_asked_for


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not on PATH")
def test_compiled_code_is_built_for_every_kind_of_machine(built: Path, tmp_path: Path) -> None:
    run(sys.executable, ROOT / "tools/build_speedups.py", "--out", tmp_path / "dist")
    found = sorted(path.name for path in (tmp_path / "dist").iterdir())
    wheel = "mqframe_speedups-0.1.0-cp311-abi3-"
    assert found == [
        f"{wheel}manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
        f"{wheel}manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        f"{wheel}musllinux_1_2_aarch64.whl",
        f"{wheel}musllinux_1_2_x86_64.whl",
        "mqframe_speedups-0.1.0.tar.gz",
    ]
    venv.create(tmp_path / "env", with_pip=True)
    own = tmp_path / "env/bin"
    links = ["--find-links", built, "--find-links", tmp_path / "dist"]
    run(own / "pip", "install", "-q", *links, "mqframe[standard]", cwd=tmp_path, path=str(own))
    run(own / "pip", "check", cwd=tmp_path, path=str(own))
    (example,) = re.findall(r"```python\n(.*?)\n```", (COMPILED / "README.md").read_text(), re.DOTALL)
    with server("mqframe server --data ./data", tmp_path, str(own)) as address:
        shown = example.replace("127.0.0.1:9876", address)
        counted = run(own / "python", "-c", shown, cwd=tmp_path, path=str(own))
    assert 90 < int(counted) < 100, "all but the first ones"


@pytest.mark.parametrize("project", PROJECTS[1:], ids=title)
def test_a_plugin_s_readme_starts_with_how_to_install_it(project: Path) -> None:
    text = (project / "README.md").read_text()
    assert f"pip install {title(project)}" in text.split("##")[0]


def test_the_kernel_needs_four_things() -> None:
    names = [line.partition(">")[0] for line in table(ROOT)["project"]["dependencies"]]
    assert sorted(names) == ["attrs", "msgspec", "pluggy", "structlog"]


def test_every_plugin_is_in_an_extra_and_in_the_workspace() -> None:
    extras = table(ROOT)["project"]["optional-dependencies"]
    named = {Requirement(each).name for needs in extras.values() for each in needs}
    plugins = {title(project) for project in PROJECTS[1:]}
    assert {name for name in named if name.startswith("mqframe-")} == plugins | {title(COMPILED)}
    assert plugins | {"mqframe"} == set(table(ROOT)["tool"]["uv"]["sources"])


SUBJECTS = tuple(
    f"mqframe-plugin-{name}"
    for name in "assignment delay index metrics pop requestreply trace transactions admin replication".split()
)
"""Distributions of what brokers and clients do: without the command line, each with those before it."""


@pytest.mark.slow
@slow
def test_the_kernel_alone_and_then_with_plugins_works_elsewhere(links: list[object], tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", *links]
    make = (
        "from mqframe.hooks.manager import PluginManager as m\n"
        "try: print(m().create('allocation', 'consistent_hash').wire_name)\n"
        "except Exception as error: print(error)\n"
    )
    run(*install, "mqframe", cwd=tmp_path)
    installed = json.loads(
        run(UV, "pip", "list", "--quiet", "--python", python, "--format", "json", cwd=tmp_path)
    )
    ours = [each["name"] for each in installed if each["name"].startswith("mqframe")]
    assert ours == ["mqframe"]
    said = run(python, "-c", BARE_KERNEL, cwd=tmp_path).splitlines()
    missing = [line.rpartition("pip install ")[2] for line in said if line.startswith("mqframe.")]
    assert missing == [f"mqframe-plugin-{name}" for name in ("pop", "pull", "transactions", "replication")]
    assert said[-1].strip() == "loaded:"
    nothing = subprocess.run([python, "-m", "mqframe"], cwd=tmp_path, capture_output=True, text=True)
    assert (nothing.returncode, 'pip install "mqframe[standard]"' in nothing.stderr) == (2, True)
    assert "pip install mqframe-plugin-consistenthash" in run(python, "-c", make, cwd=tmp_path)

    # Each distribution that was part of the kernel, alone beside it.
    for subject in SUBJECTS:
        run(*install, subject, cwd=tmp_path)
    loaded = run(python, "-c", EVERY_PLUGIN, cwd=tmp_path).splitlines()
    assert {line.split()[0] for line in loaded} == set(SUBJECTS)
    # Commands are run by the command line, and need what it is made of.
    wrong = [line for line in loaded if not line.endswith(" loads")]
    assert [line for line in wrong if "No module named 'typer'" not in line] == []

    run(*install, "mqframe[standard]", "mqframe-plugin-consistenthash", cwd=tmp_path)
    assert run(python, "-c", make, cwd=tmp_path).strip().startswith("CONSISTENT_HASH")
    good = "[i for i in m().installed(options=True) if i.distribution != 'mqframe' and not i.problem]"
    names = f"print(len({good}))"
    brought = {*standard(), "mqframe-plugin-consistenthash"}
    all_of_them = [*PROJECTS, COMPILED]
    stated = [
        table(each)["project"].get("entry-points", {}) for each in all_of_them if title(each) in brought
    ]
    offers = sum(len(each.get("mqframe", {})) for each in stated)
    assert run(python, "-c", make.splitlines()[0] + "\n" + names, cwd=tmp_path).strip() == str(offers)
    assert sys.executable != str(python)


LIGHT = (
    *(f"mqframe-plugin-{name}" for name in ("selectors", "offsetstore", "sql92")),
    *(f"mqframe-plugin-{name}" for name in ("metrics", "storetools")),
    *(f"mqframe-plugin-{name}" for name in ("acl", "dashboard", "etcd", "idempotence", "schedules")),
    *(f"mqframe-plugin-{name}" for name in ("avro", "opentelemetry", "protobuf", "pydantic")),
)
"""Those of `standard`, and all that bring commands or need something, but Spark, Celery, FastStream."""
NEEDS_SERVERS = {"mqframe-plugin-etcd"}
"""Their suites start servers and wait for them, which long runs do once more."""
EVERY = tuple(title(project) for project in PROJECTS[1:])
OF_TESTS = ("pytest", "hypothesis", "trustme", "opentelemetry-sdk")


def requirements(plugins: Collection[str]) -> list[str]:
    """What `plugins`, the kernel with what is usual beside it, and their tests need of other people's."""
    kernel = table(ROOT)
    tables = [table(project)["project"] for project in PROJECTS if title(project) in {"mqframe", *plugins}]
    extras, groups = kernel["project"]["optional-dependencies"], kernel["dependency-groups"]
    of_tests = [each for each in groups["test"] if each.startswith(OF_TESTS)]
    stated = [*extras["standard"], *(each for t in tables for each in t["dependencies"])]
    return sorted({each for each in stated + of_tests if not each.startswith("mqframe")})


def conformance_suites(plugins: Collection[str], folder: Path) -> list[Path]:
    """Copies, in `folder`, of those files of the tests of `plugins` that hold a conformance suite."""
    found = []
    for project in PROJECTS[1:]:
        if title(project) in plugins and (project / "tests").exists():
            copy = folder / project.name / "tests"
            shutil.copytree(project / "tests", copy, ignore=shutil.ignore_patterns("__pycache__"))
            found += [path for path in copy.rglob("test_*.py") if "testing.conformance" in path.read_text()]
    return sorted(found)


def five_minutes() -> list[tuple[str, str]]:
    """(language, source) of each block below README's heading."""
    section = (ROOT / "README.md").read_text().partition("\n## Five minutes\n")[2].partition("\n## ")[0]
    return re.findall(r"```(bash|python)\n(.*?)\n```", section, re.DOTALL)


@pytest.mark.slow
@slow
@pytest.mark.parametrize(
    "plugins", [pytest.param(LIGHT, id="light"), pytest.param(EVERY, id="every", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("resolution", ["highest", "lowest-direct"])
def test_the_newest_and_the_lowest_of_what_is_needed_do_their_work(
    links: list[object], tmp_path: Path, plugins: tuple[str, ...], resolution: str
) -> None:
    run(UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "env")
    python = tmp_path / "env/bin/python"
    install = [UV, "pip", "install", "--quiet", "--python", python, *links, "--resolution", resolution]
    needed = requirements(plugins) if resolution == "lowest-direct" else []
    run(*install, "mqframe[standard]", *needed, cwd=tmp_path)

    (_, installing), (_, serving), *blocks = five_minutes()
    assert installing == 'pip install "mqframe[standard]"'
    with server(serving, tmp_path, str(python.parent)) as address:
        for language, source in blocks:
            words = ["bash", "-euo", "pipefail", "-c"] if language == "bash" else [python, "-c"]
            run(*words, source.replace("127.0.0.1:9876", address), cwd=tmp_path, path=str(python.parent))
    assert {language for language, _ in blocks} == {"bash", "python"}

    all_of_it = ["mqframe[standard,all]"] if plugins == EVERY else []
    run(*install, *all_of_it, *plugins, *needed, *OF_TESTS, cwd=tmp_path)
    helps = json.loads(run(python, "-c", EVERY_HELP, cwd=tmp_path, path=str(python.parent)))
    assert {"", "server", "topic list", "schedule remove", "dashboard", "idempotence"} <= helps.keys()
    assert {command: said for command, said in helps.items() if said} == {}
    loaded = run(python, "-c", EVERY_PLUGIN, cwd=tmp_path).splitlines()
    # What is for a framework is found by that, by entry points of its own.
    ours = {
        title(project)
        for project in [*PROJECTS, COMPILED]
        if "mqframe" in table(project)["project"].get("entry-points", {})
    }
    assert {line.split()[0] for line in loaded} == ours.intersection({*plugins, *standard()})
    assert [line for line in loaded if not line.endswith(" loads")] == []

    suites = conformance_suites(set(plugins) - (NEEDS_SERVERS if plugins == LIGHT else set()), tmp_path)
    assert {path.relative_to(tmp_path).parts[0] for path in suites} > {"acl", "avro", "offsetstore", "sql92"}
    for plugin in ("async_tests", "shared_machine"):
        shutil.copy(ROOT / f"tests/{plugin}.py", tmp_path)
    words = [python, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", *suites]
    words += ["-p", "async_tests", "-p", "shared_machine"]
    assert " passed" in run(*words, cwd=tmp_path, path=str(python.parent))
