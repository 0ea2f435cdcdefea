from config.settings import *  # noqa: F403

ROOT_URLCONF = "bench.bare"
MIDDLEWARE = []
