from django.urls import path

from accounts.attachments.api import AttachmentViewSet
from accounts.attachments.pages import AttachmentPage, UploadPage

attachments = AttachmentViewSet.as_view({"get": "list", "post": "create"})
attachment = AttachmentViewSet.as_view({"get": "retrieve", "delete": "destroy"})

urlpatterns = [
    path("app/attachments.json", attachments, name="accounts-json-attachments"),
    path("app/attachments/<id:id>.json", attachment, name="accounts-json-attachment"),
    path("app/attachments", UploadPage.as_view(), name="accounts-attachments"),
    path("app/attachments/<id:id>/<str:name>", AttachmentPage.as_view(), name="accounts-attachment"),
]
