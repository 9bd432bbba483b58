"""The first cells of a run that was asked for in words: what they cost and take says what the others will."""
