"""The file that proves a domain whose requests reach this service (`accounts.hosts.domains`)."""

from typing import cast

from django.http import Http404, HttpRequest, HttpResponse

from accounts.hosts.domains import Proof
from accounts.hosts.models import Host
from accounts.hosts.requests import TenantRequest


def domain_file(request: HttpRequest) -> HttpResponse:
    """Return the file of a proven domain. Raise Http404 at other hosts."""
    name = cast(TenantRequest, request).address.domain
    host = Host.objects.proven().filter(name=name).first() if name else None
    if host is None:
        raise Http404
    return HttpResponse(f"{Proof.build(host).record_value}\n", content_type="text/plain")
