from django.urls import path

from accounts.audit_log.api import AuditViewSet
from accounts.audit_log.pages import AuditFile, AuditPage

urlpatterns = [
    path("app/audit.json", AuditViewSet.as_view({"get": "list"}), name="accounts-json-audit"),
    path("app/audit.csv", AuditFile.as_view(), name="accounts-audit-file"),
    path("app/account/audit", AuditPage.as_view(), name="accounts-audit"),
]
