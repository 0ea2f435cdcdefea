"""Writing the rows of a page of the older server. The serializers of the JSON API validate them.

A row keeps its id if no row of the account has it, and its times. A row that the account has already, such as a status with the same code, is
used as it is. Of a row that was moved before, the fields that changed there since are written, unless someone has changed them here.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, cast

from django.db import DataError, IntegrityError, connection, models, transaction
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from accounts.fields.models import EXTERNAL_ID
from accounts.statuses.api import StatusSerializer
from accounts.statuses.models import Status
from accounts.users.api import NewUserSerializer
from accounts.users.models import User
from core.api.additional_fields import AdditionalFieldsField
from core.api.fields import TextField
from core.api.serializers import ResourceSerializer
from core.db.tenancy import fold, next_ids
from core.errors import FieldError, FieldErrors
from core.rows.additional_fields import to_json
from core.rows.trimmed import fold_email, name_key
from crm.clients.api import ClientSerializer
from crm.clients.models import Client
from crm.contacts.api import ContactListSerializer, ContactSerializer
from crm.contacts.models import Contact, ContactList
from crm.deals.api import DealSerializer
from crm.deals.models import Deal
from crm.notes.models import Note
from crm.resources.api.fields import Lookup
from crm.resources.models import CRMResource
from forum.categories.models import Category
from forum.comments.models import Comment
from forum.posts.api import PostSerializer
from forum.posts.models import Post
from forum.texts.markdown import render
from forum.votes.models import Vote
from team.batches.restoring import values_of
from team.imports.customers import nested_values
from team.imports.posts import MAX_COMMENT_LENGTH
from team.imports.writing import create_status
from team.move_in.client import Row
from team.move_in.reading import LINKS, SECOND_PASS, OldRow, id_of, key_of

SERIALIZERS: Mapping[str, type[ResourceSerializer]] = {
    "contact_list": ContactListSerializer,
    "client": ClientSerializer,
    "contact": ContactSerializer,
    "deal": DealSerializer,
    "task": PostSerializer,
    "suggestion": PostSerializer,
}
# An id in an address or in the trash belongs to one row of these tables.
WITH_SHARED_IDS: tuple[type[models.Model], ...] = (Client, Contact, ContactList, Deal, Note, Post, Comment)
# Fields that other fields say too, or that the place of the row decides.
LEFT_OUT = {"client", "try_update", "forum_id", "post_id", "status", "approved", "merged_into", EXTERNAL_ID}


class RowWriter:
    """The writer of the rows of one page. It gets the `MoveIn`, whose module imports this one."""

    def __init__(self, move_in: Any, user: User) -> None:
        self.move_in, self.account, self.user = move_in, move_in.account, user
        self.counts: Counter[tuple[str, str]] = Counter()
        # Numbers by what was lost; rows and fields that were refused, and fields that were kept.
        self.lost: dict[str, Counter[str]] = defaultdict(Counter)
        self.refused: list[dict[str, Any]] = []
        self.kept: list[dict[str, Any]] = []
        self.known: dict[tuple[str, str], Any] = {}
        self.pending: dict[str, dict[str, Any]] = defaultdict(dict)
        self.last_id = 0

    def write(self, old: OldRow) -> None:
        """Write a row with its comments, or report why it is refused."""
        self._try(old.kind, old.key, lambda: self._write_row(old))
        if (moved := self.find(old.kind, old.key)) is not None:
            for comment in old.comments:
                key = key_of(comment.get("id"))
                self._try("comment", key, partial(self._add_comment, key, comment, moved.target))
        if old.kind == "suggestion" and (votes := id_of(old.data.get("votes_cache"))):
            self.lost["votes"]["suggestion"] += votes

    def _try(self, kind: str, key: str, act: Any) -> None:
        try:
            if not key:
                raise FieldError("id", _("can't be blank"), "required")
            with transaction.atomic():
                result = act()
        except FieldErrors as caught:
            self.refuse(kind, key, "; ".join(f"{error.field}: {error.text}" for error in caught.errors))
        except (IntegrityError, DataError) as error:
            # The message of the database may have values of the row.
            self.refuse(kind, key, type(error).__name__)
        else:
            self.counts[kind, result] += 1
            return
        self.known.pop((kind, key), None)
        self.counts[kind, "refused"] += 1

    def refuse(self, kind: str, key: str, reason: str) -> None:
        self.refused.append({"kind": kind, "id": key, "reason": reason[:500]})

    def finish(self) -> None:
        """Record what was written, as the database has it, and take no id again that a row has kept."""
        for kind, pending in self.pending.items():
            ids = [moved.target for moved in pending.values()]
            rows = {row.id: row for row in self.rows_of(kind).filter(id__in=ids)} if kind in SERIALIZERS else {}
            for moved in pending.values():
                if moved.target in rows:
                    moved.written = digests(values_of(rows[moved.target], moved.taken))
                moved.save(force_insert=moved._state.adding)
        if self.last_id:
            with connection.cursor() as cursor:
                cursor.execute("SELECT account_ids.advance(%s, %s)", [self.account.id, self.last_id])

    # Looking up

    def find(self, kind: str, key: str) -> Any:
        if (kind, key) not in self.known:
            self.known[kind, key] = self.move_in.moved_rows.filter(kind=kind, source=stored_key(key)).first()
        return self.known[kind, key]

    def remember(self, kind: str, key: str, target: int, taken: Mapping[str, Any] | None = None) -> None:
        moved = self.find(kind, key) or self.move_in.moved_rows.model(
            account=self.account, move_in_id=self.move_in.id, kind=kind, source=stored_key(key)
        )
        moved.target, moved.taken = target, dict(taken or {})
        self.known[kind, key] = self.pending[kind][key] = moved

    def target(self, kind: str, value: object) -> int | None:
        moved = self.find(kind, key) if (key := key_of(value)) else None
        return None if moved is None else moved.target

    def author(self, data: Row, name: str = "user_id") -> int:
        return self.target("user", data.get(name)) or self.user.id

    def rows_of(self, kind: str) -> Any:
        if kind == "contact":
            return self.account.contacts.live().with_list_ids()
        return {
            "contact_list": self.account.contact_lists,
            "client": self.account.clients,
            "deal": self.account.deals,
        }.get(kind, self.account.posts).live()

    def free_id(self, model: type[models.Model], data: Row) -> int | None:
        """Return the id of the older server if no row has it, or else None."""
        id = id_of(data.get("id"))
        others = WITH_SHARED_IDS if model in WITH_SHARED_IDS else (model,)
        if id is None or any(
            other._base_manager.filter(account_id=self.account.id, id=id).exists() for other in others
        ):
            return None
        self.last_id = max(self.last_id, id)
        return id

    # Writing

    def _write_row(self, old: OldRow) -> str:
        if old.kind in SERIALIZERS:
            values = self.values_from(old)
            moved = self.find(old.kind, old.key)
            return self._create(old, values) if moved is None else self._update(old, values, moved)
        if self.find(old.kind, old.key) is not None:
            return "unchanged"
        if old.kind in ("comment", "vote"):
            if (post_id := self.target("suggestion", old.data.get("post_id"))) is None:
                raise FieldError("post_id", _("can't be found"), "gone")
            return (self._add_vote if old.kind == "vote" else self._add_comment)(old.key, old.data, post_id)
        id, result = {"user": self._add_user, "status": self._add_status, "category": self._add_category}[old.kind](
            old.data
        )
        self.remember(old.kind, old.key, id)
        return result

    def _add_user(self, data: Row) -> tuple[int, str]:
        """Add a user without a password, who signs in with a code. An admin of the older server becomes an agent."""
        email = fold_email(str(data.get("email") or ""))
        if (user := self.account.users.filter(email_key=email).first()) is not None:
            return user.id, "present"
        names = {name: data.get(name) for name in ("login", "email", "name") if data.get(name)}
        if not names.get("login") or self.account.users.filter(login_key=fold(str(names["login"]))).exists():
            names["login"] = User.objects.suggest_login(self.account.id, str(data.get("email")))
        serializer = NewUserSerializer(data=names, partial=True, context={"account": self.account})
        values = {"login": "", "email": "", **serializer.read()}
        if not values["login"] or not values["email"]:
            raise FieldError("email", _("can't be blank"), "required")
        is_member = data.get("role") == User.Role.MEMBER
        if data.get("role") not in (None, User.Role.MEMBER, User.Role.AGENT):
            self.lost["roles"][values["login"]] += 1
        role = User.Role.MEMBER if is_member else User.Role.AGENT
        times = {"created_at": created} if (created := time_of(data.get("created_at"))) else {}
        fields = {"id": self.free_id(User, data), "role": role, **times, **values}
        user = User.objects.create_for(self.account, password=None, **cast(Any, fields))
        return user.id, "created"

    def _add_status(self, data: Row) -> tuple[int, str]:
        if (found := self.find_status(data)) is not None:
            return found.id, "present"
        serializer_class = StatusSerializer
        values = {name: value for name, value in data.items() if name in serializer_class.writable}
        # A pipeline has other ids here. A new status comes last.
        values = {name: value for name, value in values.items() if name not in ("pipeline_id", "position")}
        status = Status(account=self.account, id=cast(Any, self.free_id(Status, data)))
        status.write(serializer_class(data=values, context={"account": self.account}).read())
        return status.id, "created"

    def _add_category(self, data: Row) -> tuple[int, str]:
        name = TextField(max_length=255).run_validation(data.get("name")) or ""
        if (found := self.find_category(data)) is not None:
            return found.id, "present"
        category = Category(account=self.account, forum_id=self.forum_id, id=cast(Any, self.free_id(Category, data)))
        category.write(name=name)
        return category.id, "created"

    @cached_property
    def forum_id(self) -> int:
        id: int = self.account.forums.values_list("id", flat=True).get(is_default=True)
        return id

    def find_category(self, data: Row) -> Category | None:
        return Category.objects.find_by_name(self.account.id, self.forum_id, str(data.get("name") or ""))

    def find_status(self, data: Row) -> Status | None:
        """Return the status with the code or the name, or with the code `like`."""
        statuses = self.account.statuses.filter(kind=str(data.get("kind") or Status.Kind.POST))
        for field, name in (("code", "code"), ("name", "name"), ("code", "like")):
            key = name_key(str(data.get(name) or ""))
            if (found := statuses.filter(**{f"{field}_key": key}).first()) is not None:
                return cast(Status, found)
        return None

    def values_from(self, old: OldRow) -> dict[str, Any]:
        """Return the values to write, by field, with links to the rows here. Unknown fields are kept as additional fields."""
        serializer_class = SERIALIZERS[old.kind]
        typed = getattr(serializer_class, "typed", {})
        values: dict[str, Any] = {}
        for name, value in old.data.items():
            if name in ("additional_fields", "external_ids") and isinstance(value, dict):
                values |= {
                    f"{name}[{key}]": each for key, each in value.items() if key != EXTERNAL_ID or name[0] == "e"
                }
            elif name == EXTERNAL_ID and value is not None:
                values.setdefault(f"external_ids[{name}]", value)
            elif name in LEFT_OUT or value is None:
                continue
            elif name in LINKS:
                if name in serializer_class.writable and (link := self.link(old.kind, name, value)) is not None:
                    values[name] = link
            elif name in typed:
                values.setdefault(f"additional_fields[{name}]", value)
            elif name in serializer_class.writable:
                values[name] = value
            elif name not in serializer_class.names:
                self.lost["fields"][f"{old.kind}.{name}"[:100]] += 1
                if (
                    typed
                    and isinstance(value, str | int | float | bool)
                    and len(name) <= AdditionalFieldsField.MAX_KEY_LENGTH
                ):
                    values.setdefault(f"additional_fields[{name}]", value)
        if serializer_class is PostSerializer:
            self._complete_post(old, values)
        return values

    def _complete_post(self, old: OldRow, values: dict[str, Any]) -> None:
        code = old.data.get("status")
        if "status_id" not in values and isinstance(code, str) and code.strip():
            found = self.account.statuses.filter(kind=Status.Kind.POST, code_key=name_key(code)).first()
            values["status_id"] = (found or create_status(self.account, Status.Kind.POST, code, by=self.user)).id
        if old.kind == "task" and values.get("task_kind") in (None, Post.TaskKind.FEEDBACK):
            values["task_kind"] = Post.TaskKind.TASK
        # The older server has sent this reminder already.
        if (reminder := time_of(values.get("remind_at"))) and reminder < timezone.now():
            del values["remind_at"]
        # A member who is not in the list of users can't be created without an e-mail.
        if old.kind == "suggestion" and self.target("user", old.data.get("user_id")) is None and old.data.get("nick"):
            values["additional_fields[author]"] = old.data["nick"]
            self.lost["links"]["suggestion.user_id"] += 1

    def link(self, kind: str, name: str, value: Any) -> Any:
        """Return the id, or the ids, of the rows here. Count the links to rows that were not moved."""
        ids = [self.target(LINKS[name], each) for each in (value if isinstance(value, list) else [value])]
        found = [id for id in ids if id is not None]
        if missing := len(ids) - len(found):
            # Contacts come after clients, which are read again then.
            self.lost["late" if (kind, name) == ("client", "contact_id") else "links"][f"{kind}.{name}"] += missing
        return found if isinstance(value, list) else next(iter(found), None)

    def validate(self, old: OldRow, values: dict[str, Any], row: Any = None) -> dict[str, Any]:
        """Return the valid values. Fields that are refused are left out of `values` and reported. Raise FieldErrors for a required one."""
        serializer_class = SERIALIZERS[old.kind]
        access = self.user.access
        context = {"account": self.account, "access": access, "lookup": Lookup(self.account, access)}
        options: dict[str, Any] = {"partial": row is not None, "context": context}
        try:
            return serializer_class(row, data=nested_values(values), **options).read()
        except FieldErrors as caught:
            for error in caught.errors:
                key = (error.params or {}).get("key")
                names = [name for name in values if name == (f"{error.field}[{key}]" if key else error.field)]
                names = names or [name for name in values if name.startswith(f"{error.field}[")]
                if not names or error.field in serializer_class.required_names:
                    raise
                self.refuse(old.kind, old.key, f"{names[0]}: {error.text}")
                for name in names:
                    del values[name]
            return serializer_class(row, data=nested_values(values), **options).read()

    def _create(self, old: OldRow, values: dict[str, Any]) -> str:
        if old.kind == "contact_list":
            name = name_key(str(values.get("name") or ""))
            if (present := self.account.contact_lists.live().filter(name_key=name).first()) is not None:
                self.remember(old.kind, old.key, present.id, digests(values))
                return "present"
        taken, now = digests(values), timezone.now()
        valid = self.validate(old, values)
        created_at = time_of(old.data.get("created_at")) or now
        updated_at = time_of(old.data.get("updated_at")) or created_at
        model = cast(type[models.Model], SERIALIZERS[old.kind].model)
        row: Any = model(account=self.account)
        row.id = self.free_id(model, old.data) or next_ids(self.account.id, 1)[0]
        if isinstance(row, CRMResource):
            row.assign(valid, by=self.user)
            row.creator_id, row.created_at, row.updated_at = self.author(old.data, "creator_id"), created_at, updated_at
            type(row).flush([row])
        else:
            row.agent = str(old.data.get("agent") or "")[:255]
            # Nobody has to deal with it in the inbox.
            valid |= {"handled_at": now, "answered_at": now, "created_at": created_at, "user_id": self.author(old.data)}
            valid["approved"] = old.data.get("approved") is not False
            if original := self.target("suggestion", old.data.get("merged_into")):
                valid["duplicate_from_id"] = original
            row.write(valid, by=self.user, is_silent=True)
            Post.objects.filter(pk=row.pk).update(updated_at=updated_at)
        self.remember(old.kind, old.key, row.id, {name: taken[name] for name in values})
        return "created"

    def _update(self, old: OldRow, values: dict[str, Any], moved: Any) -> str:
        if old.data.get("merged_into"):
            # If it was moved before it was merged there, it has votes and comments of its own here.
            if self.rows_of(old.kind).filter(id=moved.target, duplicate_from_id=None).exists():
                self.lost["merged"]["suggestion"] += 1
            return "unchanged"
        taken = digests({**dict.fromkeys(moved.taken), **values})
        changed = [name for name in taken if taken[name] != moved.taken.get(name, digest(None))]
        row = self.rows_of(old.kind).filter(id=moved.target).locked().first()
        if not changed:
            return "unchanged"
        if row is None:
            self.kept.append({"kind": old.kind, "id": old.key, "fields": []})
            return "kept"
        row.account = self.account
        current = digests(values_of(row, changed))
        kept = [name for name in changed if current[name] != moved.written.get(name, digest(None))]
        if kept:
            self.kept.append({"kind": old.kind, "id": old.key, "fields": kept})
        new = {name: values.get(name) for name in changed if name not in kept}
        if not new:
            return "kept"
        valid = self.validate(old, new, row)
        if not new:
            return "unchanged"
        if isinstance(row, CRMResource):
            row.assign(valid, by=self.user)
            if self.move_in.position["kind"] == SECOND_PASS:
                row.updated_at = time_of(old.data.get("updated_at")) or row.updated_at
            type(row).flush([row])
        else:
            row.write(valid, by=self.user, is_silent=True)
        # A field that was refused or kept is compared again by the next run.
        self.remember(old.kind, old.key, row.id, {**moved.taken, **{name: taken[name] for name in new}})
        return "changed"

    def _add_comment(self, key: str, data: Row, post_id: int) -> str:
        if self.find("comment", key) is not None:
            return "unchanged"
        text = TextField(max_length=MAX_COMMENT_LENGTH).run_validation(data.get("comment"))
        if not text:
            raise FieldError("comment", _("can't be blank"), "required")
        created_at = time_of(data.get("created_at")) or timezone.now()
        if data.get("nick") and self.target("user", data.get("user_id")) is None:
            self.lost["links"]["comment.user_id"] += 1
        comment = Comment(
            account=self.account,
            id=self.free_id(Comment, data) or next_ids(self.account.id, 1)[0],
            post_id=post_id,
            user_id=self.author(data),
            comment=text,
            comment_html=render(text),
            agent=str(data.get("agent") or "")[:255],
            internal=data.get("internal") is True,
            approved=data.get("approved") is not False,
            created_at=created_at,
            updated_at=time_of(data.get("updated_at")) or created_at,
        )
        Comment.objects.bulk_create([comment])
        Post.objects.filter(account_id=self.account.id, id=post_id).update(
            **{comment.count_column: models.F(comment.count_column) + 1}
        )
        self.remember("comment", key, comment.id)
        return "created"

    def _add_vote(self, key: str, data: Row, post_id: int) -> str:
        if (user_id := self.target("user", data.get("user_id"))) is None:
            raise FieldError("user_id", _("can't be found"), "gone")
        is_new = not self.account.votes.filter(post_id=post_id, user_id=user_id).exists()
        if is_new:
            times = {"created_at": time_of(data.get("created_at")) or timezone.now()}
            Vote.objects.bulk_create([Vote(account=self.account, post_id=post_id, user_id=user_id, **times)])
        self.remember("vote", key, user_id)
        return "created" if is_new else "present"


def stored_key(key: str) -> str:
    """Return the id of a row there as it is stored: a login or an e-mail as a digest, which stays when the person is erased."""
    return key if key.isdecimal() else hashlib.sha256(key.encode()).hexdigest()


def digest(value: Any) -> str:
    return hashlib.sha256(to_json({"": value}).encode()).hexdigest()[:16]


def digests(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: digest(value) for name, value in values.items()}


def time_of(value: object) -> datetime | None:
    """Return a time of the older server, or None for one that is missing, invalid or in no time zone."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None and 1970 <= time.year < 3000 else None
