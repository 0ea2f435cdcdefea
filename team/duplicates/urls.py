from django.urls import path

from team.duplicates.api import DuplicatesViewSet
from team.duplicates.models import MODELS
from team.duplicates.pages import DuplicatesPage
from team.list_queries.declarations import LISTS

urlpatterns = [
    path("app/clients/duplicates", DuplicatesPage.as_view(declaration=LISTS["client"]), name="team-client-duplicates"),
    path(
        "app/contacts/duplicates", DuplicatesPage.as_view(declaration=LISTS["contact"]), name="team-contact-duplicates"
    ),
    *(
        path(
            f"app/{resource}s/duplicates.json",
            DuplicatesViewSet.as_view({"get": "retrieve"}, resource=resource),
            name=f"team-json-{resource}-duplicates",
        )
        for resource in MODELS
    ),
    *(
        path(
            f"app/{resource}s/duplicates/dismiss.json",
            DuplicatesViewSet.as_view({"post": "dismiss"}, resource=resource),
            name=f"team-json-dismiss-{resource}-duplicates",
        )
        for resource in MODELS
    ),
]
