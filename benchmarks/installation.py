"""An installation as `manage.py serve` starts it, with a mock model behind the provider "vllm", and the scorers."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import Any

from benchwright import Benchwright
from scripts import place

ROOT = pathlib.Path(__file__).resolve().parent.parent

GUIDE = """
import os, requests
from bench_task import BenchTask

class Task(BenchTask):
    def solve(self, index, input):
        headers = {}
        key = os.environ.get("BW_MODEL_PROXY_KEY")
        if key: headers["Authorization"] = f"Bearer {key}"
        r = requests.post(
            f"{os.environ['BW_MODEL_PROXY_URL']}/v1/chat/completions",
            headers=headers,
            json={"model": os.environ["BW_MODEL_MODEL"], "messages": [{"role": "user", "content": input}],
                  "temperature": 0, "max_tokens": 64},
            timeout=120,
        )
        r.raise_for_status()
        return r.json()["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        return 1.0 if output.strip() == expected else 0.0
"""
CHAT = """
from bench_task import BenchTask, chat

class Task(BenchTask):
    async def solve(self, index, input):
        reply = await chat([{"role": "user", "content": input}], temperature=0, max_tokens=64)
        return reply["choices"][0]["message"]["content"]

    def score(self, index, output, expected):
        return 1.0 if output.strip() == expected else 0.0
"""
SCORERS: dict[str, dict[str, Any]] = {
    "guide": {"code": GUIDE},
    "chat": {"code": CHAT},
    "task": {"code": CHAT, "isolation": "task"},
}


class Installation:
    """`manage.py serve` on a data folder of its own, with the mock behind the provider "vllm"."""

    def __init__(self, folder: pathlib.Path, mock_url: str) -> None:
        unset = ("DATABASE_URL", "BENCHWRIGHT_TEST_DATABASE", "DJANGO_SETTINGS_MODULE")
        self.environment = {key: value for key, value in os.environ.items() if key not in unset}
        self.environment |= {"BENCHWRIGHT_DATA": str(folder), "BW_PROVIDER_VLLM_BASE_URL": mock_url}
        self.environment.setdefault("BENCHWRIGHT_RUNTIME_DIR", str(place.runtime()))
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve", "--port", "0", "--workers", "1"],
            env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.url = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "Benchwright is ready: " in line:
                self.url = line.split(": ", 1)[1].strip()
                break
        assert self.url, "serve did not become ready"
        threading.Thread(target=self._keep_log, args=[folder / "serve.log"], daemon=True).start()
        self._manage("create_user", "bench@example.org")
        said = self._manage("create_token", "bench@example.org", "--scopes",
                            "runs:read,runs:write,artifacts:read,registry:read,registry:publish")  # fmt: skip
        self.bw = Benchwright(api_key=said.split()[-1], base_url=self.url)

    def _keep_log(self, path: pathlib.Path) -> None:
        with path.open("w") as log:
            for line in self.process.stdout or ():
                log.write(line)
                log.flush()

    def _manage(self, *arguments: str) -> str:
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment, cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def author(bw: Benchwright, rows: list[dict[str, Any]], scorer: str, name: str) -> tuple[str, str, str]:
    made = bw.benchmarks.create(f"Sums {name} {scorer}")
    subset = bw.benchmarks.subsets.create(made.id, "all", tasks=rows)
    impl = bw.impls.create(subset=subset.id, label=scorer, **SCORERS[scorer])
    return made.id, subset.id, impl.id
