"""What a user has suggested and voted for."""

from django.http import Http404

from forum.pages.reading import COLUMNS, ListPage, shown


class OwnPostsPage(ListPage):
    """`list` is "votes" for what the user has voted for; else it is what the user wrote."""

    access = "user"
    template_name = "forum/own_posts.html"

    def get(self, request):
        account, user, chosen = request.account, request.user, request.GET.get("list") or "written"
        if chosen not in ("written", "votes"):
            raise Http404
        posts = account.posts.listed_for(user).of_forum(request.forum.id)
        posts = posts.voted_by(user) if chosen == "votes" else posts.written_by(user)
        page = self.read_page()
        rows = list(posts.values_list(*COLUMNS)[page.start : page.stop])
        return self.render(
            part="posts",
            list=chosen,
            page=page,
            more=len(rows) > page.size,
            **self.about([shown(row) for row in rows[: page.size]]),
        )
