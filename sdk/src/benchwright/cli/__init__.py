"""The command line: each command is options → call → render."""
