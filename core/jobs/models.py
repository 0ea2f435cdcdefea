"""The last error of each job that failed at least once."""

from django.db import models


class JobError(models.Model):
    """The type of a job's last error. Its message is not stored, because it may contain personal data."""

    # A migration adds a foreign key that deletes the error with the job. It is not a Django relation to procrastinate's unmanaged model,
    # because Django would then delete jobs one by one.
    job_id = models.BigIntegerField(primary_key=True)
    attempt = models.IntegerField()
    error = models.CharField(max_length=255)
    at = models.DateTimeField()
