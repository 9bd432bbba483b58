"""Who is calling. Two types, so that what needs a browser session can't be reached with a token."""

from dataclasses import dataclass
from datetime import datetime

from accounts.models import User


@dataclass(frozen=True)
class Principal:
    """An account, as a token may act for it."""

    account: User
    scopes: frozenset[str]
    token_id: str
    token_name: str = ""
    expires_at: datetime | None = None


@dataclass(frozen=True)
class BrowserSession:
    """A person signed in with a browser (or at the server's own shell). Only these may mint tokens."""

    account: User
