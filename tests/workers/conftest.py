"""A house for each test."""

import pytest

from infra.redis_port import RedisPort
from tests.workers.stage import House, open_house


@pytest.fixture
def house(redis: RedisPort) -> House:
    return open_house(redis)
