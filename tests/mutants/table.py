"""Which tests concern which module; the quick ones, those that notice most first."""

from __future__ import annotations

_SVMLIGHT = ("data/test_svmlight_bad.py", "data/test_svmlight.py")
_MEASURES = (
    "measures/test_measure_names.py",
    "measures/test_measure_values.py",
    "properties/test_measures_properties.py",
)
_REVIEW = ("golden/test_papers_review.py", "properties/test_review_losses.py")
_TABLES = ("data/test_odd_tables.py", "data/test_tables.py")
_FOLDERS = ("agreement/", "golden/", "properties/")
_NAMES = "model/test_export_names.py"
_TARGETS = "agreement/test_export_targets.py"
_NUMBERS = "agreement/test_export_numbers.py"
_CODE = "agreement/test_export_code.py"
_SHAP = "agreement/test_export_engines.py::test_shap_values_are_those_of_the_rows"
_EXPORTS = (_TARGETS, _NUMBERS)
_WITHOUT_CHANCES = ("elasticsearch", "solr")


def _scores(target: str) -> tuple[str, ...]:
    """Return the tests that exports have the bytes of golden files, and score as the model."""
    golden = "golden/test_exports.py::test_exports_stay_the_same"
    scores = f"{_TARGETS}::test_a_target_scores_as_the_model_or_refuses"
    chances = f"{_TARGETS}::test_probabilities_are_those_of_the_model[{target}]"
    return (
        f"{golden}[{target}-trees]",
        f"{golden}[{target}-stumps]",
        *(f"{scores}[{target}-{kind}]" for kind in ("votes", "empty", "constant", "mixed")),
        *([] if target in _WITHOUT_CHANCES else [chances]),
    )


#: Module below src/crucial -> tests below tests/unit, or in another of the folders of tests. Its
#: own examples run too.
CONCERNED = {
    "apps/preferences/journal.py": ("apps/preferences/test_preference_session.py",),
    "apps/preferences/server.py": ("apps/preferences/test_preference_server.py",),
    "data/append_log.py": ("data/test_append_log.py",),
    "data/arrays.py": ("data/test_arrays.py", "estimators/test_huge_numbers.py"),
    "data/files.py": ("data/test_files.py", "test_progress.py"),
    "data/formats/comparisons.py": ("data/test_comparisons.py", "data/test_arena_files.py"),
    "data/formats/excel.py": _TABLES,
    "data/formats/other_runs.py": ("data/test_trec.py", "data/test_run_inputs.py"),
    "data/formats/pairs.py": ("data/test_pair_files.py",),
    "data/formats/parquet.py": _TABLES,
    "data/formats/preflib.py": ("data/test_preflib.py",),
    "data/formats/rating_columns.py": ("data/test_ratings.py",),
    "data/formats/ratings.py": ("data/test_ratings.py",),
    "data/formats/svmlight.py": _SVMLIGHT,
    "data/formats/svmlight_lines.py": _SVMLIGHT,
    "data/formats/table_writing.py": ("data/test_tables.py", "data/test_odd_tables.py"),
    "data/formats/tables.py": _TABLES,
    "data/formats/trec.py": ("data/test_trec.py",),
    "data/sparse_checks.py": ("data/test_sparse_checks.py",),
    "distributed/checkpoint_file.py": ("distributed/test_checkpoint.py",),
    "errors.py": ("test_errors.py",),
    "measures/cascade.py": _MEASURES,
    "measures/delong.py": ("measures/test_row_intervals.py",),
    "measures/families.py": ("measures/test_measure_names.py", "measures/test_measure_values.py"),
    "measures/judged.py": (
        "measures/test_measure_ranking.py",
        "measures/test_measure_evaluate.py",
        "measures/test_measure_values.py",
        "measures/test_measure_runs.py",
    ),
    "measures/linear.py": _MEASURES,
    "measures/names.py": ("measures/test_measure_names.py",),
    "measures/paired.py": ("measures/test_paired.py",),
    "measures/pairs.py": (*_MEASURES, *_REVIEW),
    "measures/precision.py": _MEASURES,
    "measures/ranking.py": ("measures/test_measure_values.py", "measures/test_measure_ranking.py"),
    "measures/runs.py": ("measures/test_measure_runs.py",),
    "measures/top_losses.py": _REVIEW,
    "model/checks.py": ("model/test_checks.py", "model/test_model_file.py"),
    "model/export/checks.py": ("model/test_export_checks.py",),
    "model/export/engine_numbers.py": (
        "properties/test_export_forms.py",
        _NUMBERS,
        *_scores("xgboost"),
    ),
    "model/export/forest.py": ("model/test_export_forest.py",),
    "model/export/form.py": ("model/test_export_checks.py", "agreement/test_export_targets.py"),
    "model/export/plain_trees.py": ("properties/test_export_forms.py", _TARGETS, _SHAP),
    "model/export/sql_writer.py": (_CODE,),
    "model/export/targets/c_code.py": (*_scores("c"), _NAMES, f"{_CODE}::test_c_takes_numbers"),
    "model/export/targets/elasticsearch_ltr.py": (
        *_scores("elasticsearch-ltr"),
        f"{_TARGETS}::test_nodes_of_elasticsearch_are_numbered_and_found_by_their_numbers",
        _NUMBERS,
    ),
    "model/export/targets/elasticsearch_native.py": (*_scores("elasticsearch"), _NUMBERS),
    "model/export/targets/javascript_code.py": (*_scores("javascript"), _NAMES, _CODE),
    "model/export/targets/lightgbm_text.py": (*_scores("lightgbm"), _NUMBERS, _SHAP),
    "model/export/targets/onnx_file.py": (
        *_scores("onnx")[2:],
        f"{_TARGETS}::test_onnx_adds_batches_of_trees_in_the_order_of_the_model",
        _NUMBERS,
        _NAMES,
    ),
    "model/export/targets/python_code.py": (*_scores("python"), _NAMES, _CODE),
    "model/export/targets/solr_json.py": (*_scores("solr"), _NUMBERS),
    "model/export/targets/sql_code.py": (*_scores("sql"), _NAMES, _CODE),
    "model/export/targets/xgboost_json.py": (*_scores("xgboost"), _TARGETS, _NUMBERS, _SHAP),
    "model/export/verify.py": ("model/test_export_checks.py", *_EXPORTS),
    "model/file.py": ("model/test_model_file.py",),
    "model/kernel_payload.py": ("model/test_kernel.py",),
    "model/payloads.py": ("model/test_model_file.py", "model/test_loaded_rankers.py"),
    "model/trees_payload.py": ("model/test_ranking_trees.py",),
    "parameters/rules.py": ("parameters/test_rules.py",),
}


def paths_of(module: str) -> list[str]:
    """Return what pytest is to run for a module: its own examples, then its tests."""
    tests = (name if name.startswith(_FOLDERS) else f"unit/{name}" for name in CONCERNED[module])
    return [f"src/crucial/{module}", *(f"tests/{name}" for name in tests)]
