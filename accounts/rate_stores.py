"""Where requests are counted: in Redis where there is one, else in an unlogged table. Both count in one atomic step."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from time import monotonic
from typing import Any

import redis
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from accounts.models import RateWindow

log = logging.getLogger(__name__)

Asked = Sequence[tuple[str, int]]  # (key, quota)
Used = list[tuple[int, float]]  # (requests in this window with this one, seconds until it ends)

# A key is counted only where every key before it had room.
_LUA = """
local found = {}
for at, key in ipairs(KEYS) do
  local used = redis.call('INCR', key)
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, ARGV[1])
    left = tonumber(ARGV[1])
  end
  found[#found + 1] = used
  found[#found + 1] = left
  if used > tonumber(ARGV[at + 1]) then break end
end
return found
"""
_PATIENCE_SECONDS = 0.5
_AWAY_SECONDS = 5.0  # a Redis that did not answer is left alone for so long
_away_until = 0.0


def count(asked: Asked, window: float) -> Used:
    """Count one request under each key in turn, until one has no room. The answer ends with that one."""
    global _away_until
    if settings.REDIS_URL and monotonic() >= _away_until:
        try:
            return in_redis(settings.REDIS_URL, asked, window)
        except redis.RedisError:
            _away_until = monotonic() + _AWAY_SECONDS
            log.warning("Redis does not answer: requests are counted in the database for now")
    return in_postgres(asked, window)


def in_redis(url: str, asked: Asked, window: float) -> Used:
    """Raises redis.RedisError."""
    found = _script(url)(keys=[key for key, _ in asked], args=[int(window * 1000), *(quota for _, quota in asked)])
    return [(int(found[at]), found[at + 1] / 1000) for at in range(0, len(found), 2)]


@cache
def _script(url: str) -> Any:
    link = redis.Redis.from_url(url, socket_timeout=_PATIENCE_SECONDS, socket_connect_timeout=_PATIENCE_SECONDS)
    return link.register_script(_LUA)


# A function of the database (accounts.0001), so that its plans are kept from call to call.
COUNT = "SELECT used, seconds FROM accounts_rate_count(%s::text[], %s::int[], %s)"


def in_postgres(asked: Asked, window: float) -> Used:
    """One statement. The row's lock makes counting atomic; rows are locked in the order of the keys."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [[key for key, _ in asked], [quota for _, quota in asked], window])
        return [(used, max(0.0, seconds)) for used, seconds in cursor.fetchall()]


def purge() -> int:
    """Forget windows that ended an hour ago. Returns how many."""
    return RateWindow.objects.filter(ends__lt=Now() - timedelta(hours=1)).delete()[0]
