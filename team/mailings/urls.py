from django.urls import path

from team.mailings.api import MessageViewSet, RecipientFilters
from team.mailings.pages import CustomerUnsubscribePage, MessagePage, NewMessagePage

urlpatterns = [
    path("app/posts/<id:id>/message", NewMessagePage.as_view(), name="team-post-message"),
    path("app/messages/<id:id>", MessagePage.as_view(), name="team-message"),
    path("app/unsubscribe/customer", CustomerUnsubscribePage.as_view(), name="team-unsubscribe"),
    path(
        "app/messages/<id:id>/recipients.json",
        MessageViewSet.as_view({"get": "recipients"}, filterset_class=RecipientFilters),
        name="team-json-message-recipients",
    ),
    *(
        path(
            f"app/messages/<id:id>/{action}.json",
            MessageViewSet.as_view({"post": action}),
            name=f"team-json-message-{action}",
        )
        for action in ("test", "send", "cancel")
    ),
]
