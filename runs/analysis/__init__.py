"""From rows to a plan: what they ask, how an answer is graded, what could go wrong. Pure: no database, no network."""
