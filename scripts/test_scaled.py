"""Run the tests over the PostgreSQL and Redis of this machine, where both answer; says so and ends well where not.

``python scripts/test_scaled.py [arguments of pytest]``. BENCHWRIGHT_SCALED_DATABASE_URL names a PostgreSQL 15 or newer
whose role may create roles and databases (default: this machine's), REDIS_URL a Redis. The role and the database that
are made for the tests are dropped afterwards.
"""

import os
import secrets
import subprocess
import sys
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql

ADMIN = os.environ.get("BENCHWRIGHT_SCALED_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
OWN_REDIS = [f"redis://127.0.0.1:6379/{number}" for number in range(8, 12)]  # one for each process, emptied afterwards
REDIS = os.environ.get("REDIS_URL", OWN_REDIS[0])
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


def run(arguments: list[str]) -> int:
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
            "REDIS_URL": REDIS,
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
            for own in OWN_REDIS if REDIS in OWN_REDIS else []:
                with redis.Redis.from_url(own) as client:
                    client.flushdb()


if __name__ == "__main__":
    if gap := missing():
        print(f"· not tested over services of this machine: {gap}")
        sys.exit(0)
    sys.exit(run(sys.argv[1:]))
