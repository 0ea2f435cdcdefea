"""The account settings for categories."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.layout import ordering
from accounts.layout.forms import Form
from accounts.layout.settings import SettingsPage, parse_id
from core.pages.base import redirect
from core.pages.creation import CreatingPage, Creation
from forum.categories.models import Category
from forum.forums.models import Forum
from forum.forums.requests import ForumUserRequest


class CategoryForm(Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=255,
        help_text=gettext_lazy("It is part of the category's address, which changes with it."),
    )


class CategoriesPage(CreatingPage, SettingsPage):
    template_name = "forum/categories/categories.html"
    part = "categories"
    actions = {"add": "add", "move": "move"}

    def get(self, request: ForumUserRequest) -> HttpResponse:
        self.find()
        return self.show(CategoryForm())

    def find(self) -> None:
        """Read the forums, and select the forum that the query names, by default the first. Raise Http404 if there is no such forum."""
        self.forums = list(self.request.account.forums.order_by("-is_default", "name", "id")[: Forum.MAX_PER_ACCOUNT])
        id = parse_id(self.request.GET.get("forum"))
        found = [forum for forum in self.forums if forum.id == id or (id is None and not self.request.GET.get("forum"))]
        if not found:
            raise Http404
        self.forum = found[0]

    def show(self, form: Form) -> HttpResponse:
        rows = list(self.request.account.categories.of_forum(self.forum.id)[: Category.MAX_PER_FORUM])
        return self.render_form(form, rows=rows, forum=self.forum, forums=self.forums)

    def add(self, request: ForumUserRequest) -> HttpResponse:
        self.find()
        form, account = CategoryForm(request.POST), request.account

        def write(category: Category) -> Category:
            category.account = account
            category.write(name=form.cleaned_data["name"])
            return category

        creation = Creation(
            create=lambda: write(Category(account=account, forum_id=self.forum.id)),
            rows=account.categories.of_forum(self.forum.id),
            path=lambda category: reverse("forum-settings-category", args=[category.id]),
            saved=lambda category: {"name": category.name},
            change=write,
        )
        if self.create_once(form, creation, further={"forum": self.forum.id}) is None:
            return self.show(form)
        messages.success(request, _("%(name)s is added.") % {"name": form.cleaned_data["name"]})
        return self.redirect_to_categories()

    def move(self, request: ForumUserRequest) -> HttpResponse:
        self.find()
        id = parse_id(request.POST.get("id"))
        row = request.account.categories.of_forum(self.forum.id).filter(id=id).first() if id else None
        return ordering.move(self, row, self.redirect_to_categories())

    def redirect_to_categories(self) -> HttpResponse:
        return redirect("forum-settings-categories", query={"forum": self.forum.id})


class CategoryPage(SettingsPage):
    template_name = "forum/categories/category_settings.html"
    part = "categories"
    actions = {"save": "save", "delete": "delete"}

    def find(self, id: int) -> Category:
        row = self.request.account.categories.filter(id=id).first()
        if row is None:
            raise Http404
        row.account = self.request.account
        return row

    def get(self, request: ForumUserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        return self.show(row, CategoryForm(initial={"name": row.name}))

    def show(self, row: Category, form: Form) -> HttpResponse:
        return self.render_form(
            form,
            row=row,
            others=list(row.siblings().exclude(id=row.id).order_by("position", "id")[: Category.MAX_PER_FORUM]),
            # Posts above the limit of a move are not counted.
            post_count=row.posts()[: Category.MAX_MOVED_POSTS + 1].count(),
            max_moved_posts=Category.MAX_MOVED_POSTS,
        )

    def save(self, request: ForumUserRequest, id: int) -> HttpResponse:
        row = self.find(id)
        form = CategoryForm(request.POST)
        if not form.is_valid() or not self.submit_form(form, lambda: row.write(name=form.cleaned_data["name"])):
            return self.show(self.find(id), form)
        messages.success(request, _("%(name)s is saved.") % {"name": row.name})
        return self.redirect_to_categories(row)

    def delete(self, request: ForumUserRequest, id: int) -> HttpResponse:
        row, into_id = self.find(id), parse_id(request.POST.get("into"))
        into = row.siblings().filter(id=into_id).first() if into_id else None
        is_done = self.perform(
            lambda: row.erase(into=into), success_message=_("%(name)s is deleted.") % {"name": row.name}
        )
        return self.redirect_to_categories(row) if is_done else redirect("forum-settings-category", id)

    def redirect_to_categories(self, row: Category) -> HttpResponse:
        return redirect("forum-settings-categories", query={"forum": row.forum_id})
