"""Functions that create rows. Values that a test does not give have sensible defaults."""

from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from itertools import count
from typing import Any

from django.utils import timezone

from accounts.account.models import Account
from accounts.account_creation.creation import create_account
from accounts.attachments.models import Attachment
from accounts.attachments.uploading import upload
from accounts.fields.models import FieldDefinition
from accounts.tokens.models import APIToken
from accounts.users.models import User
from crm.clients.models import Client
from crm.contacts.models import Contact, ContactList
from crm.deals.models import Deal
from crm.notes.models import Note
from crm.user_links.models import UserLink
from forum.answers.models import Answer
from forum.categories.models import Category
from forum.comments.models import Comment
from forum.forums.models import Forum
from forum.posts.models import Post
from team.imports.models import Import
from team.lists.saved_views import SavedView
from team.mailings.audience import Among
from team.mailings.models import Message
from team.mailings.sending import start_message
from webhooks.models import Delivery, Endpoint

numbers = count(1)

PASSWORD = "correct horse battery"


def make_account(prefix: str = "", *, login: str = "", **fields) -> tuple[Account, User, str]:
    """Create an account with its owner and the owner's token."""
    prefix = prefix or f"account-{next(numbers)}"
    login = login or f"owner-of-{prefix}"
    return create_account(prefix=prefix, login=login, email=f"{login}@{prefix}.example", password=PASSWORD, **fields)


def make_user(account: Account, login: str = "", **fields) -> User:
    login = login or f"user-{next(numbers)}"
    values = {"email": f"{login}@{account.prefix}.example", "password": PASSWORD, **fields}
    return User.objects.create_for(account, login=login, **values)


def make_token(user: User, **fields) -> str:
    return APIToken.objects.make(user, **{"label": "test", "expires_at": None, **fields})[1]


def make_category(account: Account, name: str = "", **fields) -> Category:
    name = name or f"Category {next(numbers)}"
    forum = account.forums.get(is_default=True)
    return account.categories.create(**{"forum_id": forum.id, "name": name, "position": 99, **fields})


def make_post(user: User, title: str = "", **fields) -> Post:
    """Create a forum post in the first category of the default forum, or of the forum `forum_id`."""
    account = user.account
    forum_id = fields.pop("forum_id", None) or account.forums.get(is_default=True).id
    category = account.categories.of_forum(forum_id).first()
    post = Post(account=account, forum_id=forum_id, category_id=category.id, agent="factory")
    post.write({"title": title or f"Post {next(numbers)}", **fields}, by=user)
    return post


def make_comment(post: Post, user: User, text: str = "") -> Comment:
    return post.comment(by=user, text=text or f"Comment {next(numbers)}")


def make_voters(post: Post, number: int) -> list[User]:
    """Create members who have voted for the post."""
    users = [make_user(post.account) for _ in range(number)]
    for user in users:
        post.vote(by=user)
    return users


def make_forum(account: Account, name: str = "", **fields) -> Forum:
    """Create a forum with its own host and a category."""
    name = name or f"forum-{next(numbers)}"
    host = account.hosts.create(name=f"{name}.example.org")
    forum = account.forums.create(**{"name": name, "host_id": host.id, **fields})
    make_category(account, forum_id=forum.id)
    return forum


def make_task(user: User, title: str = "", **fields) -> Post:
    post = Post(account=user.account, agent="factory")
    post.write({"title": title or f"Task {next(numbers)}", "task_kind": "task", **fields}, by=user)
    return post


def make_field_definition(account: Account, key: str = "", *, resource: str = "client", **fields) -> FieldDefinition:
    """Create a definition whose label is the key."""
    key = key or f"field_{next(numbers)}"
    row = FieldDefinition(account=account)
    row.write({"resource": resource, "key": key, "label": key, **fields})
    return row


def _make(model, user: User, fields: dict):
    row = model(account=user.account)
    row.write(fields, by=user)
    return row


def make_client(user: User, name: str = "", **fields) -> Client:
    return _make(Client, user, {"name": name or f"Client {next(numbers)}", **fields})


def make_contact(user: User, name: str = "", **fields) -> Contact:
    return _make(Contact, user, {"name": name or f"Contact {next(numbers)}", **fields})


