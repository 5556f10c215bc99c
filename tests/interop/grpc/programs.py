"""What official gRPC clients need: jars and classes, Go and Rust programs, Node modules; made once and kept.

    python tests/interop/grpc/programs.py [--all]

makes those of usual runs, or that in Rust, too, which takes minutes and is for long ones.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from interop.foreign_programs import CACHE, JAVA_FLAGS, LOGS, alone

HERE = Path(__file__).parent
USUAL = ("java", "go", "node", "python")
LANGUAGES = (*USUAL, "rust")
TOOLS = {
    "java": ("java", "javac", "mvn"),
    "go": ("go",),
    "node": ("node", "npm"),
    "python": (),
    "rust": ("cargo",),
}
"""What has to be installed for each."""


def build(language: str) -> list[str]:
    """Make what the client of a language needs; gives what starts it."""
    match language:
        case "java":
            return ["java", "-Xmx256m", *JAVA_FLAGS, "-cp", build_java("client"), "Client"]
        case "go":
            return [str(build_go())]
        case "node":
            return ["node", str(HERE / "node/client.js")]
        case "rust":
            return [str(build_rust(HERE / "rust", "client"))]
    return [sys.executable, str(HERE / "python/client.py")]


def environment(language: str, home: Path) -> dict[str, str]:
    """What a client's process gets besides: what it keeps, such as its log, goes below `home`."""
    match language:
        case "java":
            options = f"-Dfile.encoding=UTF-8 -Duser.home={home} -Drocketmq.log.level=warn"
            return {"JAVA_TOOL_OPTIONS": options}
        case "go":
            return {"HOME": str(home), "rocketmq.client.logRoot": str(home / "logs")}
        case "node":
            return {"HOME": str(home), "NODE_PATH": str(node_modules())}
    return {"HOME": str(home)}


def build_java(name: str) -> str:
    """The class path of a folder below java: the jars of its pom.xml, and its compiled sources."""
    source = HERE / "java" / name
    pom = (source / "pom.xml").read_bytes()
    home = CACHE / f"grpc-{name}" / hashlib.sha256(pom).hexdigest()[:16]
    jars = home / "lib"
    with alone(f"grpc-{name}"):
        if not (home / "complete").exists():
            command = ["mvn", "-q", "-B", "-f", str(source / "pom.xml"), "dependency:copy-dependencies"]
            subprocess.run([*command, f"-DoutputDirectory={jars}"], check=True, timeout=600)
            (home / "complete").touch()
        files = sorted(source.glob("*.java"))
        texts = {file.name: file.read_text() for file in files}
        folder = home / "classes" / hashlib.sha256(repr((texts, LOGS)).encode()).hexdigest()[:16]
        if not folder.exists():
            _compile(files, jars, folder)
    return f"{folder / 'program.jar'}:{jars}/*"


def build_go() -> Path:
    """The Go client, built outside the repository; the module cache keeps what it needs."""
    program = CACHE / "grpc-go" / "client"
    command = ["go", "build", "-buildvcs=false", "-o", str(program), "."]
    with alone("grpc-go"):
        subprocess.run(command, cwd=HERE / "go", check=True, timeout=600)
    return program


def build_rust(source: Path, name: str) -> Path:
    """The program `name` of a folder; what it needs is built once for all that have the same lock file."""
    target = CACHE / "grpc-rust" / "target"
    command = ["cargo", "build", "--quiet", "--locked", "--target-dir", str(target)]
    with alone("grpc-rust"):
        subprocess.run(command, cwd=source, check=True, timeout=2400)
    return target / "debug" / name


def node_modules() -> Path:
    """The folder of what the Node client requires, made once for each state of its lock file."""
    sources = {name: (HERE / "node" / name).read_bytes() for name in ("package.json", "package-lock.json")}
    home = CACHE / "grpc-node" / hashlib.sha256(repr(sources).encode()).hexdigest()[:16]
    with alone("grpc-node"):
        if not (home / "complete").exists():
            home.mkdir(exist_ok=True)
            for name, content in sources.items():
                (home / name).write_bytes(content)
            command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(command, cwd=home, check=True, timeout=300)
            (home / "complete").touch()
    return home / "node_modules"


def _compile(files: list[Path], jars: Path, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        made, packed = Path(work, "classes"), Path(work, "packed")
        command = ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(made), *map(str, files)]
        done = subprocess.run(command, timeout=120, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        packed.mkdir()
        with zipfile.ZipFile(packed / "program.jar", "w") as jar:
            for file in made.rglob("*.class"):
                jar.write(file, file.relative_to(made))
            jar.writestr("rmq.logback-test.xml", LOGS)
        os.rename(packed, folder)


if __name__ == "__main__":
    for language in LANGUAGES if "--all" in sys.argv else USUAL:
        build(language)
    node_modules()
