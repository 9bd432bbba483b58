"""``python -m benchwright`` is the command line."""

from .cli.main import main

if __name__ == "__main__":
    main()
