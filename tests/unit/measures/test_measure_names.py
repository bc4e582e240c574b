from contextlib import suppress

import pytest
from click.testing import CliRunner

from crucial.cli.app import app
from crucial.errors import ParameterError
from crucial.measures.base import register
from crucial.measures.names import MEASURES, CustomMeasure, get_measure, get_measures
from crucial.measures.positions import NDCG
from refusals import refused


def _values(option):
    """Yield the forms that an option may have in the brackets: some text that it can read."""
    for text in ("", "0.5", "2", "top", "attained", "comparable") if option.rule else ("",):
        with suppress(ValueError):
            option.read(text)
            if text or option.bare or not option.rule:
                yield f"={text}" if text else ""


def examples():
    """Yield every measure with and without cutoff, and with each of its options."""
    for name, family in MEASURES.items():
        forms = [name] * (family.cutoff != "must") + [f"{name}@7"] * (family.cutoff != "no")
        yield from forms
        for key, option in family.options.items():
            assert list(_values(option)), f"no value is known for {name}({key})"
            yield from (f"{forms[-1]}({key}{value})" for value in _values(option))


EXAMPLES = list(examples())


@pytest.mark.parametrize("name", EXAMPLES)
def test_plain_names_are_read_back_to_the_same_measure(name: str) -> None:
    measure = get_measure(name)
    assert (measure.name, get_measure(measure.name)) == (name, measure)
    assert get_measure(measure) is measure
    assert measure.meaning
    assert "\n" not in measure.description


def test_a_name_is_taken_once() -> None:
    family = MEASURES["ndcg"]
    refused(
        ValueError, "'ndcg' exists: 'discounted .* register another", register, "ndcg", NDCG, ""
    )
    assert MEASURES["ndcg"] is family


def test_an_option_changes_a_measure() -> None:
    plain = {get_measure(name).description for name in EXAMPLES if "(" not in name}
    same = {name for name in EXAMPLES if "(" in name and get_measure(name).description in plain}
    # (spelled out, they are the defaults)
    assert same == {
        "freund_ap(rel=top)", "avg_rank(rel=top)", "coverage(rel=top)", "hard_loss(tied=0.5)",
        "kendall(tied=0.5)", "prot(rel=top)", "success@7(rel=top)", "top@7(rel=top)",
    }  # fmt: skip


def test_case_and_spaces_do_not_matter() -> None:
    assert get_measure(" NDCG @10 ( B = 2 ) ") == NDCG("ndcg@10(b=2)", cutoff=10, base=2.0)


@pytest.mark.parametrize(("theirs", "ours"), [
    # trec_eval
    ("P_10", "p@10"), ("P.5", "p@5"), ("recall_10", "recall@10"), ("recip_rank", "mrr"),
    ("ndcg_cut_10", "ndcg@10"), ("map_cut_10", "map@10"), ("Rprec", "rprec"), ("bpref", "bpref"),
    ("gm_map", "gm_map"), ("success_5", "success@5"),
    # ir_measures
    ("AP", "map"), ("AP(rel=2)@20", "map@20(rel=2)"), ("nDCG@10", "ndcg@10"), ("RR", "mrr"),
    ("RR@10", "mrr@10"), ("P@10", "p@10"), ("R@50", "recall@50"), ("Judged@10", "judged@10"),
    ("Success@1", "success@1"), ("BPref", "bpref"), ("RBP(p=0.8)", "rbp(p=0.8)"),
    # ranx
    ("precision@10", "p@10"), ("hit_rate@3", "success@3"), ("r-precision", "rprec"),
    ("rbp.95", "rbp(p=0.95)"), ("ndcg_burges@10", "ndcg_exp@10"),
    # as people write them
    ("hit@3", "success@3"), ("ndcg10", "ndcg@10"), ("roc_auc", "auc"), ("average_precision", "map"),
])  # fmt: skip
def test_names_of_other_tools(theirs: str, ours: str) -> None:
    assert get_measure(theirs) == get_measure(ours)


def test_several_names_in_one_text() -> None:
    found = get_measures(["map, ndcg@10(b=2)", "P_5,AP,err(max=4)"])
    assert [one.name for one in found] == ["map", "ndcg@10(b=2)", "p@5", "err(max=4)"]
    several = get_measures("kendall(tied=0,pool),hard_loss(tied=0,pairs=comparable)")
    assert [one.name for one in several] == [
        "kendall(tied=0,pool)", "hard_loss(tied=0,pairs=comparable)",
    ]  # fmt: skip
    refused(ParameterError, "measure 'map,auc' cannot be read.* in a list", get_measure, "map,auc")


def test_letor_is_the_base_2_discount() -> None:
    letor, base = get_measure("ndcg_exp@10(letor)"), get_measure("ndcg_exp@10(b=2)")
    assert letor.description == base.description
    assert letor([3, 0, 2], [1, 2, 3]) == base([3, 0, 2], [1, 2, 3])


