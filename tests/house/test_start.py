"""What a process loads before it is asked for anything: every web process pays for it in seconds and memory."""

import json
import subprocess
import sys

from tests.house.source import ROOT

LOAD = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "benchwright_site.settings"
import django
django.setup()
import benchwright_site.asgi, benchwright_site.urls
print(json.dumps(sorted(sys.modules)))
"""
FOR_WORKERS = {"numpy", "scipy", "arro3", "runs.finding", "runs.selftest", "runs.driver.llm.driver"}


def test_the_site_starts_without_what_only_workers_need() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True, check=True)
    assert FOR_WORKERS.isdisjoint(json.loads(done.stdout.splitlines()[-1]))
