"""Run the tests over the PostgreSQL and Redis of this machine, where both answer; says so and ends well where not.

``python scripts/test_scaled.py [arguments of pytest]``. BENCHWRIGHT_SCALED_DATABASE_URL names a PostgreSQL 15 or newer
whose role may create roles and databases (default: this machine's), REDIS_URL a Redis. The role and the database that
are made for the tests are dropped afterwards.
"""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql

ADMIN = os.environ.get("BENCHWRIGHT_SCALED_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
OWN_REDIS = "redis://127.0.0.1:6379/"
BLOCKS = (8, 12, 4)  # first of the databases that one session takes: one for each process, emptied afterwards
PROCESSES = 4
TAKEN, TAKEN_SECONDS = "benchwright-tests", 3600
REDIS = os.environ.get("REDIS_URL", f"{OWN_REDIS}{BLOCKS[0]}")
LEAST_VERSION = 150000


def missing() -> str:
    """What is not there; nothing where both are."""
    try:
        with psycopg.connect(ADMIN, connect_timeout=3) as connection:
            if connection.info.server_version < LEAST_VERSION:
                return f"PostgreSQL is older than {LEAST_VERSION // 10000}"
    except psycopg.Error as trouble:
        return f"no PostgreSQL ({trouble})".replace("\n", " ")
    try:
        with redis.Redis.from_url(REDIS, socket_connect_timeout=3) as client:
            client.ping()
    except redis.RedisError as trouble:
        return f"no Redis ({trouble})"
    return ""


@contextmanager
def own_redis() -> Iterator[str]:
    """Databases of a Redis that no other session of these tests uses: they would take each other's wake-ups."""
    if "REDIS_URL" in os.environ:
        yield REDIS
        return
    while True:
        for first in BLOCKS:
            with redis.Redis.from_url(f"{OWN_REDIS}{first}") as client:
                if client.set(TAKEN, os.getpid(), nx=True, ex=TAKEN_SECONDS):
                    try:
                        yield f"{OWN_REDIS}{first}"
                    finally:
                        for number in range(first, first + PROCESSES):
                            with redis.Redis.from_url(f"{OWN_REDIS}{number}") as used:
                                used.flushdb()
                    return
        print("· waiting for other sessions of these tests to end", flush=True)
        time.sleep(10)


def run(arguments: list[str], redis_url: str) -> int:
    """pytest as a role that may do no more than an installation's own: create its (test) database."""
    name, password = f"bw_test_{os.getpid()}", secrets.token_hex(16)
    role, parts = sql.Identifier(name), urlsplit(ADMIN)
    where = parts.netloc.rpartition("@")[2]
    url = urlunsplit(parts._replace(netloc=f"{name}:{password}@{where}"))
    with psycopg.connect(ADMIN, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB PASSWORD {}").format(role, sql.Literal(password)))
        version = admin.info.server_version // 10000
        print(f"· the same tests over PostgreSQL {version} and Redis of this machine", flush=True)
        environment = {
            **os.environ,
            "DATABASE_URL": url,
            "REDIS_URL": redis_url,
            "BENCHWRIGHT_TEST_DATABASE": name,
        }
        try:
            tests = [sys.executable, "-m", "pytest", "-m", "not chaos and not fuzz", *arguments]
            return subprocess.run(tests, env=environment).returncode
        finally:
            owned = "SELECT datname FROM pg_database WHERE pg_get_userbyid(datdba) = %s"  # one for each process
            for (database,) in admin.execute(owned, [name]).fetchall():
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
            admin.execute(sql.SQL("DROP ROLE {}").format(role))


if __name__ == "__main__":
    if gap := missing():
        print(f"· not tested over services of this machine: {gap}")
        sys.exit(0)
    with own_redis() as url:
        code = run(sys.argv[1:], url)
    sys.exit(code)
