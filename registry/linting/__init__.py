"""Reading a scorer without running it: what is likely to score wrongly, by line. ``lint.py`` is the way in."""
