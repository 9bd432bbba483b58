"""Bodies of requests on secrets. Values arrive wrapped, so that no message, log or traceback shows them."""

from typing import Annotated

from pydantic import Field, SecretStr

from kernel.bodies import Body, PatchBody

Description = Annotated[str, Field(max_length=500)]


class RuleBody(Body):
    host_pattern: Annotated[str, Field(max_length=255)]
    inject_kind: Annotated[str, Field(max_length=20)] = "bearer"
    inject_target: Annotated[str, Field(max_length=120)] = ""


class SecretBody(Body):
    name: Annotated[str, Field(max_length=300)]
    value: SecretStr
    rules: list[RuleBody]
    description: Description = ""


class SecretPatch(PatchBody):
    value: SecretStr = SecretStr("")
    rules: list[RuleBody] = []
    name: Annotated[str, Field(max_length=300)] = ""
    description: Description = ""
