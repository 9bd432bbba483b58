"""Files named by what they hold."""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernel.blobs import Blobs


def test_it_keeps_the_same_bytes_once(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = blobs.put(b"one two three")
    assert name == hashlib.sha256(b"one two three").hexdigest() == blobs.put(b"one two three")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [name]
    assert blobs.read(name, 4, 3) == b"two"
    assert blobs.has(name)
    blobs.remove(name)
    blobs.remove(name)
    assert not blobs.has(name)
    with pytest.raises(FileNotFoundError):
        blobs.read(name, 0, 1)


def test_it_finds_what_nobody_touched(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    assert list(blobs.untouched(0)) == []
    old, again, fresh = (blobs.put(text) for text in (b"old", b"again", b"fresh"))
    torn = tmp_path / old[:2] / "0123.part"
    torn.write_bytes(b"half")
    before = time.time() - 7200
    for path in (tmp_path / old[:2] / old, tmp_path / again[:2] / again, torn):
        os.utime(path, (before, before))
    assert blobs.put(b"again") == again
    assert list(blobs.untouched(3600)) == [old]
    assert not torn.exists()
    assert blobs.has(fresh)


@pytest.mark.parametrize(("point", "whole"), [("A1", 0), ("A2", 1)])
def test_d17_killed_between_two_steps_it_leaves_a_whole_file_or_none(tmp_path: Path, point: str, whole: int) -> None:
    code = (
        "import sys; from pathlib import Path; from kernel.blobs import Blobs; Blobs(Path(sys.argv[1])).put(b'x' * 99)"
    )
    environment = {**os.environ, "BENCHWRIGHT_FAULT": point}
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, cwd=root, check=False)
    assert ended.returncode == -9
    found = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".part"]
    assert [path.read_bytes() for path in found] == [b"x" * 99] * whole
    assert Blobs(tmp_path).read(Blobs(tmp_path).put(b"x" * 99), 0, 99) == b"x" * 99
