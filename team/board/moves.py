"""Moves of deals: to another status, and to another place in the column of a status.

The order of a column is `board_position`, then the id. A deal gets a position between those of its neighbours, so a move writes one row.
If there is no number between them, the deals above get new positions (`make_room`).
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.account.models import Account
from accounts.statuses.models import Status, reason_text
from accounts.users.models import User
from core.db.prepared import array_literal
from core.errors import ConcurrentUpdate, Conflict, FieldError
from crm.deals.models import Deal
from team.board.columns import is_after

# The difference of positions at the ends of a column, and the smallest one between deals that get new positions. New deals have
# positions in microseconds before 1970, so that the newest deal comes first.
STEP, MIN_STEP = 65_536, 16
# The number of deals above a full place that are read at first. It grows until there is room.
ROOM_ROWS = 100
# The last place that a move can name by its number.
MAX_PLACE = 1000
# The field with the reason, by the outcome of the status.
REASONS: dict[str | None, str] = {Status.Outcome.WON: "won_reason", Status.Outcome.LOST: "lost_reason"}

MOVED = _("Somebody else has moved the deal meanwhile. Look where it is now, and move it again if you still want to.")
ABOVE_MOVED = _("The deal above has been moved or deleted meanwhile. Choose the place again.")


@dataclass(frozen=True)
class Move:
    """A move of a deal. None stands for what does not change."""

    deal_id: int
    # `Status.NONE_ID` removes the status.
    status_id: int | None = None
    # The deal directly above, or 0 for the first place.
    after_id: int | None = None
    # The place in the column, from 1; after the last place, the deal comes last.
    place: int | None = None
    # The reason why the deal is won or lost; a blank text removes it.
    reason: str | None = None
    # The status in which the user saw the deal. The move is refused if somebody else has moved the deal since.
    seen_status_id: int | None = None


def move_deal(account: Account, user: User, move: Move) -> Deal:
    """Move the deal and return it. Call this function in a transaction.

    Raise Deal.DoesNotExist unless the user may access the deal, FieldError for an unknown status, Conflict if the deal or its neighbour
    has been moved meanwhile.
    """
    deals = account.deals.live().accessible_to(user)
    # Every move locks its rows in the order of their ids.
    rows = deals.locked().filter(id__in={move.deal_id, move.after_id or move.deal_id}).order_by("id")
    locked = {row.id: row for row in rows}
    deal = locked.get(move.deal_id)
    if deal is None:
        raise Deal.DoesNotExist
    deal.account = account
    above = locked.get(move.after_id or 0)
    status = find_status(account, deal.column if move.status_id is None else move.status_id)
    if move.seen_status_id is not None and deal.column not in (move.seen_status_id, status.id):
        raise Conflict(MOVED)
    column = account.deals.live().in_statuses([status.id]).exclude(id=deal.id)
    if above is not deal and move.after_id and (above is None or above.column != status.id):
        raise Conflict(ABOVE_MOVED)
    position = place_of(move, column, above, user)
    values = reasons(status, deal, move.reason)
    if status.id != deal.column:
        values["status_id"] = status.id or None
    if values:
        if position is not None:
            deal.board_position = position
            deal.unsaved_fields |= {"board_position"}
        # The caller has validated the reason, and the status has just been read.
        deal.write(values, by=user)
    elif position is not None and position != deal.board_position:
        # The order is no field of the deal, so it does not count as a change by the user.
        account.deals.filter(id=deal.id).update(board_position=position)
        deal.board_position = position
    return deal


def former_place(account: Account, user: User, id: int) -> dict[str, object]:
    """Return the values of a move that brings the deal back to where it is now. Raise Deal.DoesNotExist."""
    deal: Deal = account.deals.live().accessible_to(user).get(id=id)
    column: Any = account.deals.live().in_statuses([deal.column])
    position = deal.board_position or 0
    above = column.filter(Q(board_position__lte=position) & (Q(board_position__lt=position) | Q(id__lt=id)))
    above_id = above.order_by("-board_position", "-id").values_list("id", flat=True).first()
    # The account may offer the reason no longer.
    reason = reason_text(deal.won_reason or deal.lost_reason or "")
    return {"status_id": deal.column, "after_id": above_id or 0, "reason": "", "other_reason": reason}


def find_status(account: Account, id: int) -> Status:
    if id == Status.NONE_ID:
        return Status.make_placeholder()
    status: Status | None = account.statuses.filter(kind=Status.Kind.DEAL, id=id).first()
    if status is None:
        raise FieldError("status_id", _("can't be found"), "missing")
    return status


def reasons(status: Status, deal: Deal, reason: str | None) -> dict[str, object]:
    """Return the changes of the reasons. The reason for the other outcome is removed."""
    if status.outcome == Status.Outcome.OPEN:
        if reason:
            raise FieldError("reason", _("is only for a deal that is won or lost"))
        return {}
    own = REASONS[status.outcome]
    values: dict[str, object] = {name: None for name in REASONS.values() if name != own and getattr(deal, name)}
    if reason is not None and (reason or None) != getattr(deal, own):
        values[own] = reason or None
    return values


# Positions


def place_of(move: Move, column: QuerySet[Deal], above: Deal | None, user: User) -> int | None:
    """Return the new position, or None if the move names no place. `column` has the other deals of the status."""
    if above is not None:
        # A deal below itself stays where it is.
        return None if above.id == move.deal_id else position_below(column, above.board_position or 0, above.id)
    if move.after_id == 0 or move.place == 1:
        return first_position(column)
    if move.place is None:
        return None
    # Deals that the user may not access have no place.
    shown: Any = column
    places = shown.accessible_to(user).order_by("board_position", "id").values_list("board_position", "id")
    rows = list(places[: move.place - 1])
    return position_below(column, *rows[-1]) if rows else first_position(column)


def first_position(column: QuerySet[Deal]) -> int:
    now = -int(timezone.now().timestamp() * 1_000_000)
    first = column.order_by("board_position", "id").values_list("board_position", flat=True).first()
    return now if first is None else min(now, first - STEP)


def position_below(column: QuerySet[Deal], position: int, id: int) -> int:
    """Return a position directly below the deal with a position and an id."""
    below = column.filter(is_after(position, id)).order_by("board_position", "id")
    next_position = below.values_list("board_position", flat=True).first()
    if next_position is None:
        return position + STEP
    if next_position - position >= 2:
        return position + (next_position - position) // 2
    return make_room(column, position, id, next_position)


def make_room(column: QuerySet[Deal], position: int, id: int, limit: int) -> int:
    """Move deals up until there is room between the deal with a position and an id, and the next deal, which has the position `limit`.

    Return the position between them. The deals above are those that the user sees above the place, so they are few. Deals below may be
    many with the same position, because they were imported together.
    """
    above = column.filter(board_position__lte=position).filter(Q(board_position__lt=position) | Q(id__lte=id))
    rows: QuerySet[Any, Any] = above.order_by("-board_position", "-id").values_list("id", "board_position")
    size = ROOM_ROWS
    while True:
        found = list(rows[:size])
        # The first deal that can stay: there is room for those below it and for the moved one.
        stays = next((n for n, (_id, at) in enumerate(found) if limit - at >= MIN_STEP * (n + 2)), None)
        if stays is not None or len(found) < size:
            break
        size *= 4
    moved = [row_id for row_id, _at in found[:stays]]
    lowest = limit - STEP * (len(moved) + 2) if stays is None else found[stays][1]
    step = (limit - lowest) // (len(moved) + 2)
    positions = [lowest + step * (len(moved) - n) for n in range(len(moved))]
    update_positions(column, moved, positions)
    return lowest + step * (len(moved) + 1)


def update_positions(column: QuerySet[Model], ids: list[int], positions: list[int]) -> None:
    locked = dict(column.locked().filter(id__in=ids).order_by("id").values_list("id", "account_id"))  # type: ignore[attr-defined]
    if len(locked) != len(ids):
        raise ConcurrentUpdate("A deal has been moved meanwhile")
    account_id = next(iter(locked.values()), None)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE crm_deal SET board_position = placed.position"
            " FROM unnest(%s::bigint[], %s::bigint[]) AS placed (id, position)"
            " WHERE crm_deal.account_id = %s AND crm_deal.id = placed.id",
            [array_literal(ids), array_literal(positions), account_id],
        )
