"""The file that proves a domain whose requests reach this service (`accounts.hosts.domains`)."""

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from accounts.hosts.domains import Proof
from accounts.hosts.models import Host
from accounts.hosts.requests import TenantRequest


def domain_file(request: HttpRequest) -> HttpResponse:
    """Return the file of a proven domain. Raise Http404 at other hosts."""
    # The domain is empty at an address under BASE_DOMAIN, and the name of a host never is.
    host = get_object_or_404(Host.objects.proven(), name=cast(TenantRequest, request).address.domain)
    return HttpResponse(f"{Proof.build(host).record_value}\n", content_type="text/plain")
