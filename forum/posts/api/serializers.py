"""The serializers of posts and tasks in the Account API. Fields are in the order of the JSON objects."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.roles.models import ASSIGNABLE
from accounts.statuses.models import Status
from core.api.additional_fields import CUSTOM_FIELDS, AdditionalFieldsField, AdditionalFieldsSerializer, AnyScalarField
from core.api.fields import (
    BooleanField,
    ChoiceField,
    DateTimeField,
    DecimalField,
    IntegerField,
    RelatedField,
    ScalarField,
    TagsField,
    TextField,
    long_text_field,
)
from core.errors import FieldError, FieldErrors
from core.http.times import date_of_text
from core.rows.trimmed import trim
from forum.categories.models import Category
from forum.posts.models import Post


class StatusCode(ScalarField):
    """A status for posts, given by its code."""

    default_error_messages = {"unknown": _("is not one of {choices}")}

    def to_internal_value(self, data: object) -> Status:
        statuses = {status.code: status for status in self.context["account"].statuses.filter(kind=Status.Kind.POST)}
        code = trim(str(data))
        if code not in statuses:
            self.fail("unknown", choices=", ".join(sorted(statuses, key=lambda code: statuses[code].position)))
        result: Status = statuses[code]
        return result


POST_FIELDS = {
    **CUSTOM_FIELDS,
    "abstract": long_text_field,
    "answer": long_text_field,
    "answered": BooleanField,
    "email": TextField,
    "email_to": long_text_field,
    "email_cc": long_text_field,
    "email_bcc": long_text_field,
    "email_recipient": TextField,
    "email_reply_to": TextField,
    "facebook_likes": IntegerField,
    "help_content": long_text_field,
    "help_link": TextField,
    "ip": TextField,
    "last_action_status": TextField,
    "min_votes_to_start": IntegerField,
    "project_id": IntegerField,
    "referrer": long_text_field,
    "spam_kind": AnyScalarField,
    "spam_report": AnyScalarField,
    "spam_score": DecimalField,
    "title_note": long_text_field,
    "uid": TextField,
    "unread": BooleanField,
    "use_html": BooleanField,
    "user_spam_report": AnyScalarField,
    "view_count": IntegerField,
    "www": TextField,
}


class PostSerializer(AdditionalFieldsSerializer):
    model = Post
    typed = POST_FIELDS

    id = IntegerField(read_only=True)
    title = TextField(required=True)
    content = TextField()
    task_kind = ChoiceField(Post.TaskKind.values)
    client_id = RelatedField("clients")
    responsible_id = RelatedField("users", **ASSIGNABLE)
    kind = ChoiceField(Post.Kind.values)
    status = StatusCode()
    status_id = RelatedField("statuses", kind=Status.Kind.POST)
    category_id = RelatedField("categories")
    forum_id = RelatedField("forums")
    post_id = IntegerField(read_only=True)
    private = BooleanField()
    closed = BooleanField()
    priority = IntegerField(min_value=-(2**31), max_value=2**31 - 1)
    scheduled_at = DateTimeField()
    tags = TagsField()
    response = TextField()
    additional_fields = AdditionalFieldsField(POST_FIELDS)
    user_id = IntegerField(read_only=True)
    nick = TextField(read_only=True)
    agent = TextField(read_only=True)
    votes_cache = IntegerField(read_only=True)
    comments_cache = IntegerField(read_only=True)
    points = IntegerField(read_only=True)
    response_user_id = IntegerField(read_only=True)
    duplicate_from_id = IntegerField(read_only=True)
    contact_id = RelatedField("contacts")
    deal_id = RelatedField("deals")
    remind_at = DateTimeField()
    completed_at = DateTimeField(read_only=True)

    sources = {"status": "status_code", "points": "votes_cache"}

    def validate(self, values: dict[str, Any]) -> dict[str, object]:
        """Check the rules between fields. Drop nulls of fields that cannot be null."""
        values = super().validate(values)
        for name in ("content", "task_kind", "kind", "status", "status_id", "private", "closed", "priority"):
            if name in values and values[name] is None:
                del values[name]
        if values.get("scheduled_at") is not None:
            # A date without a time of day. `write` removes the day if the time changes.
            day = date_of_text(self.initial_data["scheduled_at"])
            values |= {"due_day": day} if day else {}
        if status_id := values.pop("status_id", None):
            values["status"] = self.resolve_status(status_id, values.get("status"))
        place = self.place_task(values) if self.is_task(values) else self.place_post(values)
        return {**values, **place}

    def resolve_status(self, status_id: int, status: Status | None) -> Status:
        """Return the status with the id. `status` is the status of the submitted code, if any. Raise FieldError if the two conflict."""
        current_id = self.instance.status_id if self.instance else None
        # Responses have both the id and the code. If a client sends a whole post back and changed only one of the two, that one applies.
        if status is None or (status.id == current_id != status_id):
            result: Status = self.context["account"].statuses.get(id=status_id)
            return result
        if status_id not in (current_id, status.id):
            raise FieldError("status_id", _("is that of another status than {code}"), "other", {"code": status.code})
        return status

    def is_task(self, values: dict[str, object]) -> bool:
        row = self.instance
        kind = values.get("task_kind", row.task_kind if row else Post.TaskKind.FEEDBACK)
        if row and (kind == Post.TaskKind.FEEDBACK) != (row.category_id is not None):
            raise FieldError("task_kind", _("can't be changed between a forum post and a task"), "fixed")
        return kind != Post.TaskKind.FEEDBACK

    def place_task(self, values: dict[str, object]) -> dict[str, object]:
        refused = [name for name in ("category_id", "forum_id") if values.get(name) is not None]
        if refused:
            raise FieldErrors(FieldError(name, _("can't be given for a task"), "task") for name in refused)
        return {"category_id": None, "forum_id": None}

    def place_post(self, values: dict[str, Any]) -> dict[str, object]:
        """Return the forum and category of a forum post. The default is the first category of the default forum."""
        if self.instance and values.get("category_id") is None and values.get("forum_id") is None:
            return {"category_id": self.instance.category_id, "forum_id": self.instance.forum_id}
        account = self.context["account"]
        categories = account.categories.all()
        if values.get("category_id") is not None:
            category = categories.get(id=values["category_id"])
            if values.get("forum_id") not in (None, category.forum_id):
                raise FieldError("category_id", _("is not in forum {id}"), "elsewhere", {"id": values["forum_id"]})
        else:
            forum_id = values.get("forum_id") or account.forums.values_list("id", flat=True).get(is_default=True)
            category = Category.objects.find_first(account.id, forum_id)
            if category is None:
                raise FieldError("forum_id", _("has no category"), "empty")
        return {"category_id": category.id, "forum_id": category.forum_id}
