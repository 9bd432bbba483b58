"""The database as plain psycopg sees it, for the few places that bypass the ORM for speed or for LISTEN."""

from django.db import connection
from psycopg.conninfo import make_conninfo


def conninfo() -> str:
    """libpq connection string of Django's default database (in a test: of the test database)."""
    params = connection.get_connection_params()
    wanted = {"dbname", "user", "password", "host", "port", "options", "sslmode", "sslrootcert", "connect_timeout"}
    return make_conninfo("", **{key: value for key, value in params.items() if key in wanted and value})
