"""Who looks at a page."""

from accounts.models import User
from accounts.principal import Principal


def viewer(user: object) -> Principal | None:
    """The signed-in account, or nobody. Pages carry no token, so they have no scopes."""
    return Principal(user, frozenset(), "") if isinstance(user, User) and user.is_active else None


def signed_in(user: object) -> Principal:
    """The account behind ``login_required``. AssertionError elsewhere."""
    found = viewer(user)
    assert found is not None
    return found
