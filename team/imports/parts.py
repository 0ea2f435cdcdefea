"""Writing a part of an import: a number of lines in one transaction.

The rows that the lines name are read with a fixed number of statements for each kind of rows. Each line is validated as if the lines before
it had been written already. A line with a fault writes nothing.
"""

from collections.abc import Sequence

from accounts.account.models import Account
from accounts.users.models import User
from core.errors import FieldErrors
from core.rows.additional_fields import to_json_value
from team.batches.restoring import values_of
from team.import_lines.fields import RowKind
from team.import_lines.lines import Line
from team.import_lines.settings import ImportPlan
from team.imports.customers import CRMWriter
from team.imports.posts import PostWriter
from team.imports.writing import KindWriter, PartContext, PartOutcome, PendingRow

WRITERS: dict[RowKind, type[KindWriter]] = {
    RowKind.CLIENT: CRMWriter,
    RowKind.CONTACT: CRMWriter,
    RowKind.DEAL: CRMWriter,
    RowKind.TASK: PostWriter,
    RowKind.SUGGESTION: PostWriter,
}


class ImportPart:
    """The lines that are written together."""

    def __init__(self, account: Account, user: User, plan: ImportPlan) -> None:
        context = PartContext(account, user, plan)
        self.outcome, self.settings = context.outcome, plan.settings
        self.writers = {kind: WRITERS[kind](context, kind) for kind in plan.kinds}

    def write(self, lines: Sequence[Line]) -> PartOutcome:
        """Write the rows of the lines. The caller has begun a transaction."""
        for kind, writer in self.writers.items():
            writer.look_up([line for line in lines if kind in line.values])
        for line in lines:
            if not line.faults:
                self._read_line(line)
            if line.faults:
                self.outcome.faulty.append(line)
                if self.settings.stop:
                    break
        for writer in self.writers.values():
            writer.flush()
        for outcome in (*self.outcome.linked, *self.outcome.rows):
            outcome.after = {
                **values_of(outcome.row, outcome.names),
                "updated_at": to_json_value(outcome.row.updated_at),
            }
        return self.outcome

    def _read_line(self, line: Line) -> None:
        """Validate the rows of a line, and assign the values if there is no fault."""
        pending: list[PendingRow] = []
        ids: dict[RowKind, int] = {}
        for kind, writer in self.writers.items():
            if kind not in line.values:
                continue
            try:
                row = writer.read(line, ids)
            except FieldErrors as caught:
                line.add_faults(kind, caught.errors)
                continue
            if row is not None:
                pending.append(row)
                ids[kind] = row.row.id
        if line.faults:
            return
        for row in pending:
            self.outcome.rows.append(self.writers[row.kind].assign(line, row))


def writer_of(account: Account, user: User, plan: ImportPlan, kind: RowKind) -> KindWriter:
    return WRITERS[kind](PartContext(account, user, plan), kind)
