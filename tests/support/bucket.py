"""A server that speaks S3, with a bucket and a user whose secret is checked."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto import settings as moto_settings
from moto.server import ThreadedMotoServer

POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


@contextmanager
def serving_bucket(name: str) -> Iterator[dict[str, str]]:
    """Yield the options of `FILES_S3` for a new bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        options = {
            "endpoint_url": endpoint,
            "region_name": "us-east-1",
            "aws_access_key_id": "setup",
            "aws_secret_access_key": "setup",
        }
        boto3.client("s3", **options).create_bucket(Bucket=name)
        iam = boto3.client("iam", **options)
        iam.create_user(UserName="service")
        iam.put_user_policy(UserName="service", PolicyName="all", PolicyDocument=json.dumps(POLICY))
        key = iam.create_access_key(UserName="service")["AccessKey"]
        # Without this, moto accepts any secret.
        moto_settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        yield {
            "bucket": name,
            "region": "us-east-1",
            "endpoint": endpoint,
            "access_key_id": key["AccessKeyId"],
            "secret_access_key": key["SecretAccessKey"],
        }
    finally:
        moto_settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
        server.stop()
