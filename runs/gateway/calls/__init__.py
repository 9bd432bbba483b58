"""A call's way through the gateway: key, rules, journal, slot, provider, journal, answer.

``passage`` is what every way has in common, ``direct`` the common case without a task, ``tasked`` all else (waits,
retries, recorded answers), ``streaming`` the streams; ``accounting`` fills the journal's row.
"""
