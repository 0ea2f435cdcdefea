from django.urls import path

from forum.categories.pages import CategoriesPage, CategoryPage

urlpatterns = [
    path("app/account/categories", CategoriesPage.as_view(), name="forum-settings-categories"),
    path("app/account/categories/<id:id>", CategoryPage.as_view(), name="forum-settings-category"),
]
