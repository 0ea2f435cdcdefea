"""The numbers of the pages of a list, for links."""

from core.api.paging import ListPage

# Pages before and after the current one that have links, beside the first and the last one.
NEIGHBOURS = 2


def page_numbers(page: ListPage, total: int | None, *, more: bool) -> list[int | None]:
    """Return the numbers of pages with links; None stands for pages that are left out. `total` is the number of rows, if it is known."""
    known = max(-(-total // page.size), page.number) if total is not None else page.number + int(more)
    shown = {1, *range(page.number - NEIGHBOURS, page.number + NEIGHBOURS + 1)} | (
        {known} if total is not None else set()
    )
    numbers: list[int | None] = []
    for number in sorted(number for number in shown if 1 <= number <= known):
        if numbers and numbers[-1] != number - 1:
            numbers.append(None)
        numbers.append(number)
    return numbers
