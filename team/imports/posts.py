"""Writing the suggestions and tasks of an import, with their authors, voters and comments."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.fields.catalogue import defined_name
from accounts.fields.models import FieldDefinition
from accounts.users.models import User
from core.api.fields import TagsField
from core.db.tenancy import next_ids
from core.errors import FieldError, FieldErrors
from core.rows.trimmed import fold_email
from crm.resources.api.fields import Lookup
from crm.resources.api.views import name_defined_field, nested
from forum.comments.models import Comment
from forum.posts.api import PostSerializer
from forum.posts.models import Post
from forum.texts.markdown import render
from forum.votes.models import Vote
from team.batches.restoring import ADDED_COMMENTS, ADDED_VOTERS, has_tag
from team.import_lines.fields import ImportField, RowKind
from team.import_lines.lines import SEPARATORS, Line, read_time
from team.imports.writing import KindWriter, PartContext, PendingRow
from team.spreadsheets.values import EMAIL

MAX_VOTERS, MAX_COMMENTS, MAX_COMMENT_LENGTH = 10_000, 1_000, 65_536
# The fields that `PostSerializer` does not read.
FURTHER = frozenset(
    {
        "author.email",
        "author.name",
        "source_id",
        "voters",
        "comments",
        "comments.author.email",
        "comments.author.name",
        "comments.created_at",
        "created_at",
        "approved",
    }
)


@dataclass
class PendingPost:
    """A post with the values to write, and the votes and comments to add."""

    row: Post
    values: dict[str, Any]
    voter_ids: list[int]
    comments: list[Comment]


class PostWriter(KindWriter):
    """The writer of suggestions or tasks. A post is written by the method of its model, which takes several statements.

    Members who do not exist yet are created, without a notification.
    """

    def __init__(self, part: PartContext, kind: RowKind) -> None:
        super().__init__(part, kind)
        self.lookup = Lookup(self.account, self.user.access)
        self.members: dict[str, User] = {}
        self.pending: list[PendingPost] = []
        # The tags of posts that are not written yet.
        self.tags: dict[int, list[str]] = {}

    def find_rows(self) -> Any:
        rows = self.account.posts.live().accessible_to(self.user)
        return rows.filter(category_id=None) if self.kind == RowKind.TASK else rows.without_tasks()

    def definition_of(self, field: ImportField) -> FieldDefinition:
        return self.lookup.definitions(FieldDefinition.Target.SUGGESTION)[field.field.key]

    def make(self) -> Any:
        [id] = next_ids(self.account.id, 1)
        return Post(account=self.account, id=id, agent="import")

    def look_up(self, lines: Sequence[Line]) -> None:
        super().look_up(lines)
        emails = {fold_email(email) for line in lines for email in emails_of(line.values[self.kind])}
        self.members = {fold_email(user.email): user for user in self.account.users.filter(email_key__in=emails)}

    def resolve(self, line: Line, *, row: Any) -> dict[str, Any]:
        data = super().resolve(line, row=row)
        tags = [*(data.get("tags") or ()), *self.settings.tags]
        if tags:
            current = [] if row is None else self.tags.get(row.id, row.tags)
            data["tags"] = current + [name for name in dict.fromkeys(tags) if not has_tag(current, name)]
        if self.kind == RowKind.TASK and row is None:
            data.setdefault("task_kind", Post.TaskKind.TASK)
        return data

    def validate(self, row: Any, data: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
        data = dict(data)
        further = {name: data.pop(name, None) for name in FURTHER}
        data = dict[str, Any](nested(data))
        if is_new and further["source_id"]:
            data["additional_fields"] = {**data.get("additional_fields", {}), "source_id": further["source_id"]}
        errors: list[FieldError] = []
        if not is_new and row._state.adding:
            # An earlier line of the part creates the suggestion. This one adds a vote, a comment or a tag.
            values = {"tags": TagsField().run_validation(data["tags"])} if "tags" in data else {}
        else:
            context = {"account": self.account, "access": self.user.access, "lookup": self.lookup}
            serializer = PostSerializer(None if is_new else row, data=data, partial=not is_new, context=context)
            errors = [name_defined_field(error) for error in serializer.find_errors()]
            values = serializer.values
        if further["approved"] is not None:
            values["approved"] = further["approved"]
        for name, read in (("voters", read_voters), ("comments", partial(read_comments, further=further))):
            try:
                if further[name]:
                    values[name] = read(further[name])
            except FieldErrors as caught:
                errors += caught.errors
        if is_new and further["author.email"]:
            values["author"] = (further["author.email"].strip(), further["author.name"] or "")
            errors += email_errors("author.email", [values["author"][0]])
        if is_new and further["created_at"]:
            try:
                values["created_at"] = read_time(further["created_at"])
            except FieldErrors as caught:
                errors += caught.errors
        if errors:
            raise FieldErrors(errors)
        return values

    def assign_values(self, row: Any, values: dict[str, Any], *, is_new: bool) -> None:
        values = dict(values)
        if "tags" in values:
            self.tags[row.id] = values["tags"]
        author = values.pop("author", None)
        if author is not None:
            values["user_id"] = self.member(*author).id
        if is_new:
            # Nobody has to deal with it in the inbox.
            now = timezone.now()
            values |= {"handled_at": now, "answered_at": now}
        voters, comments = values.pop("voters", ()), values.pop("comments", ())
        voter_ids = {self.member(email, name).id for email, name in voters}
        made = [self.make_comment(row, comment) for comment in comments]
        if not is_new:
            voter_ids -= set(
                self.account.votes.filter(post_id=row.id, user_id__in=voter_ids).values_list("user_id", flat=True)
            )
            known = set(self.account.comments.filter(post_id=row.id).values_list("user_id", "comment"))
            made = [comment for comment in made if (comment.user_id, comment.comment) not in known]
        earlier = {id for post in self.pending if post.row is row for id in post.voter_ids}
        self.pending.append(PendingPost(row, values, sorted(voter_ids - earlier), made))

    def change(self, row: Any, values: dict[str, Any], before: dict[str, Any]) -> list[str]:
        plain = {**values, **({"status_id": values["status"].id} if "status" in values else {})}
        additional: dict[str, object] = plain.pop("additional_fields", {})
        changed = [name for name in before if name in plain and plain[name] != getattr(row, name)]
        changed += [
            name for key in additional if (name := defined_name(key)) in before and additional[key] != before[name]
        ]
        kept = {name: value for name, value in values.items() if name in ("voters", "comments") or changed}
        if not kept:
            return []
        self.assign_values(row, kept, is_new=False)
        post = self.pending[-1]
        for name, ids in ((ADDED_VOTERS, post.voter_ids), (ADDED_COMMENTS, [comment.id for comment in post.comments])):
            setattr(row, name, getattr(row, name, {}) | dict.fromkeys(map(str, ids), True))
            changed += [f"{name}[{id}]" for id in ids]
            before |= {f"{name}[{id}]": None for id in ids}
        if not changed:
            self.pending.pop()
        return changed + (["closed"] if "status_id" in changed and "closed" not in changed else [])

    def recorded_names(self, pending: PendingRow) -> list[str]:
        names = [name for name in pending.names if name not in FURTHER]
        return names + (["closed"] if "status_id" in names and "closed" not in names else [])

    def flush(self) -> None:
        for post in self.pending:
            row = post.row
            if row._state.adding:
                post.values["comments_cache"] = len(post.comments)
            if post.values:
                row.write(post.values, by=self.user, is_silent=True)
            Vote.objects.bulk_create(Vote(account=self.account, post_id=row.id, user_id=id) for id in post.voter_ids)
            if post.comments:
                if "comments_cache" not in post.values:
                    Post.objects.filter(pk=row.pk).update(comments_cache=F("comments_cache") + len(post.comments))
                Comment.objects.bulk_create(post.comments)

    def make_comment(self, row: Post, comment: dict[str, Any]) -> Comment:
        created_at = read_time(comment["created_at"], "comments") if comment.get("created_at") else timezone.now()
        email = comment.get("email") or ""
        return Comment(
            account=self.account,
            id=next_ids(self.account.id, 1)[0],
            post_id=row.id,
            user_id=self.member(email, comment.get("name") or "").id if email else self.user.id,
            comment=comment["text"],
            comment_html=render(comment["text"]),
            agent="import",
            created_at=created_at,
            updated_at=created_at,
        )

    def member(self, email: str, name: str) -> User:
        """Return the user with an e-mail, who is created if there is none."""
        key = fold_email(email)
        if key not in self.members:
            self.members[key] = create_member(self.account, email, name)
            self.part.outcome.created_names[str(_("Members"))].add(email)
        return self.members[key]


def create_member(account: Account, email: str, name: str) -> User:
    """Create a member without a password, who can sign in with a code that is sent to the e-mail. Nobody is notified."""
    login = User.objects.suggest_login(account.id, email)
    return User.objects.create_for(account, login=login, email=email, password=None, name=name or login)


def emails_of(values: dict[str, Any]) -> set[str]:
    """Return the e-mails of the people in the values of a line, also invalid ones."""
    emails = {values.get("author.email"), values.get("comments.author.email")}
    with suppress(FieldErrors):
        emails |= {email for email, _name in read_voters(values.get("voters") or "")}
    with suppress(FieldErrors):
        emails |= {comment.get("email") for comment in read_comments(values.get("comments") or "[]", {})}
    return {email.strip() for email in emails if email}


def email_errors(field: str, emails: Iterable[str]) -> list[FieldError]:
    invalid = [email for email in emails if not EMAIL.fullmatch(email) or len(email) > 255]
    return [
        FieldError(field, _("“{value}” is not an e-mail address"), "email", {"value": email[:100]})
        for email in invalid[:1]
    ]


def read_json(name: str, text: str) -> list[Any] | None:
    """Return the JSON list in a cell, or None for another text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        raise FieldError(name, _("is not valid JSON"), "json") from None
    return items if isinstance(items, list) else None


