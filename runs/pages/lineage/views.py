"""The page of flips."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.pages.viewers import viewer
from kernel.errors import DomainError
from runs import queries
from runs.pages.lineage import page


@never_cache
@require_safe
def flips(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """What ended otherwise than in the run that this one was made of."""
    who = viewer(request.user)
    try:
        context = page.flips_page(queries.run(who, run_id), who, request.GET.dict())
    except DomainError as refused:
        raise Http404 from refused
    return render(request, "runs/flips.html", context)
