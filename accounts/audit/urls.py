from django.urls import path

from accounts.audit.api import AuditViewSet
from accounts.audit.pages import AuditFile, AuditPage

urlpatterns = [
    path("app/audit.json", AuditViewSet.as_view({"get": "list"}), name="accounts-json-audit"),
    path("app/audit.csv", AuditFile.as_view(), name="accounts-audit-file"),
    path("app/account/audit", AuditPage.as_view(), name="accounts-audit"),
]