def read_voters(text: str) -> list[tuple[str, str]]:
    """Return the e-mails and names of voters: a list of e-mails, or JSON with a list of objects."""
    items = read_json("voters", text)
    if items is None:
        items = [{"email": part.strip()} for part in SEPARATORS.split(text) if part.strip()]
    if len(items) > MAX_VOTERS:
        raise FieldError("voters", _("are too many (maximum is {most})"), "too_many", {"most": MAX_VOTERS})
    voters = [
        (str(item.get("email") or "").strip(), str(item.get("name") or "")[:255]) for item in map(as_object, items)
    ]
    if errors := email_errors("voters", [email for email, _name in voters]):
        raise FieldErrors(errors)
    return voters


def read_comments(text: str, further: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the comments of a cell: one, or JSON with a list of objects with `text`, `email`, `name` and `created_at`.

    `further` has the values of the columns with the author and the time of one comment.
    """
    items = read_json("comments", text)
    names = {"email": "comments.author.email", "name": "comments.author.name", "created_at": "comments.created_at"}
    one = {"text": text, **{key: further[name] for key, name in names.items() if further.get(name)}}
    comments = [one] if items is None else [as_object(item) for item in items]
    if len(comments) > MAX_COMMENTS:
        raise FieldError("comments", _("are too many (maximum is {most})"), "too_many", {"most": MAX_COMMENTS})
    for comment in comments:
        comment |= {key: str(value).strip() for key, value in comment.items() if value is not None}
        if not 0 < len(comment.get("text") or "") <= MAX_COMMENT_LENGTH:
            message = _("A comment is blank or too long (maximum is {most} characters)")
            raise FieldError("comments", message, "too_long", {"most": MAX_COMMENT_LENGTH})
        if comment.get("created_at"):
            read_time(comment["created_at"], "comments")
        if comment.get("email") and (errors := email_errors("comments", [comment["email"]])):
            raise FieldErrors(errors)
    return comments


def as_object(item: object) -> dict[str, Any]:
    return item if isinstance(item, dict) else {"email": item, "text": item}
