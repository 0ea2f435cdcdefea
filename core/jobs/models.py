"""The last error of each job that did not succeed at once."""

from django.db import models


class JobError(models.Model):
    """The type of a job's last error. Its message is not stored, because it may contain personal data."""

    # A foreign key that deletes the error with the job. Django cannot refer to the unmanaged model, which would delete jobs one by one.
    job_id = models.BigIntegerField(primary_key=True)
    attempt = models.IntegerField()
    error = models.CharField(max_length=255)
    at = models.DateTimeField()
