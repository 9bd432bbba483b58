"""The doors of the catalogue: /v1/registry reads, /v1/benchmarks, /v1/subsets and /v1/impls author."""

from ninja import Router

from registry.api import authoring, catalogue, impls

router = Router(tags=["registry"])
for part in (catalogue, authoring, impls):
    router.add_router("", part.router)
