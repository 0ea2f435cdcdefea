"""Proofs of custom domains: a DNS record or a file, which only the person who manages the domain can add.

A proven domain counts as a host of the account (`Host.is_proven`). It is checked every day, as a domain can pass to another owner.
Without its proof, it counts for `Host.GRACE` more, so that an outage of a name server changes nothing.

The service itself serves the file of a proven domain, and nothing at a domain that is not proven. Otherwise any account could prove a
domain whose DNS record still leads to the service.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import dns.asyncresolver
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from dns.exception import DNSException

from accounts.hosts.models import TRUSTED, Host
from accounts.hosts.requests import PageRequest, TenantRequest
from core.http.throttling import HOUR, enforce_limit
from core.jobs.registry import RetryDelays, has_time_left, job, periodic_job, register_queue
from core.limits.rate_limits import hit
from core.outbound import OutboundError, fetch

logger = logging.getLogger("rostrum.domains")

# The DNS record is at this label under the domain, as a name with a CNAME record can have no other record.
RECORD_LABEL = "_rostrum"
# The time limits in seconds, of the DNS query and of each of the two requests for the file.
DNS_TIMEOUT, FILE_TIMEOUT = 5, 5
# Slow name servers of one account do not delay other jobs.
QUEUE = "domains"
# The number of domains that are checked at the same time.
BATCH_SIZE = 50
# Checks of domains per hour that the admins of an account may ask for.
MAX_DOMAIN_CHECKS = 20

register_queue(QUEUE, threads=1)


@dataclass(frozen=True)
class Proof:
    """The proof that a domain belongs to an account: a TXT record, or a file."""

    record_name: str
    record_value: str
    file_url: str

    @classmethod
    def build(cls, host: Host) -> "Proof":
        return cls(f"{RECORD_LABEL}.{host.name}", f"rostrum-domain={host.token}", _file_url("https", host))


def _file_url(scheme: str, host: Host) -> str:
    return f"{scheme}://{host.name}{reverse('accounts-domain-file')}"


def make_resolver() -> dns.asyncresolver.Resolver:
    """Return a resolver that asks the name servers of this machine."""
    resolver = dns.asyncresolver.Resolver()
    resolver.lifetime = DNS_TIMEOUT
    return resolver


async def read_records(name: str) -> list[str]:
    """Return the TXT records of a name, or an empty list if they cannot be read."""
    try:
        answer = await make_resolver().resolve(f"{name}.", "TXT", search=False)
    except (DNSException, OSError):
        return []
    return [b"".join(record.strings).decode(errors="replace").strip() for record in answer]


async def read_file(host: Host) -> list[str]:
    """Return the words in the file at a domain, or an empty list if there is none. https comes first."""
    words: list[str] = []
    for scheme in ("https", "http"):
        try:
            response = await fetch("GET", _file_url(scheme, host), account_id=host.account_id, timeout=FILE_TIMEOUT)
        except OutboundError:
            continue
        if response.status == 200:
            words += response.body.decode(errors="replace").split()
    return words


async def has_record(host: Host) -> bool:
    proof = Proof.build(host)
    return proof.record_value in await read_records(proof.record_name)


async def has_proof(host: Host) -> bool:
    return await has_record(host) or Proof.build(host).record_value in await read_file(host)


async def _check_all(hosts: Sequence[Host]) -> list[bool]:
    return await asyncio.gather(*(has_proof(host) for host in hosts))


def check(hosts: Sequence[Host]) -> None:
    """Look for the proofs of domains, and record the results."""
    found = [True] * len(hosts) if settings.FORUM_DOMAINS == TRUSTED else asyncio.run(_check_all(hosts))
    for host, is_found in zip(hosts, found, strict=True):
        was_proven = host.is_proven
        if not is_found:
            host.fail()
        elif was_proven or replace_holder(host):
            host.succeed()
        if host.is_proven != was_proven:
            state = "proven" if is_found else "lapsed"
            logger.info("the domain %s of account %d is %s", host.name, host.account_id, state)


def replace_holder(host: Host) -> bool:
    """End the proof of another account for the domain, which this account has just proven. Return False if the other one stands.

    It stands while its DNS record is there. Its file is no reason, because the service itself may serve it.
    """
    holder = Host.objects.proven().filter(name=host.name).first()
    if holder is None:
        return True
    if settings.FORUM_DOMAINS == TRUSTED or asyncio.run(has_record(holder)):
        host.fail()
        return False
    holder.lapse()
    return True


def count_domain_check(request: PageRequest) -> None:
    """Count a check of a domain that an admin asked for. Raise Throttled beyond MAX_DOMAIN_CHECKS."""
    enforce_limit(request, hit(f"domain-checks:{request.account.id}", MAX_DOMAIN_CHECKS, HOUR))


@job(queue=QUEUE, time_limit=60, retry=RetryDelays())
def check_domain(*, account_id: int, host_id: int) -> None:
    """Check a domain because an admin asked for it."""
    check(list(Host.objects.filter(account_id=account_id, id=host_id, name__contains=".")))


@periodic_job(minutes=60, offset=50, time_limit=600)
def check_domains() -> None:
    """Check the proven domains that have not been checked for a day."""
    if settings.FORUM_DOMAINS != TRUSTED:
        while has_time_left(60) and (hosts := list(Host.objects.due(timezone.now())[:BATCH_SIZE])):
            check(hosts)


def domain_file(request: HttpRequest) -> HttpResponse:
    """Return the file of a proven domain. Raise Http404 at other hosts."""
    # The domain is empty at an address under BASE_DOMAIN, and the name of a host never is.
    host = get_object_or_404(Host.objects.proven(), name=cast(TenantRequest, request).address.domain)
    return HttpResponse(f"{Proof.build(host).record_value}\n", content_type="text/plain")
