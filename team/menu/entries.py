"""The group, the condition and the parameter that several menu entries of the team's pages use."""

from accounts.hosts.requests import PageRequest, is_team

GROUP = "crm"
# The parameter of forms that choose a client.
CLIENT = {"client": "client_id"}


def is_team_of_site(request: PageRequest) -> bool:
    return request.site is not None and is_team(request)
