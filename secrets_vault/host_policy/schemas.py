"""Bodies of requests on a host policy."""

from typing import Annotated, Literal

from pydantic import Field

from kernel.bodies import Body

Mode = Literal["allow", "block"]


class HostEntryBody(Body):
    host_pattern: Annotated[str, Field(max_length=255)]
    mode: Mode = "allow"


class HostDefaultBody(Body):
    mode: Mode


class StarterPackBody(Body):
    """Nothing to say yet."""
