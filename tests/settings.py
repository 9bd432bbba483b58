"""Settings of the tests: each process has a data folder and, where none is given, an embedded PostgreSQL of its own."""

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

from scripts.place import runtime

if not os.environ.get("BENCHWRIGHT_DATA"):
    folder = Path(tempfile.mkdtemp(prefix="bwt-", dir="/var/tmp" if Path("/var/tmp").is_dir() else None))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, True)
    os.environ["BENCHWRIGHT_DATA"] = str(folder)
if worker := os.environ.get("PYTEST_XDIST_WORKER"):  # one of several, which inherit what the first has set
    folder = Path(os.environ["BENCHWRIGHT_DATA"]) / worker
    folder.mkdir(mode=0o755, exist_ok=True)
    os.environ["BENCHWRIGHT_DATA"] = str(folder)
    if os.environ.get("BENCHWRIGHT_TEST_CLUSTER"):
        del os.environ["DATABASE_URL"]
    if os.environ.get("REDIS_URL"):
        number = int(worker.removeprefix("gw"))
        os.environ["REDIS_URL"] = re.sub(r"\d+$", lambda at: str(int(at[0]) + number), os.environ["REDIS_URL"])
    del os.environ["PYTEST_XDIST_WORKER"]  # what a test starts shares the test's own
if not os.environ.get("DATABASE_URL"):
    sockets = Path(os.environ["BENCHWRIGHT_DATA"]) / "run" / "db"
    os.environ["DATABASE_URL"] = f"postgresql://postgres:@/postgres?host={sockets}"
    os.environ["BENCHWRIGHT_TEST_CLUSTER"] = "1"
if not os.environ.get("BENCHWRIGHT_RUNTIME_DIR"):
    os.environ["BENCHWRIGHT_RUNTIME_DIR"] = str(runtime())  # made by `make install`, shared by all sessions

from benchwright_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
STATIC_ROOT = Path(os.environ["BENCHWRIGHT_DATA"]) / "static"  # a fresh clone has collected none yet
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
