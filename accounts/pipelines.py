"""Pipelines: the ways that deals take, each with statuses of its own."""

from typing import TYPE_CHECKING, Any, Self

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop
from psycopg.errors import ForeignKeyViolation

from core.db.ordering import MAX_POSITION, Ordered
from core.db.tenancy import TenantModel
from core.errors import FieldError
from core.search.declaration import Search

if TYPE_CHECKING:
    from accounts.account import Account


class PipelineQuerySet(models.QuerySet["Pipeline"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True, of=("self",))


class Pipeline(Ordered, TenantModel):
    """A way that deals take. Its stages are the statuses of deals that belong to it. Every account has at least one pipeline."""

    # The id of the pipeline that is created with an account. It is not taken from the account's sequence, so accounts of all versions
    # give the same ids to their other rows. The sequence never yields it, because the account's host has it.
    FIRST_ID = 1
    # Pages translate this name (`pipeline_name`).
    DEFAULT_NAME = gettext_noop("Sales")

    name = models.CharField(max_length=255)
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    search = Search(condition=Q())

    objects = PipelineQuerySet.as_manager()

    class Meta:
        default_related_name = "pipelines"
        constraints = [models.UniqueConstraint(fields=["account", "name"], name="pipeline_name_unique")]

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
            self.save(update_fields={*values, "updated_at"})

    def erase(self) -> None:
        """Delete the pipeline. The caller must lock all pipelines of the account before (`locked`).

        Raise FieldError if the pipeline has statuses, or if it is the last one.
        """
        if not self.siblings().exclude(id=self.id).exists():
            raise FieldError("pipeline", _("is the last one, and every account has one"))
        try:
            with transaction.atomic():
                self.delete()
        except IntegrityError as error:
            if not isinstance(error.__cause__, ForeignKeyViolation):
                raise
            raise FieldError(
                "pipeline", _("has statuses; move them to another one or delete them first"), "in_use"
            ) from None
