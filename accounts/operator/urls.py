from django.urls import path

from accounts.operator.pages import OperatorAccount, OperatorAccounts, OperatorHealth, OperatorJobs, OperatorPlans

urlpatterns = [
    path("app/operator", OperatorAccounts.as_view(), name="accounts-operator"),
    path("app/operator/accounts/<slug:prefix>", OperatorAccount.as_view(), name="accounts-operator-account"),
    path("app/operator/plans", OperatorPlans.as_view(), name="accounts-operator-plans"),
    path("app/operator/jobs", OperatorJobs.as_view(), name="accounts-operator-jobs"),
    path("app/operator/health", OperatorHealth.as_view(), name="accounts-operator-health"),
]
