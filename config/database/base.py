"""Django's PostgreSQL backend, with statements that may be prepared, and with times read by psycopg's C code.

Django reads times in Python: each takes 5 µs, and a list has fifty.
"""

from django.db.backends.postgresql import base
from psycopg.types.datetime import TimestamptzLoader


class DatabaseWrapper(base.DatabaseWrapper):
    # How many transactions this connection has tried to commit. One whose outcome was lost with the connection counts too.
    commits = 0

    def _commit(self):
        self.commits += 1
        return super()._commit()

    def get_new_connection(self, conn_params):
        connection = super().get_new_connection(conn_params)
        # Times are in the session's zone, which Django sets to UTC, as TIME_ZONE is.
        connection.adapters.register_loader("timestamptz", TimestamptzLoader)
        # What is to be prepared says so (`accounts.prepared`); nothing is for being asked often.
        connection.prepare_threshold, connection.prepared_max = 2**31, 500
        return connection

    def create_cursor(self, name=None):
        if name is None:
            return self.connection.cursor()
        return self.connection.cursor(name, scrollable=False, withhold=self.connection.autocommit)
