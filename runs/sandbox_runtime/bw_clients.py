"""HTTP libraries inside solve: unmodified for the user, quick and with the right key underneath."""


def install(url: str) -> None:
    pass
