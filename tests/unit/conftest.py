"""One Dask cluster of threads for all tests of a process."""

import pytest

from toy_parts import local_client


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("distributed")
    with local_client(3, worker_dashboard_address=None) as client:
        yield client
