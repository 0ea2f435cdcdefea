"""Find statements that do not name the account of the rows that they read or write.

A statement that names it can be sent to the shard of this account, if the tables are distributed over several servers one day.
"""

import re
from collections.abc import Iterable

from django.apps import apps

# Words that may follow the name of a table that has no alias.
NO_ALIAS = [
    "on",
    "where",
    "set",
    "left",
    "inner",
    "join",
    "using",
    "order",
    "limit",
    "group",
    "values",
    "select",
    "for",
    "as",
    "cross",
    "default",
]
# The statements that find the account of a request: that of a host, that of a token, and whether a host is taken.
LOOK_UPS = re.compile(r"accounts_apitoken\.digest = %s|accounts_host\.name (?:= %s|IN)")
# The end of a comparison with a column, which may be in a row such as `(account_id, id) = (%s, %s)`.
EQUALS = r"(?:, [\w.]+\))?(?:::\w+)? ?(?:=|IN\b|IS NOT DISTINCT FROM\b)"


def tenant_tables() -> set[str]:
    """Return the names of the tables whose rows belong to an account."""
    models = apps.get_models()
    return {each._meta.db_table for each in models if any(field.name == "account" for field in each._meta.fields)}


def unscoped_statements(statements: Iterable[object]) -> dict[str, set[str]]:
    """Return the statements that are not about the rows of one account, with the aliases of their tables. Look-ups are left out."""
    tables = tenant_tables()
    texts = {" ".join(str(sql).replace('"', "").split()) for sql in statements}
    return {sql: aliases for sql in texts if not LOOK_UPS.search(sql) and (aliases := unscoped_tables(sql, tables))}


def unscoped_tables(sql: str, tables: set[str]) -> set[str]:
    """Return the aliases of the tables of tenants whose rows the statement does not compare with an account.

    The column `account_id` among the results is no comparison, and a comparison between tables counts only if another one is with a
    parameter. An INSERT has to name the column.
    """
    pattern = rf"\b({'|'.join(sorted(tables, key=len, reverse=True))})\b(?![(.])(?: (?:AS )?(\w+))?"
    aliases = {
        table if alias.lower() in ["", *NO_ALIAS] else alias for table, alias in re.findall(pattern, sql, re.IGNORECASE)
    }
    if not aliases or re.search(r"INSERT INTO [^(]*\([^)]*\baccount_id\b", sql, re.IGNORECASE):
        return set()
    if not re.search(rf"\b(account_id|accounts_account\.id){EQUALS} ?\(*(%s|%\(|\d)", sql, re.IGNORECASE):
        return aliases

    def is_compared(alias: str) -> bool:
        column = rf"(?:\b{alias}\.|(?<![.\w]))account_id\b"
        return bool(re.search(rf"{column}{EQUALS}|= ?\(?{column}", sql, re.IGNORECASE))

    return {alias for alias in aliases if not is_compared(alias)}
