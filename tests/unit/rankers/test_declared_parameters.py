"""Every parameter of every public estimator, by introspection of its declaration."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import crucial
from crucial.errors import ParameterError
from crucial.parameters import Parameter, check_parameters, parameters_of, plain
from crucial.rankers.classifiers import RankingClassifier

ESTIMATORS = [
    one
    for one in (getattr(crucial.rankers, name) for name in crucial.rankers.__all__)
    if isinstance(one, type) and issubclass(one, BaseEstimator)
] + [crucial.AutoRanker, RankingClassifier]
PARAMETERS = [(one, parameter) for one in ESTIMATORS for parameter in parameters_of(one).values()]
IDS = [f"{one.__name__}.{parameter.name}" for one, parameter in PARAMETERS]

#: Positional parameters; all others are taken by name only.
POSITIONAL = {
    name: positional.split()
    for positional, names in {
        "n_estimators learning_rate": "AdaBoostRanker ComponentwiseBoost GradientRanker "
        "LabelRanker LogisticRanker LogitBoost RankBoost RankBoostPlus SmoothMarginRanker",
        "l2": "InfinitePush ListMLE RankRLS RankingSVM SVMMap",
        "max_depth": "TreeRank",
        "n_estimators": "RankCosine RankingForest",
        "n_intervals cycles": "FeatureRank",
        "budget measure": "AutoRanker",
        "hidden l2": "RankNet",
        "l1": "RSRank",
        "levels": "RankOver",
        "n_features c": "SelectByRanking",
        "n_intervals prec": "DiffRank",
        "p n_estimators learning_rate": "PNormPush",
        "ranker": "RankingClassifier",
    }.items()
    for name in names.split()
}


def as_numpy(value: object) -> object:
    """The NumPy scalar of a plain value; other values as they are."""
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, str: np.str_}
    return kinds[type(value)](value) if type(value) in kinds else value


def some_values(parameter: Parameter) -> Iterator[object]:
    """Values that the rule of a parameter allows: choices, and whatever else of a few fits."""
    candidates = [parameter.default, *parameter.rule.choices, *parameter.grid]
    candidates += [True, False, 1, 2, 5, 0.5, 0.25, 1e-3]
    seen: list[object] = []
    for value in candidates:
        same = any(type(value) is type(one) and value == one for one in seen)
        if parameter.rule.accepts(value) and not same:
            seen.append(value)
            yield value


def test_the_package_completes_to_its_public_names_alone() -> None:
    shown = [name for name in dir(crucial) if not name.startswith("__")]
    assert shown == sorted(set(crucial.__all__) - {"__version__"})


def test_the_estimators_are_found() -> None:
    assert {one.__name__ for one in ESTIMATORS} == set(POSITIONAL)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_signature_is_the_declaration(estimator: type[Any]) -> None:
    signature = inspect.signature(estimator).parameters
    declared = parameters_of(estimator)
    assert list(signature) == list(declared)
    positional = [name for name, one in signature.items() if one.kind is not one.KEYWORD_ONLY]
    assert positional == POSITIONAL[estimator.__name__]
    assert {name: one.default for name, one in signature.items()} == {
        name: one.default for name, one in declared.items()
    }
    assert sorted(declared) == sorted(estimator().get_params(deep=False))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_documented_where_it_stands(estimator: type[Any]) -> None:
    prose, *sections = re.split(r"\n\n(\w+)\n-+\n", inspect.getdoc(estimator) or "")
    texts = dict(zip(sections[::2], sections[1::2]))
    assert prose
    assert list(texts)[:2] == ["Parameters", "Attributes"]
    entries = re.findall(r"^(\w+) : .+\n    \S", texts["Parameters"], re.MULTILINE)
    assert entries == list(parameters_of(estimator))
    names = re.findall(r"^(\w+_) : ", texts["Attributes"], re.MULTILINE)
    assert len(names) == len(set(names)) > 2
    assert "Examples" in texts or estimator is RankingClassifier


@pytest.mark.parametrize(("estimator", "parameter"), PARAMETERS, ids=IDS)
def test_defaults_and_grids_obey_the_rule(estimator: type[Any], parameter: Parameter) -> None:
    if estimator is not RankingClassifier:  # (which needs a ranker)
        assert parameter.rule.accepts(parameter.default)
    assert all(parameter.rule.accepts(value) for value in parameter.grid)
    assert parameter.text.endswith(".")
    assert parameter.text[0] == parameter.text[0].upper()


@pytest.mark.parametrize(("estimator", "parameter"), PARAMETERS, ids=IDS)
def test_numpys_scalars_are_taken_as_pythons(estimator: type[Any], parameter: Parameter) -> None:
    for value in some_values(parameter):
        assert parameter.rule.accepts(as_numpy(value)), value
    for value in (True, False, 0, 1, 0.5, -1, "no such choice"):
        if not parameter.rule.accepts(value):
            assert not parameter.rule.accepts(as_numpy(value)), value


X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
QUICK = {"n_estimators": 3, "n_intervals": 2, "max_iter": 30}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if one is not RankingClassifier])
def test_numpys_scalars_give_the_same_model(estimator: type[Any]) -> None:
    """One fit with every default as a NumPy scalar, and one per choice of every parameter."""
    declared = parameters_of(estimator)
    quick = {name: value for name, value in QUICK.items() if name in declared}
    several: list[dict[str, object]] = [{name: one.default for name, one in declared.items()}]
    several += [
        {one.name: value}
        for one in declared.values()
        for value in one.rule.choices
        if (one.name, value) != ("random_state", None)  # (another seed every time)
    ]
    for changes in several:
        if "bootstrap" in declared and changes.get("random_state", 0) is None:
            continue  # (another forest every time)
        plain_values = changes | quick
        table = (X > 0.0).astype(float) if changes.get("weak") == "column" else X
        table = X @ X.T if changes.get("kernel") == "precomputed" else table
        try:
            expected = estimator(**plain_values).fit(table, Y)
        except ParameterError:  # (choices that do not go with the defaults)
            continue
        scalars = {name: as_numpy(value) for name, value in plain_values.items()}
        found = estimator(**scalars).fit(table, Y)
        if hasattr(found, "get_support"):  # (a selection of features)
            assert found.get_support().tolist() == expected.get_support().tolist(), changes
            continue
        assert found.model_ == expected.model_, changes
        if hasattr(found.model_, "training"):
            assert found.model_.training == expected.model_.training, changes


def test_what_runs_a_fit_is_no_part_of_the_model() -> None:
    running = {p.name for _, p in PARAMETERS if not p.shapes_model}
    assert running == {"callbacks", "n_jobs", "store", "verbose", "warm_start"}


@pytest.mark.parametrize(("estimator", "parameter"), PARAMETERS, ids=IDS)
def test_a_bad_value_is_refused_in_one_form(estimator: type[Any], parameter: Parameter) -> None:
    bad = next((v for v in (object(), "no such") if not parameter.rule.accepts(v)), None)
    if bad is None:
        assert parameter.name in ("eval_metric", "monotone_constraints")
        return
    with pytest.raises(ParameterError) as caught:
        check_parameters(estimator(**{parameter.name: bad} | _needed(estimator, parameter)))
    message = f"The '{parameter.name}' parameter of {estimator.__name__} must be "
    assert str(caught.value).startswith(f"{message}{parameter.rule.wording}. Got {bad!r} instead.")
    assert plain(caught.value.value) is bad


@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if one is not RankingClassifier])
def test_fit_looks_at_the_parameters_first(estimator: type[Any]) -> None:
    name, bad = ("n_jobs", 0) if "n_jobs" in parameters_of(estimator) else ("verbose", "loud")
    with pytest.raises(ParameterError, match=f"'{name}' parameter of {estimator.__name__}"):
        estimator(**{name: bad}).fit(X, Y)


def _needed(estimator: type[Any], parameter: Parameter) -> dict[str, object]:
    needs = estimator is RankingClassifier and parameter.name != "ranker"
    return {"ranker": crucial.RankBoost()} if needs else {}


@pytest.mark.parametrize(
    "estimator", [one for one in ESTIMATORS if "random_state" in parameters_of(one)]
)
def test_seeds_are_those_that_model_files_can_keep(estimator: Any) -> None:
    rule = parameters_of(estimator)["random_state"].rule
    for seed in (0, 2**63 - 1, np.int64(7), None, np.random.RandomState(0)):
        assert rule.accepts(seed)
    for seed in (-1, 2**63, 2**64, np.uint64(2**63), 0.5, True):
        assert not rule.accepts(seed)
