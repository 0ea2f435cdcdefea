"""Pipelines: the ways that deals take, each with statuses of its own."""

from collections.abc import Callable, Collection
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from psycopg.errors import ForeignKeyViolation

from core.db.ordering import MAX_POSITION, Ordered
from core.db.tenancy import TenantModel, folded_fields
from core.errors import FieldError
from core.registry import Resource
from core.rows.trimmed import NameKeyField, TrimmedCharField, name_key
from core.search.declaration import Search

if TYPE_CHECKING:
    from accounts.account.models import Account

MAX_NAME = 255
# The maximum length of the addition to the name of a moved status.
MAX_SUFFIX = 100


class PipelineQuerySet(models.QuerySet["Pipeline"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class Pipeline(Ordered, TenantModel):
    """A way that deals take. Its stages are the statuses of deals that belong to it. Every account has at least one pipeline."""

    api_resource = Resource(
        "pipeline",
        _("Pipeline"),
        _("Pipelines"),
        icon="git-branch",
        viewset_path="accounts.statuses.api.pipelines.PipelineViewSet",
    )

    # The id of the pipeline that is created with an account. It is not taken from the account's counter, so accounts of all versions
    # give the same ids to their other rows. The counter never gives it, because the account's host has it.
    FIRST_ID = 1
    # Pages translate this name (`pipeline_name`).
    DEFAULT_NAME = gettext_noop("Sales")

    name = TrimmedCharField(max_length=MAX_NAME)
    name_key = NameKeyField(source="name", null=True)
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(condition=Q())

    objects = PipelineQuerySet.as_manager()

    class Meta:
        default_related_name = "pipelines"
        constraints = [models.UniqueConstraint(fields=["account", "name_key"], name="pipeline_name_key_unique")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def create_first(cls, account: "Account") -> "Pipeline":
        """Create the pipeline of a new account."""
        return cls.objects.create(account=account, id=cls.FIRST_ID, name=cls.DEFAULT_NAME, position=1)

    def siblings(self) -> "models.QuerySet[Pipeline]":
        return self.account.pipelines.all()

    def write(self, values: dict[str, Any]) -> None:
        """Insert the pipeline with the values, or update the fields in `values`. Without a position, a new pipeline comes last."""
        for name, value in values.items():
            setattr(self, name, value)
        if self._state.adding:
            if "position" not in values:
                last = self.siblings().aggregate(last=models.Max("position"))["last"] or 0
                self.position = min(last + 1, MAX_POSITION)
            self.save(force_insert=True)
        else:
            self.save(update_fields={*values, *folded_fields(Pipeline, values), "updated_at"})

    def copy_statuses(self, source: "Pipeline", *, name_of: Callable[[Any], str]) -> None:
        """Create the statuses of another pipeline in this one. `name_of` returns the name of a copy. Each copy gets a code of its own."""
        statuses = self.account.statuses_of_kind("deal")
        codes = {name_key(code) for code in statuses.values_list("code", flat=True)}
        for status in statuses.filter(pipeline_id=source.id):
            code = first_free(codes, status.code, lambda base, number: f"{base[: MAX_NAME - 10]}-{number}")
            codes.add(name_key(code))
            values = {name: getattr(status, name) for name in ("color", "outcome", "probability", "rot_days")}
            copy = type(status)(account=self.account, kind=status.kind)
            copy.write({**values, "code": code, "name": name_of(status), "pipeline_id": self.id})

    def erase(self, *, move_to: "Pipeline | None" = None) -> None:
        """Delete the pipeline. The caller must lock all pipelines of the account before (`locked`).

        With `move_to`, the statuses that deals have move to that pipeline, with their deals, and the other statuses are deleted. A moved
        status whose name exists there gets the name of this pipeline in parentheses, and a number if needed.

        Raise FieldError if the pipeline has statuses and `move_to` is None, or if it is the last one.
        """
        if not self.siblings().exclude(id=self.id).exists():
            raise FieldError("pipeline", _("is the last one, and every account has one"))
        if move_to is not None:
            self._move_statuses(move_to)
        try:
            with transaction.atomic():
                self.delete()
        except IntegrityError as error:
            if not isinstance(error.__cause__, ForeignKeyViolation):
                raise
            raise FieldError(
                "pipeline", _("has statuses; move them to another one or delete them first"), "in_use"
            ) from None

    def _move_statuses(self, target: "Pipeline") -> None:
        statuses = {status.id: status for status in self.account.statuses.filter(kind="deal").order_by("id").locked()}
        names = {name_key(status.name) for status in statuses.values() if status.pipeline_id == target.id}
        for status in statuses.values():
            if status.pipeline_id != self.id:
                continue
            try:
                status.erase()
            except FieldError:
                name = first_free(names, status.name, self._name_of_moved)
                names.add(name_key(name))
                status.write({"pipeline_id": target.id, "name": name})

    def _name_of_moved(self, name: str, number: int) -> str:
        suffix = f" ({self.name})" if number == 2 else f" ({self.name} {number - 1})"
        # Both names may have 255 characters, the limit of the result.
        suffix = suffix if len(suffix) <= MAX_SUFFIX else f" ({number - 1})"
        return name[: MAX_NAME - len(suffix)] + suffix


def list_pipelines(account: "Account") -> list[Pipeline]:
    """Return the pipelines of the account in their order."""
    return list(account.pipelines.order_by("position", "id"))


def first_free(taken: Collection[str], text: str, numbered: Callable[[str, int], str]) -> str:
    """Return the text if it is not taken, else the first of `numbered(text, 2)`, `numbered(text, 3)`, … that is not taken.

    `taken` has the keys of the other texts (`name_key`).
    """
    if name_key(text) not in taken:
        return text
    return next(candidate for number in count(2) if name_key(candidate := numbered(text, number)) not in taken)
