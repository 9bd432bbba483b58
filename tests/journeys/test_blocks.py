"""Every block of the guide is run by a journey, or waits for something that is named here."""

import ast
import inspect
import io
import re
import shlex
import sys
import uuid
from pathlib import Path

import pytest

from benchwright import Benchwright, _http
from benchwright.cli import main as cli
from tests.journeys.programs import GUIDE, block

TOLD = {"14", "15"}  # references and no programs: here below, and with real ids in test_reference.py
WAITING = {
    "1-balance": "money",
    "4-compute": "compute of one's own",
    "4-harness": "third-party harnesses",
    "6.6-http": "built benchmarks",
    "6.6-shell": "built benchmarks",
    "11.2-create": "webhooks",
    "11.2-handler": "webhooks",
    "12.1": "money",
    "12.3-export": "money",
    "12.3-report": "money",
}
NO_PYTHON = re.compile(r"benchwright |curl |# \.github|\{|# Runs\n")
COMMANDS = [line for line in block("15").splitlines() if line.startswith("benchwright ")]
UNREACHABLE = 5
FILES = {
    "tasks.jsonl": '{"task_id": "a", "input": "1", "expected": "1"}\n',
    "more-tasks.jsonl": '{"task_id": "b", "input": "2", "expected": "2"}\n',
    "grader.json": '{"kind": "exact"}',
    "task_impl.py": "class Task: ...\n",
}


def test_every_block_is_run_or_waits() -> None:
    told = "\n".join(path.read_text() for path in Path(__file__).parent.glob("*.py") if path != Path(__file__))
    ran = set(re.findall(r"""block\("([^"]+)"\)""", told))
    held = {path.stem for path in GUIDE.glob("*.txt")}
    assert held == (ran & held) | TOLD | set(WAITING)
    assert not ran & set(WAITING), "these wait no longer"


@pytest.mark.parametrize("path", sorted(GUIDE.glob("*.txt")), ids=lambda path: path.stem)
def test_blocks_hold_code_and_nothing_else(path: Path) -> None:
    text = block(path.stem)
    assert text == f"{text.strip()}\n"
    if not NO_PYTHON.match(text):
        compile(text, path.name, "exec")


def test_14_the_sdk_has_every_call_with_its_parameters() -> None:
    lines = [line.partition("   #")[0].removeprefix("tasks = ") for line in block("14").splitlines()]
    calls = [ast.parse(line, mode="eval").body for line in lines if line.startswith("bw.")]
    assert len(calls) > 70
    with Benchwright(api_key="bw_live_pat_" + "a" * 36, base_url="http://127.0.0.1:9") as bw:
        for call in calls:
            assert isinstance(call, ast.Call)
            method = eval(ast.unparse(call.func), {"bw": bw})
            named = {word.arg: None for word in call.keywords if word.arg is not None}
            inspect.signature(method).bind(*[None] * len(call.args), **named)


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("  ")[0][12:60])
def test_15_the_command_line_takes_every_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read and sent, as far as a server that is not there: a line that it did not know would end as wrong use."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("BW_PAT", "bw_live_pat_" + "a" * 36)
    monkeypatch.setenv("BW_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(_http, "backoff", lambda tried: 0.0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y\n")))
    monkeypatch.chdir(tmp_path)
    asked = re.sub(r"<[a-z_]*id>", str(uuid.uuid4()), line.partition(" > ")[0]).replace("_...", f"_{uuid.uuid4()}")
    words = shlex.split(asked, comments=True)[1:]
    code = cli.run([*words, *(["--yes"] if "delete" in words else [])])  # nobody is there to be asked
    assert code == UNREACHABLE, capsys.readouterr().err
