"""Answers of the team in the Account API (JSON)."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.hosts.api import TypedViewSet
from accounts.statuses.models import Status
from core.api.fields import BooleanField, DateTimeField, IntegerField, RelatedField, TextField
from core.api.filters import ListFilters, WireFilter, link_filter
from core.api.lists import Paged
from core.api.resources import ResourceViewSet
from core.api.serializers import ResourceSerializer, declared_fields
from core.errors import FieldError
from core.openapi.fields import FILLED_ID, WireFieldExtension
from core.openapi.operations import SHAPES, Shape
from forum.answers.models import Answer, AnswerQuerySet


class AnswerSerializer(ResourceSerializer):
    model = Answer

    post_id = RelatedField("posts", category_id__isnull=False, trashed_at=None)
    status_id = RelatedField("statuses", kind=Status.Kind.POST)
    response = TextField()
    silent = BooleanField()
    tell_customers = BooleanField()
    publish_at = DateTimeField()
    user_id = IntegerField(read_only=True)
    published_at = DateTimeField(read_only=True)
    customers_told = IntegerField(read_only=True)
    failure = TextField(read_only=True)

    def validate(self, values: dict[str, Any]) -> dict[str, object]:
        """Leave out nulls, except for the status and the time, where null means the present status and now."""
        nullable = ("status_id", "publish_at")
        values = {name: value for name, value in values.items() if value is not None or name in nullable}
        if self.instance is None and "post_id" not in values:
            raise FieldError("post_id", _("can't be blank"), "required")
        if self.instance is not None and values.get("post_id", self.instance.post_id) != self.instance.post_id:
            raise FieldError("post_id", _("can't be changed"), "fixed")
        return values


class PublishedFilter(WireFilter):
    def filter(self, rows: QuerySet[Any], value: bool | None) -> QuerySet[Any]:
        return rows if value is None else rows.filter(published_at__isnull=not value)


class AnswerFilters(ListFilters):
    # The list is not searched.
    q = None  # type: ignore[assignment]  # removes the filter of the base class
    post_id = link_filter()
    published = PublishedFilter(BooleanField())


class AnswerViewSet(TypedViewSet, Paged, ResourceViewSet):
    """Answers, the newest first. An answer can be changed and deleted until it is published."""

    areas = ("posts",)
    model = Answer
    serializer_class = AnswerSerializer
    filterset_class = AnswerFilters

    def get_queryset(self) -> AnswerQuerySet:
        rows: AnswerQuerySet = self.account.answers.order_by("-id")
        return rows

    def perform_destroy(self, row: Answer) -> None:
        row.erase()


# The OpenAPI document, as far as views and serializers do not tell it
POST_ID = WireFieldExtension.find_for(declared_fields(AnswerSerializer)["post_id"]).request_schema()
SHAPES[AnswerSerializer] = Shape(rules={"properties": {"post_id": {**POST_ID, **FILLED_ID}}, "required": ["post_id"]})