@pytest.mark.parametrize(("name", "message"), [
    (10, "a measure must be a name like 'ndcg@10'"),
    ("ndgc@10", "unknown measure 'ndgc'; did you mean 'ndcg'"),
    ("", "measure '' cannot be read"),
    ("ndcg@10)", r"measure 'ndcg@10\)' cannot be read"),
    ("ndcg@0", "measure 'ndcg@0': the cutoff after @ must be an int of at least 1. Got '0'"),
    ("ndcg@", "the cutoff after @ must be an int of at least 1. Got ''"),
    ("p", "measure 'p' needs a cutoff, for example 'p@10'"),
    ("auc@5", "measure 'auc@5': auc takes no cutoff"),
    ("ndcg(rel=2)", r"unknown option of measure 'ndcg\(rel=2\)': 'rel'"),
    ("ndcg@5(letr)", "did you mean 'letor'"),
    ("ndcg@5()", "unknown option"),
    ("ndcg@5(b)", "option 'b' needs a value, b=a number above 1"),
    ("ndcg@5(b=1)", "option 'b' must be a number above 1. Got '1'"),
    ("ndcg@5(b=2,letor)", "'letor' sets an option twice"),
    ("ndcg@5(letor=2)", "option 'letor' takes no value"),
    ("rbp(p=1)", r"option 'p' must be a number in \(0, 1\). Got '1'"),
    ("map(rel=inf)", "option 'rel' must be a label or 'top'. Got 'inf'"),
    ("err(max=2000)", r"option 'max' must be a label in \(0, 1000\]"),
    ("kendall(tied=0.3)", "option 'tied' must be 0, 0.5 or 1"),
    ("kendall(tau,tied=0)", "tau counts no ties"),
    ("hard_loss(pairs=some)", "option 'pairs' must be all or comparable. Got 'some'"),
    ("weak_loss@3(standard=paper)", "option 'standard' must be attained. Got 'paper'"),
    ("profit@3(cost=high)", "option 'cost' must be a number. Got 'high'"),
    ("avg_rank(cap=0)", "option 'cap' must be an int of at least 1"),
    ("profit@3(cost=2e300)", "option 'cost' must be a number. Got '2e300'"),
])  # fmt: skip
def test_bad_names_are_named(name: str, message: str) -> None:
    refused(ParameterError, message, get_measure, name)


def test_functions_are_measures() -> None:
    def share_above(y, scores, qid):
        return None if qid == "b" else float((scores > 0).mean())

    share_above.higher_is_better = False  # type: ignore[attr-defined]
    measure = get_measure(share_above)
    assert isinstance(measure, CustomMeasure)
    assert (measure.name, measure.higher_is_better) == ("share_above", False)
    found = measure.per_query([1, 1, 1], [1.0, -1.0, 2.0], ["a", "a", "b"])
    assert found[0] == 0.5
    assert found[1] != found[1]
    assert "share_above" in measure.description


@pytest.mark.parametrize(("name", "words"), [
    ("ndcg@10", "linear gain y"),
    ("ndcg_exp@10", "gain 2^y - 1"),
    ("ndcg@10(b=3)", "1/log_3(i), 1 before position 3"),
    ("map(rel=2)", "y >= 2"),
    ("mrr", "y > 0"),
    ("freund_ap", "the query's highest y"),
    ("r1", "ties count in full"),
    ("r2", "ties count half"),
    ("r2", "mean over queries"),
    ("r2(pool)", "pooled over the pairs of all queries"),
    ("top@5(count)", "sum over queries"),
    ("err@5(max=4)", "max = 4"),
    ("rbp(p=0.5)", "p = 0.5"),
    ("hard_loss", "of all pairs, ties count half"),
    ("weak_loss@5(standard=attained)", "of its attained maximum"),
    ("iauc(triples)", "every triple"),
    ("profit@5(cost=2)", "less 2 for each"),
])  # fmt: skip
def test_descriptions_say_what_is_computed(name: str, words: str) -> None:
    assert words in get_measure(name).description


def test_one_measure_or_several_each_once():
    def mine(y, scores):
        return 0.0

    for one in ("map", get_measure("map"), ["map"], iter(["map", "MAP"])):
        assert [measure.name for measure in get_measures(one)] == ["map"]
    assert [measure.name for measure in get_measures(mine)] == ["mine"]
    several = get_measures(["map", mine, "auc"])
    assert [measure.name for measure in several] == ["map", "mine", "auc"]
    assert get_measures([]) == []
    assert len(get_measures("map", required=True)) == 1
    refused(ParameterError, "measures is empty: name at least one", get_measures, [], required=True)


def test_numbers_at_the_end_of_their_range() -> None:
    assert get_measure("err(max=1000)").highest == 1000.0
    for cost in (-1e300, 1e300):
        assert get_measure(f"profit@3(cost={cost:g})").cost == cost


def test_the_command_line_lists_every_measure() -> None:
    shown = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["list", "measures"])
    for name, family in MEASURES.items():
        row = next(line for line in shown.stdout.splitlines() if line.split()[:1] and
                   line.split()[0].partition("@")[0].removesuffix("[") == name)  # fmt: skip
        assert family.summary in row
        assert all(option.form(key) in row for key, option in family.options.items())
