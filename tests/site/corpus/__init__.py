"""Bad input as data: what is sent, and what must be answered. `test_corpus.py` sends all of it."""
