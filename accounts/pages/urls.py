from django.urls import path

from accounts.pages import sign_in

urlpatterns = [
    path("app/sign-in", sign_in.SignIn.as_view()),
    path("app/sign-out", sign_in.SignOut.as_view()),
    path("app/language", sign_in.Language.as_view()),
]
