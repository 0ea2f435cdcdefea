"""Writing the suggestions and tasks of an import, with their authors, voters and comments."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.users.models import User
from core.db.tenancy import next_ids
from core.errors import FieldError, FieldErrors
from core.rows.trimmed import fold_email
from forum.comments.models import Comment
from forum.posts.api import PostSerializer
from forum.posts.models import Post
from forum.texts.markdown import render
from forum.votes.models import Vote
from team.batches.restoring import has_tag
from team.imports.fields import RowKind
from team.imports.lines import SEPARATORS, Line, read_time
from team.imports.writing import KindWriter, PartContext, PendingRow
from team.spreadsheets.values import EMAIL

MAX_VOTERS, MAX_COMMENTS, MAX_COMMENT_LENGTH = 10_000, 1_000, 65_536
# The fields that are no columns of a post.
FURTHER = frozenset({"author.email", "author.name", "voters", "comments"})


class PostWriter(KindWriter):
    """The writer of suggestions or tasks. A post is written by the method of its model, which takes several statements.

    Voters and comments are taken over for new suggestions only. Members who do not exist yet are created, without a notification.
    """

    def __init__(self, part: PartContext, kind: RowKind) -> None:
        super().__init__(part, kind)
        self.members: dict[str, User] = {}
        self.pending: list[tuple[Post, dict[str, Any]]] = []

    def find_rows(self) -> Any:
        rows = self.account.posts.live().accessible_to(self.user)
        return rows.filter(category_id=None) if self.kind == RowKind.TASK else rows.without_tasks()

    def make(self) -> Any:
        [id] = next_ids(self.account.id, 1)
        return Post(account=self.account, id=id, agent="import")

    def look_up(self, lines: Sequence[Line]) -> None:
        super().look_up(lines)
        emails = {fold_email(email) for line in lines for email, _name in people_of(line.values[self.kind])}
        users = self.account.users.filter(email_key__in=emails)
        self.members = {fold_email(user.email): user for user in users}
        for user in self.members.values():
            user.account = self.account

    def resolve(self, line: Line, *, row: Any) -> dict[str, Any]:
        data = super().resolve(line, row=row)
        tags = [*(data.get("tags") or ()), *self.settings.tags]
        if tags:
            current = [] if row is None else row.tags
            data["tags"] = current + [name for name in dict.fromkeys(tags) if not has_tag(current, name)]
        if self.kind == RowKind.TASK and row is None:
            data.setdefault("task_kind", Post.TaskKind.TASK)
        return data

    def validate(self, row: Any, data: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
        further = {name: data.pop(name, None) for name in (*FURTHER, "created_at", "approved")}
        serializer = PostSerializer(
            None if is_new else row,
            data=data,
            partial=not is_new,
            context={"account": self.account, "access": self.user.access},
        )
        errors, values = serializer.find_errors(), serializer.values
        if is_new:
            for name, read in (("created_at", read_time), ("voters", read_voters), ("comments", read_comments)):
                try:
                    if further[name]:
                        values[name] = read(further[name])
                except FieldErrors as caught:
                    errors += caught.errors
            if further["author.email"]:
                values["author"] = (further["author.email"].strip(), further["author.name"] or "")
                errors += email_errors("author.email", [values["author"][0]])
            if "voters" in values:
                errors += email_errors("voters", [email for email, _name in values["voters"]])
        if further["approved"] is not None:
            values["approved"] = further["approved"]
        if errors:
            raise FieldErrors(errors)
        return values

    def assign_values(self, row: Any, values: dict[str, Any], *, is_new: bool) -> None:
        self.pending.append((row, values))

    def change(self, row: Any, values: dict[str, Any], before: dict[str, Any]) -> list[str]:
        plain = {**values, **({"status_id": values["status"].id} if "status" in values else {})}
        changed = [name for name in before if name in plain and plain[name] != getattr(row, name)]
        if changed:
            self.pending.append((row, values))
        return changed + (["closed"] if "status_id" in changed and "closed" not in changed else [])

    def recorded_names(self, pending: PendingRow) -> list[str]:
        names = [name for name in pending.names if name not in FURTHER and name != "created_at"]
        return names + (["closed"] if "status_id" in names and "closed" not in names else [])

    def flush(self) -> None:
        for row, values in self.pending:
            author = values.pop("author", None)
            voters, comments = values.pop("voters", ()), values.pop("comments", ())
            if row._state.adding and author is not None:
                values["user_id"] = self.member(*author).id
            row.write(values, by=self.user, is_silent=True)
            if voters:
                Vote.objects.bulk_create(
                    Vote(account=self.account, post_id=row.id, user_id=id)
                    for id in sorted({self.member(email, name).id for email, name in voters})
                )
            for comment in comments:
                self.add_comment(row, comment)

    def add_comment(self, row: Post, comment: dict[str, Any]) -> None:
        email, name = comment.get("email") or "", comment.get("name") or ""
        created_at = read_time(comment["created_at"]) if comment.get("created_at") else timezone.now()
        Comment.objects.create(
            account=self.account,
            post_id=row.id,
            user_id=self.member(email, name).id if email else self.user.id,
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
            user = create_member(self.account, email, name)
            self.part.outcome.created_names[str(_("Members"))].add(email)
            self.members[key] = user
        return self.members[key]


def create_member(account: Account, email: str, name: str) -> User:
    """Create a member without a password, who can sign in with a code that is sent to the e-mail. Nobody is notified."""
    login = User.objects.suggest_login(account.id, email)
    return User.objects.create_for(account, login=login, email=email, password=None, name=name or login)


def people_of(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the e-mails and names of the people in the values of a line, also invalid ones."""
    people = [(values.get("author.email") or "", "")]
    for name, read in (("voters", read_voters), ("comments", read_comments)):
        try:
            found = read(values[name]) if values.get(name) else []
        except FieldErrors:
            continue
        people += found if name == "voters" else [(comment.get("email") or "", "") for comment in found]
    return [(email, name) for email, name in people if email]


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
    return [(str(item.get("email") or "").strip(), str(item.get("name") or "")[:255]) for item in map(as_object, items)]


def read_comments(text: str) -> list[dict[str, Any]]:
    """Return the comments of a cell: one comment, or JSON with a list of objects with `text`, `email`, `name` and `created_at`."""
    items = read_json("comments", text)
    comments = [{"text": text}] if items is None else [as_object(item) for item in items]
    if len(comments) > MAX_COMMENTS:
        raise FieldError("comments", _("are too many (maximum is {most})"), "too_many", {"most": MAX_COMMENTS})
    for comment in comments:
        comment["text"] = str(comment.get("text") or "").strip()
        if not 0 < len(comment["text"]) <= MAX_COMMENT_LENGTH:
            message = _("A comment is blank or too long (maximum is {most} characters)")
            raise FieldError("comments", message, "too_long", {"most": MAX_COMMENT_LENGTH})
        if comment.get("created_at"):
            read_time(str(comment["created_at"]), "comments")
        if comment.get("email") and email_errors("comments", [str(comment["email"])]):
            raise email_errors("comments", [str(comment["email"])])[0]
    return comments


def as_object(item: object) -> dict[str, Any]:
    return item if isinstance(item, dict) else {"email": item, "text": item}
