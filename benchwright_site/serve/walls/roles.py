"""Roles of the database: what the gateway may read and write there, and what all other parts may.

The owner (who migrates) makes the tables. ``benchwright_app``, for web, workers and sweeper, may put sealed values in
and never read them back. ``benchwright_gateway`` reads what a call needs and writes what came of it.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from django.apps import apps
from django.db import connection, transaction
from psycopg import sql

from secrets_vault.models import SecretVersion

APP, GATEWAY = "benchwright_app", "benchwright_gateway"
GATEWAY_READS = ("secrets_vault", "registry", "runs")  # rooms
GATEWAY_WRITES = {
    "runs_modelcall": "INSERT, UPDATE",
    "runs_run": "UPDATE",
    "runs_runevent": "INSERT",
    "secrets_vault_secretuse": "INSERT, UPDATE",
    "secrets_vault_blockedhost": "INSERT, UPDATE",
}


def make(passwords: Mapping[str, str]) -> None:
    """Make the roles of this cluster, or give them new passwords. The connection's user may make roles."""
    with connection.cursor() as cursor:
        raw = connection.connection
        for role, password in passwords.items():
            cursor.execute("select 1 from pg_roles where rolname = %s", [role])
            verb = "ALTER" if cursor.fetchone() else "CREATE"
            coded = raw.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
            # A new role may do nothing else; saying so of an old one takes a superuser.
            order = sql.SQL("{} ROLE {} LOGIN PASSWORD {}")
            cursor.execute(
                order.format(sql.SQL(verb), sql.Identifier(role), sql.Literal(coded)).as_string(connection.connection)
            )


def present() -> list[str]:
    """Which of the roles this database knows."""
    with connection.cursor() as cursor:
        cursor.execute("select rolname from pg_roles where rolname = any(%s) order by 1", [[APP, GATEWAY]])
        return [row[0] for row in cursor.fetchall()]


def grant() -> list[str]:
    """Give the roles that there are what they may do with the tables as they are now, and take all else. The roles."""
    found = present()
    orders = {APP: _for_app, GATEWAY: _for_gateway}
    with transaction.atomic(), connection.cursor() as cursor:
        for role in found:
            for order in (*_nothing(), *orders[role]()):
                words = sql.SQL(order).format(role=sql.Identifier(role))
                cursor.execute(words.as_string(connection.connection))
    return found


def _nothing() -> Iterable[str]:
    yield "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}"
    yield "REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {role}"
    yield "GRANT USAGE ON SCHEMA public TO {role}"


def _for_app() -> Iterable[str]:
    table = SecretVersion._meta.db_table
    columns = [str(field.column) for field in SecretVersion._meta.concrete_fields]
    seen = ", ".join(name for name in columns if name != "sealed")
    yield "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
    yield "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO {role}"
    yield f"REVOKE SELECT ON {table} FROM {{role}}"  # noqa: S608 (names of our own)
    yield f"GRANT SELECT ({seen}) ON {table} TO {{role}}"
    yield "REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role}"


def _for_gateway() -> Iterable[str]:
    for room in GATEWAY_READS:
        for model in apps.get_app_config(room).get_models():
            yield f"GRANT SELECT ON {model._meta.db_table} TO {{role}}"
    yield "GRANT SELECT (id) ON accounts_user TO {role}"  # whose hosts are counted
    for table, acts in GATEWAY_WRITES.items():
        yield f"GRANT {acts} ON {table} TO {{role}}"
    yield "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}"


def url_for(url: str, role: str, password: str) -> str:
    """The same database, entered as ``role``."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    options = urlencode(parse_qsl(parts.query), safe="/")
    return urlunsplit(parts._replace(netloc=f"{role}:{quote(password, safe='')}@{place}", query=options))
