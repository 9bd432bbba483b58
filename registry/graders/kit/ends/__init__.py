"""The ends of compiled graders: the class that the sandbox runs."""