def make_contact_list(user: User, name: str = "", **fields) -> ContactList:
    return _make(ContactList, user, {"name": name or f"List {next(numbers)}", **fields})


def make_deal(user: User, name: str = "", **fields) -> Deal:
    return _make(Deal, user, {"name": name or f"Deal {next(numbers)}", "currency": "EUR", **fields})


def make_saved_view(user: User, name: str = "", *, resource: str = "client", **fields) -> SavedView:
    row = SavedView(account=user.account, owner_id=user.id)
    row.write({"resource": resource, "name": name or f"View {next(numbers)}", "query": "", **fields}, by=user)
    return row


def make_user_link(by: User, user: User, **fields) -> UserLink:
    return _make(UserLink, by, {"user_id": user.id, **fields})


def make_attachment(user: User, key: str, row, name: str = "") -> Attachment:
    """Create a text file that is attached to a row of a holder, such as "client"."""
    attachment = upload(user.account, BytesIO(b"a text"), name or f"file-{next(numbers)}.txt", by=user)
    Attachment.objects.attach(row, key, [attachment.id], by_id=user.id)
    return user.account.attachments.select_related("file").get(id=attachment.id)


def make_note(user: User, content: str = "", **fields) -> Note:
    """Create a note about a new client, or about the row whose id the fields contain."""
    if not any(fields.get(f"{link}_id") for link in ("client", "contact", "deal")):
        fields["client_id"] = make_client(user).id
    return _make(Note, user, {"content": content or f"Note {next(numbers)}", **fields})


def make_delivery(endpoint: Endpoint, **fields) -> Delivery:
    """Create an entry of the log of a webhook."""
    values = {"cause": "event", "message": "msg_1", "event": "client.created", "number": 1, "attempt": 1}
    values |= {"at": timezone.now(), "duration_ms": 84, "status": 204, "request": "{}", "response": ""}
    return Delivery.objects.create(account_id=endpoint.account_id, endpoint_id=endpoint.id, **(values | fields))


def make_backer(post: Post, user: User, make: Callable[..., Any], name: str, **fields) -> Any:
    """Create a client or contact (`make`) that is behind a suggestion, and that agreed to be contacted."""
    fields = {"email": f"{name.lower().replace(' ', '.')}@customer.example", "consent": True} | fields
    row = make(user, name, **fields)
    post.cast_proxy_vote(by=user, **{f"{row._meta.model_name}_id": row.id})
    return row


def make_draft(user: User, post: Post, **fields) -> Message:
    """Create a draft of a message to the customers behind a suggestion."""
    message = Message(account=user.account)
    message.write({"post_id": post.id, "subject": "News", "text": "Hello {name}"} | fields, by=user)
    return message


def make_answer(post: Post, user: User, **fields: object) -> Answer:
    """Create an answer that is published tomorrow."""
    answer = Answer(account=user.account, post_id=post.id)
    answer.write({"response": "Soon.", "publish_at": timezone.now() + timedelta(days=1)} | fields, by=user)
    return answer


def make_message(user: User, subject: str = "") -> Message:
    """Start a message to a new client and a new contact, which are behind a new suggestion."""
    post, number = make_post(user), next(numbers)
    client = make_client(user, email=f"client{number}@customer.example", consent=True)
    contact = make_contact(user, email=f"contact{number}@customer.example", consent=True)
    post.cast_proxy_vote(by=user, client_id=client.id)
    post.cast_proxy_vote(by=user, contact_id=contact.id)
    subject = subject or f"News {number}"
    values = {"subject": subject, "text": f"Hello {{name}}, {subject}", "among": Among.ALL, "include_not_asked": False}
    message = Message(account=user.account, post_id=post.id, **values)
    start_message(message, by=user)
    return message


def make_import(
    user: User, text: str, *, name: str = "rows.csv", kinds: tuple[str, ...] = ("client",), started: bool = False
) -> Import:
    """Create an import of a file with this text, whose columns are guessed."""
    row = Import.upload(user.account, by=user, name=name, chunks=[text.encode()], kinds=kinds)
    if started:
        row.start(by=user)
    return row
