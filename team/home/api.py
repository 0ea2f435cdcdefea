"""Home in the Account API (JSON)."""

from decimal import Decimal

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import override
from rest_framework.response import Response

from accounts.hosts.api import APIRequest
from accounts.roles.permissions import IsAdmin
from core.api.serializers import format_time
from core.db.transactions import in_transaction
from core.errors import FieldErrors
from core.openapi.operations import LIMITS, RESPONSES
from core.openapi.values import (
    BOOLEAN,
    COUNT,
    DATE,
    ID,
    NAME,
    NUMBER,
    TIME,
    JSONSchema,
    array_of,
    object_of,
    one_of,
    or_null,
)
from forum.forums.models import Forum
from forum.notifications.texts import path_of, title_of
from team.goals.models import Goal, Progress, Won
from team.home.examples import KINDS, add_examples, remove_examples
from team.home.first_steps import STEPS, first_steps
from team.home.queries import BOX_SIZE, SOON_DAYS, Home, HomeDeal, Month
from team.menu.api import TeamViewSet

TASK_FIELDS = ("id", "title", "task_kind", "client_id", "contact_id", "deal_id")
DEAL_FIELDS = ("id", "name", "client_name", "price", "currency", "expected_close_date")


class HomeViewSet(TeamViewSet):
    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the boxes of the page Home."""
        if errors := self.ignore_parameters([]):
            raise FieldErrors(errors.values())
        forum_ids = list(self.account.forums.values_list("id", flat=True)[: Forum.MAX_PER_ACCOUNT])
        home, zone = Home.read(self.account, request.user, forum_ids), self.account.zone
        with override("en"):
            mentions = [
                {
                    "id": row.id,
                    "title": title_of(row),
                    "url": self.base_url + path_of(row),
                    "created_at": format_time(row.created_at, zone),
                }
                for row in home.mentions[:BOX_SIZE]
            ]
        return Response(
            {
                "tasks": [
                    {name: row[name] for name in TASK_FIELDS}
                    | {"scheduled_at": format_time(row["scheduled_at"], zone), "overdue": row["is_late"]}
                    for row in home.tasks[:BOX_SIZE]
                ],
                "deals": None if home.deals is None else [represent_deal(deal) for deal in home.deals[:BOX_SIZE]],
                "mentions": mentions,
                "suggestions": [
                    {
                        "id": row["id"],
                        "title": row["title"],
                        "votes": row["votes_cache"],
                        "created_at": format_time(row["created_at"], zone),
                    }
                    for row in home.suggestions[:BOX_SIZE]
                ],
                "month": None if home.month is None else self.represent_month(home.month),
            }
        )

    def represent_month(self, month: Month) -> dict[str, object]:
        def represent(won: Won) -> dict[str, object]:
            return {"deals": won.deals, "amount": round(won.amount.sum, 2), "missing": won.amount.missing}

        return {
            "currency": self.account.currency,
            "mine": represent(month.mine),
            "team": represent(month.team),
            "goals": [represent_progress(progress) for progress in month.goals],
        }


def represent_deal(deal: HomeDeal) -> dict[str, object]:
    values = {name: getattr(deal, name) for name in DEAL_FIELDS}
    return values | {"status_id": deal.status.id or None, "overdue": deal.is_overdue, "rotting": deal.is_rotting}


def represent_progress(progress: Progress) -> dict[str, object]:
    goal, done = progress.goal, round(progress.done, 2)
    names: tuple[str, ...] = ("id", "user_id", "period", "measure", "target")
    return {name: getattr(goal, name) for name in names} | {"done": done or Decimal(0)}


class FirstStepsViewSet(TeamViewSet):
    areas = ("settings",)

    def retrieve(self, request: APIRequest) -> HttpResponse:
        """Return the first steps that Home shows to the user."""
        if errors := self.ignore_parameters([]):
            raise FieldErrors(errors.values())
        with override("en"):
            steps = [
                {
                    "name": step.name,
                    "label": str(step.label),
                    "done": step.is_done,
                    "url": self.base_url + reverse(step.route),
                }
                for step in first_steps(self.account, request.user)
            ]
        return Response({"first_steps": steps, "has_examples": bool(self.account.examples)})


class ExamplesViewSet(TeamViewSet):
    permission_classes = [IsAdmin]

    def create(self, request: APIRequest) -> HttpResponse:
        self.check()
        added = in_transaction(lambda: add_examples(self.account, request.user))
        ids = {KINDS[key]: [int(id) for id in rows] for key, rows in added.items()}
        return Response(ids, status=201)

    def destroy(self, request: APIRequest) -> HttpResponse:
        self.check()
        return Response({"kept": in_transaction(lambda: remove_examples(self.account, request.user))})


# The OpenAPI document, as far as views and serializers do not tell it
LIMITS |= {"BOX_SIZE": BOX_SIZE, "SOON_DAYS": SOON_DAYS}

WON: JSONSchema = object_of(deals=COUNT, amount=NUMBER, missing=array_of(NAME))
GOAL = object_of(
    id=ID,
    user_id=or_null(ID),
    period=one_of(Goal.Period.values),
    measure=one_of(Goal.Measure.values),
    target=NUMBER,
    done=NUMBER,
)
MONTH = object_of(currency=NAME, mine=WON, team=WON, goals=array_of(GOAL))
TASK = object_of(
    {"id": ID, "title": NAME, "task_kind": NAME},
    **dict.fromkeys(("client_id", "contact_id", "deal_id"), or_null(ID)),
    scheduled_at=or_null(TIME),
    overdue=BOOLEAN,
)
DEAL = object_of(
    id=ID,
    name=NAME,
    client_name=or_null(NAME),
    price=or_null(NUMBER),
    currency=NAME,
    expected_close_date=or_null(DATE),
    status_id=or_null(ID),
    overdue=BOOLEAN,
    rotting=BOOLEAN,
)
MENTION = object_of(id=ID, title=NAME, url={"type": "string", "format": "uri"}, created_at=TIME)
RESPONSES["read_home"] = object_of(
    tasks=array_of(TASK, maxItems=BOX_SIZE),
    deals=or_null(array_of(DEAL, maxItems=BOX_SIZE)),
    mentions=array_of(MENTION, maxItems=BOX_SIZE),
    suggestions=array_of(object_of(id=ID, title=NAME, votes=COUNT, created_at=TIME), maxItems=BOX_SIZE),
    month=or_null(MONTH),
)
FIRST_STEP = object_of(
    name=one_of([step.name for step in STEPS]), label=NAME, done=BOOLEAN, url={"type": "string", "format": "uri"}
)
RESPONSES["read_first_steps"] = object_of(first_steps=array_of(FIRST_STEP, maxItems=len(STEPS)), has_examples=BOOLEAN)
RESPONSES["create_examples"] = object_of({relation: array_of(ID) for relation in KINDS.values()})
RESPONSES["delete_examples"] = object_of(kept=array_of(NAME))
