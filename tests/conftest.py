"""How long the properties are looked at, where the naive twins are found, and no network.

Examples are derived from the tests themselves, so that two runs see the same ones.
``HYPOTHESIS_PROFILE=full`` draws the many examples of the long sweeps in every property, ``few`` a
handful, and ``raw`` shows a failing example as it was found, without the time to shorten it.
``--examples N`` draws N in each property that is run, whatever number it has by itself.
"""

import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

sys.path.insert(0, str(Path(__file__).parent))
_NO_NETWORK = str(Path(__file__).parent / "no_network")
if _NO_NETWORK not in sys.path:
    # Here, and in every Python that a test starts.
    sys.path.insert(0, _NO_NETWORK)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        path for path in (_NO_NETWORK, os.environ.get("PYTHONPATH")) if path
    )
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")

_COMMON = {
    "deadline": None,  # (a first call may compile)
    "derandomize": True,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("default", max_examples=30, **_COMMON)
settings.register_profile("few", max_examples=6, **_COMMON)
settings.register_profile("full", max_examples=1000, **_COMMON)
settings.register_profile("raw", max_examples=30, phases=[Phase.generate], **_COMMON)
os.environ["MPLBACKEND"] = "agg"  # (figures are drawn without a window)
os.environ.pop("COLUMNS", None)  # (runs in parallel set it, and tables would follow it)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--examples", type=int, help="examples drawn in each property that is run")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each property the number of examples that the command line asks for."""
    wanted = config.getoption("--examples")
    if wanted is None:
        return
    for item in items:
        test = getattr(item, "obj", None)
        if getattr(test, "is_hypothesis_test", False):
            # (Hypothesis refuses a second @settings; this is where the first one is kept)
            own = getattr(test, "_hypothesis_internal_use_settings", None) or settings()
            test._hypothesis_internal_use_settings = settings(own, max_examples=wanted)
