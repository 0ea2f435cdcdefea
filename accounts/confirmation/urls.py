from django.urls import path

from accounts.confirmation.pages import ConfirmPage

urlpatterns = [path("app/profile/confirm", ConfirmPage.as_view(), name="accounts-confirm")]
