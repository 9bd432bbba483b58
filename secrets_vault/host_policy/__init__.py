"""Host policies: which hosts the runs of an account may reach, and which they tried to reach in vain.

``deciding`` is pure, ``builtin`` is data, ``entries`` edits, ``blocked`` keeps the record.
"""

from secrets_vault.host_policy.blocked import record_blocked
from secrets_vault.host_policy.deciding import Policy, Verdict, decide
from secrets_vault.host_policy.queries import policy_of

__all__ = ["Policy", "Verdict", "decide", "policy_of", "record_blocked"]
