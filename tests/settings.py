"""Settings of the tests: a data folder and an embedded PostgreSQL of their own for each process, where none is given."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from scripts.place import runtime

# One of several processes; all inherit what the first has set. Taken out: what a test starts shares the test's own.
WORKER = os.environ.pop("PYTEST_XDIST_WORKER", "")

if not os.environ.get("BENCHWRIGHT_DATA"):
    folder = Path(tempfile.mkdtemp(prefix="bwt-", dir="/var/tmp" if Path("/var/tmp").is_dir() else None))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, True)
    os.environ["BENCHWRIGHT_DATA"] = str(folder)
elif WORKER:
    folder = Path(os.environ["BENCHWRIGHT_DATA"]) / WORKER
    folder.mkdir(mode=0o755, exist_ok=True)
    os.environ["BENCHWRIGHT_DATA"] = str(folder)
if not os.environ.get("DATABASE_URL") or (WORKER and os.environ.get("BENCHWRIGHT_TEST_CLUSTER")):
    sockets = Path(os.environ["BENCHWRIGHT_DATA"]) / "run" / "db"
    os.environ["DATABASE_URL"] = f"postgresql://postgres:@/postgres?host={sockets}"
    os.environ["BENCHWRIGHT_TEST_CLUSTER"] = "1"
if WORKER and os.environ.get("REDIS_URL"):  # a Redis database for each, beside each other
    url, _, database = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{url}/{int(database) + int(WORKER.removeprefix('gw'))}"
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
