"""Learned fusions: what they learn, keep, refuse and fuse."""

import warnings

import numpy as np
import pytest

from crucial import evaluate_run
from crucial.data.dataset import Qrels, Run
from crucial.errors import DataError, DataWarning, ParameterError
from crucial.fusion import FusionRanker, Pool, compare_fusions, fuse, learn_fusion
from crucial.fusion import pool as inputs
from crucial.fusion.learning import FEATURES, RRF, LearningOptions, blended, spread, tuned_rrf
from crucial.fusion.ranker import Setting
from crucial.fusion.rules import METHODS, Fusion, Judging
from crucial.io.runs import write_run
from refusals import refused

QUICK = {"features": ["reciprocal", "positions"], "folds": 3, "rounds": 30}


@pytest.fixture(scope="module")
def learned(search):
    runs, qrels = search
    return learn_fusion(runs, qrels, **QUICK)


@pytest.fixture(scope="module")
def compared(search):
    runs, qrels = search
    return compare_fusions(runs, qrels, holdout=0.4, **QUICK)


class TestLearning:
    def test_what_was_tried_is_kept(self, learned):
        choice = learned.choice
        tried = [(t.features, t.rounds, t.share) for t in choice.trials]
        shares = (0.25, 0.5, 0.75, 1.0)
        assert tried[0] == ("reciprocal", 0, 0.0)  # reciprocal rank fusion itself
        assert tried[1:5] == [("reciprocal", 30, share) for share in shares]
        assert tried[5:] == [("positions", stop, share) for stop in (30, 9) for share in shares]
        assert choice.setting == choice.trial.setting
        assert choice.trial.bound == max(trial.bound for trial in choice.trials) > 0
        assert (choice.n_queries, choice.measure, choice.longest) == (40, "map", (20,) * 7)
        said = learned.model.training["fusion"]
        assert (said["topics"], said["measure"], said["longest"]) == (40, "map", [20] * 7)
        assert said["plan"] == learned.plan.to_plain()

    @pytest.mark.parametrize("rows", [1_000_000, 500], ids=["all", "a sample"])
    def test_the_order_of_lines_changes_nothing(self, search, rows, monkeypatch, tmp_path):
        monkeypatch.setattr("crucial.fusion.learning._CHOOSING_ROWS", rows)
        runs, qrels = search
        rng = np.random.default_rng(0)
        shuffled = {}
        for name, run in runs.items():
            at = rng.permutation(len(run.qid))
            shuffled[name] = Run(run.qid[at], run.doc[at], run.score[at], run.tag)
        at = rng.permutation(len(qrels.qid))
        others = Qrels(qrels.qid[at], qrels.doc[at], qrels.relevance[at])
        learn_fusion(runs, qrels, **QUICK).save(tmp_path / "one.json")
        learn_fusion(shuffled, others, **QUICK).save(tmp_path / "other.json")
        assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()

    def test_what_is_given_is_not_chosen_and_what_is_open_is_tried(self, search):
        how = {"features": "positions", "balance": "pairs", "positive": True}
        found = learn_fusion(*search, **how, folds=2, rounds=10)
        assert {one.features for one in found.choice.trials[1:]} == {"positions"}
        assert found.choice.setting.balance == "pairs"
        assert found.plan.columns.startswith("positions")
        how = {"features": "reciprocal", "balance": None, "positive": None}
        found = learn_fusion(*search, **how, folds=2, rounds=5)
        tried = {(one.balance, one.positive) for one in found.choice.trials[1:]}
        assert tried == {(b, p) for b in ("queries", "pairs") for p in (True, False)}

    def test_the_same_seed_gives_the_same_model(self, search, learned):
        assert learn_fusion(*search, **QUICK, n_jobs=1).model == learned.model

    @pytest.mark.parametrize("features", FEATURES)
    def test_every_kind_of_features(self, search, features, tmp_path):
        runs, _ = search
        how = {"features": features, "balance": "queries", "positive": True}
        found = learn_fusion(*search, **how, folds=2, rounds=15)
        assert len(found.plan.feature_names) == found.model.n_features
        assert sum(found.weights().values()) == pytest.approx(1.0)
        assert set(runs) <= set(found.weights())
        found.save(tmp_path / "fuse.json")
        back = FusionRanker.load(tmp_path / "fuse.json")
        assert (back.plan, back.model, back.choice) == (found.plan, found.model, found.choice)
        pool = Pool.of(runs)
        assert back.scores(pool).tolist() == found.scores(pool).tolist()

    def test_positive_weights_never_punish_a_better_place(self, search):
        for features in ("reciprocal", "positions"):
            found = learn_fusion(*search, features=features, positive=True, folds=2, rounds=40)
            for name in search[0]:
                adds = found.contribution(name, range(1, 21))
                assert (np.diff(adds) <= 1e-12).all()
                assert (adds >= 0.0).all()

    def test_abstentions_may_be_learned(self, search):
        some = {**QUICK, "features": "positions", "default_rank": "learned", "positive": False}
        found = learn_fusion(*search, **some)
        fixed = learn_fusion(*search, **{**some, "default_rank": 0})
        assert found.model.training["parameters"]["default_rank"] == "learned"
        assert all(ranker.default == 0 for ranker in fixed.model.rankers)

    def test_unjudged_and_negative_documents_are_not_relevant(self):
        pool = Pool.of({"x": Run(["1"] * 3, ["a", "b", "c"], [3.0, 2.0, 1.0])})
        judging = Judging.of(pool, Qrels(["1", "1", "1"], ["a", "b", "z"], np.array([2, -1, 1])))
        assert judging.labels.tolist() == [2.0, 0.0, 0.0]
        assert judging.is_judged.tolist() == [True, True, False]
        # z is relevant and nobody returned it
        assert judging.values("map", pool.lists[0]).tolist() == [0.5]
        assert judging.unjudged(3, pool.lists[0]) == pytest.approx(1 / 3)

    def test_judging_a_part_is_a_part_of_judging(self, search):
        runs, qrels = search
        whole = Judging.of(Pool.of(runs), qrels)
        wanted = np.arange(40) % 3 == 0
        part = whole.of_queries(wanted)
        scores = Fusion("rrf").scores(whole.pool)
        mine = part.values("map", scores[wanted[whole.pool.query_of_row]])
        assert mine.tolist() == whole.values("map", scores)[wanted].tolist()

    def test_large_files_and_tables_are_learned_from_alike(self, search, tmp_path, monkeypatch):
        runs, qrels = search
        paths = [tmp_path / f"{name}.run" for name in runs]
        for path, run in zip(paths, runs.values()):
            write_run(path, run)
        monkeypatch.setattr(inputs, "_LARGE", 0)
        pool = Pool.of(paths)
        more = (qrels.qid[0], "no run has it", 1)
        columns = (qrels.qid, qrels.doc, qrels.relevance)
        lost = Qrels(*map(np.append, columns, more))
        one, other = Judging.of(pool, lost), Judging.of(Pool.of(runs), lost)
        assert len(one.lost_query) == 1
        assert tuned_rrf(one) == tuned_rrf(other)
        expected = other.values("map", other.pool.lists[0])
        assert one.values("map", pool.lists[0]).tolist() == expected.tolist()

    @pytest.mark.parametrize(("options", "match"), [
        ({"folds": 1}, "'folds' parameter of learn_fusion must be an int of at least 2"),
        ({"features": "postions"}, "unknown features 'postions'; did you mean 'positions'"),
        ({"features": []}, "'features' parameter of learn_fusion must be one or more names"),
        ({"balance": "topics"}, "'balance' parameter of learn_fusion"),
        ({"default_rank": 2}, "'default_rank' parameter of learn_fusion"),
        ({"measure": "mapp"}, "unknown measure 'mapp'"),
    ])  # fmt: skip
    def test_parameters(self, search, options, match):
        refused(ParameterError, match, learn_fusion, *search, **options)

    def test_judgements_of_no_use(self, search):
        runs, qrels = search
        other = Qrels(["x", "y"], ["1", "2"], np.array([1, 0]))
        nothing = Qrels(qrels.qid, qrels.doc, np.zeros(len(qrels.doc), int))
        twice = Qrels(["0", "0"], ["1", "1"], np.array([1, 0]))
        one = {"x": Run(["0"], ["1"], [1.0])}
        for some, judged, match in (
            (runs, other, "no query of the runs is judged: the runs have queries"),
            (runs, nothing, "0 of the 40 judged queries have both a relevant and"),
            (one, twice, "the qrels have document '1' twice in a query"),
        ):
            refused(DataError, match, learn_fusion, some, judged)


class TestChoosing:
    def test_a_gain_has_a_lower_bound_from_students_t(self):
        how = LearningOptions()
        plain = np.full(5, 0.5)
        assert how.gain(plain + 0.1, plain) == pytest.approx((0.1, 0.1))
        # mean .1 with error .1, and the 90% quantile of t with 4 degrees of freedom is 1.533
        found = how.gain(np.array([1.0, 0.5, 0.5, 0.5, 0.5]), plain)
        assert found == pytest.approx((0.1, 0.1 - 1.5332 * 0.1), abs=1e-4)
        assert how.gain(plain - 0.1, plain) == pytest.approx((-0.1, -0.1))
        # (fewer than five queries support nothing)
        assert how.gain(np.array([np.nan, 0.9, 0.9, 0.9, 0.9]), plain) == (0.4, -np.inf)
        losses = LearningOptions(measure="r2")
        assert losses.gain(plain - 0.1, plain) == pytest.approx((0.1, 0.1))

    def test_without_support_the_fusion_is_reciprocal_rank_fusion(self, search):
        # Judgements at random support nothing; one of the four shares seems to in a draw of four.
        runs, qrels = search
        rng = np.random.default_rng(0)
        every = []
        for _ in range(20):
            noise = Qrels(qrels.qid, qrels.doc, rng.permutation(qrels.relevance))
            every.append(learn_fusion(runs, noise, features="reciprocal", folds=3, rounds=20))
        plain = [one for one in every if one.choice.setting.share == 0]
        assert len(plain) >= 12
        found = plain[0]
        assert found.choice.trial.gain == 0
        assert list(found.weights().values()) == pytest.approx([1 / 7] * 7)
        mine, rrf = found.fuse(runs), fuse(runs)
        assert mine.doc.tolist() == rrf.doc.tolist()
        np.testing.assert_allclose(mine.score, 61 * rrf.score, rtol=1e-6)

    @pytest.mark.parametrize("features", ["reciprocal", "positions", "positions+rrf"])
    def test_a_blend_is_the_weighted_sum_of_both(self, search, features):
        runs, qrels = search
        judging = Judging.of(runs, qrels)
        how = LearningOptions(rounds=10)
        pool, setting = judging.pool, Setting(features, "queries", True, 10)
        plan = how.plan(pool, features)
        table = plan.table(pool, plan.prepare(pool))
        model = how.fit(table, judging.labels, pool.query_of_row, setting)
        learned, rrf = model.predict(table), RRF.scores(pool)
        wide, both = blended(model, plan, pool, 0.25)
        found = FusionRanker(both, wide).scores(pool)
        wanted = 0.75 * rrf / spread(pool, rrf) + 0.25 * learned / spread(pool, learned)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        alone = blended(model, plan, pool, 1.0)[1]
        np.testing.assert_allclose(alone.predict(table), learned, rtol=1e-12)

    @pytest.mark.parametrize(("relevant", "k"), [("ends", 1.0), ("middle", 60.0)])
    def test_k_of_reciprocal_ranks(self, relevant, k):
        # First and last place count more than twice the second for a small k, less for others.
        lists = {"x": ["ends", "middle", "a", "b"], "y": ["c", "middle", "d", "ends"]}
        runs = {name: dict.fromkeys("0123", docs) for name, docs in lists.items()}
        judged = {query: {relevant: 1} for query in "0123"}
        assert tuned_rrf(Judging.of(Pool.of(runs), judged)).k == k


class TestNewQueries:
    def test_runs_are_matched_by_name_tag_or_order(self, search, learned):
        runs, _ = search
        expected = learned.fuse(runs)
        backwards = dict(reversed(runs.items()))
        by_name, by_tag = learned.fuse(backwards), learned.fuse(list(backwards.values()))
        for found in (by_name, by_tag):
            assert found.doc.tolist() == expected.doc.tolist()
            assert found.score.tolist() == expected.score.tolist()
        others = {f"new {name}": Run(r.qid, r.doc, r.score, "x") for name, r in runs.items()}
        with pytest.warns(DataWarning, match="taken in the order given: top = new top, "):
            assert learned.fuse(others).doc.tolist() == expected.doc.tolist()

    def test_a_run_that_is_not_there_abstains(self, search, learned):
        runs, _ = search
        fewer = {name: run for name, run in runs.items() if name != "top"}
        match = "no run was given for top; only the other runs are fused"
        with pytest.warns(DataWarning, match=match):
            found = learned.fuse(fewer)
        assert len(found.doc) == Pool.of(fewer).n_rows

    def test_runs_that_cannot_be_recognised(self, search, learned):
        two = [Run(run.qid, run.doc, run.score, "same") for run in list(search[0].values())[:2]]
        match = r"fuses 7 runs \(top, .*\)\. Got 2 \(run 1, run 2\)"
        refused(DataError, match, learned.fuse, two)

    def test_two_runs_of_one_tag_are_refused(self, search, learned):
        top, *others = search[0].values()
        first = np.isin(top.qid, top.qid[:1])
        halves = [Run(top.qid[at], top.doc[at], top.score[at], "top") for at in (first, ~first)]
        match = (
            "2 runs have the tag 'top': run 1, run 2. Merge them .* the model: top, bottom, left"
        )
        refused(DataError, match, learned.fuse, [*halves, *others])
        named = {"top": top, "bottom": Run(top.qid, top.doc, top.score, "top")}
        with pytest.warns(DataWarning, match="no run was given for left"):
            learned.fuse(named)  # (names come before tags)

    def test_an_unknown_run_among_known_ones_is_refused(self, search, learned):
        runs, top = search[0], search[0]["top"]
        match = "run 'other' is none of the model's: top, bottom, .* Leave it out"
        renamed = {("other" if name == "top" else name): run for name, run in runs.items()}
        renamed["other"] = Run(top.qid, top.doc, top.score, "x")
        tagged = [Run(top.qid, top.doc, top.score, "other"), *list(runs.values())[1:]]
        for other in (renamed, tagged):
            refused(DataError, match, learned.fuse, other)

    def test_blocks_of_queries_change_nothing(self, search, learned, monkeypatch):
        pool = Pool.of(search[0])
        expected = learned.scores(pool).tolist()
        rules = {name: Fusion(name).scores(pool).tolist() for name in METHODS}
        monkeypatch.setattr(inputs, "_CELLS", 1000)
        assert len(list(pool.blocks())) > 10
        assert learned.scores(pool).tolist() == expected
        assert {name: Fusion(name).scores(pool).tolist() for name in METHODS} == rules

    def test_contributions_of_a_run_nobody_knows(self, learned):
        match = "unknown run 'tpo'; did you mean 'top'"
        refused(ParameterError, match, learned.contribution, "tpo", [1])
        match = "must be positions, counted from 1"
        refused(ParameterError, match, learned.contribution, "top", [0])


class TestComparison:
    def test_everything_is_in_the_table(self, search, compared):
        runs, _ = search
        names = [one.name for one in compared.systems]
        assert names[:7] == list(runs)
        assert names[-1] == "learned"
        assert {"rrf(60)", "combsum(min-max)", "combmnz(min-max)"} <= set(names)
        assert {"borda", "condorcet", "median"} <= set(names)
        assert (len(compared.test_queries), len(compared.train_queries)) == (16, 24)
        assert not set(compared.test_queries) & set(compared.train_queries)
        assert compared.baseline in runs
        assert "16 held-out queries" in str(compared)
        assert list(compared.to_frame()["system"]) == names

    def test_values_are_those_of_evaluate_run(self, search, compared):
        runs, qrels = search
        held = set(compared.test_queries)

        def part(table, **more):
            rows = [i for i, query in enumerate(table.qid) if query in held]
            return type(table)(table.qid[rows], table.doc[rows], *(v[rows] for v in more.values()))

        judged = part(qrels, relevance=qrels.relevance)
        cut = {name: part(run, score=run.score) for name, run in runs.items()}
        for name, run in cut.items():
            found = evaluate_run(judged, run, ["map", "ndcg@10"])
            assert compared[name].values["map"] == pytest.approx(found["map"])
            assert compared[name].values["ndcg@10"] == pytest.approx(found["ndcg@10"])
            assert compared[name].unjudged == found.results["ndcg@10"].unjudged
        rrf = evaluate_run(judged, fuse(cut, "rrf", depth=None), "map")["map"]
        assert compared["rrf(60)"].values["map"] == pytest.approx(rrf)
        learned = evaluate_run(judged, compared.fusion.fuse(cut, depth=None), "map")["map"]
        assert compared.learned.values["map"] == pytest.approx(learned)
        change, low, high = compared.learned.differences["map"]
        base = compared[compared.baseline].values["map"]
        assert change == pytest.approx(learned - base)
        assert 0.0 < low <= change <= high  # (it is the best)
        assert compared.against_rrf["map"][0] > 0.0

    def test_documents_that_one_run_alone_returned(self, search, compared):
        runs, _ = search
        held = set(compared.test_queries)
        owners = {}
        for name, run in runs.items():
            for query, doc in zip(run.qid, run.doc):
                if query in held:
                    owners.setdefault((query, doc), []).append(name)
        alone = [names[0] for names in owners.values() if len(names) == 1]
        assert compared.loners.share == pytest.approx(len(alone) / len(owners))
        for name in runs:
            assert compared.loners.by_run[name][0] == alone.count(name)

    def test_held_out_queries_do_not_teach(self, search, compared):
        runs, qrels = search
        held = np.isin(qrels.qid.astype(str), compared.test_queries)
        turned = Qrels(qrels.qid, qrels.doc, np.where(held, 1 - qrels.relevance, qrels.relevance))
        other = compare_fusions(runs, turned, holdout=0.4, **QUICK)
        assert other.fusion.model == compared.fusion.model
        assert (other.baseline, other.rrf) == (compared.baseline, compared.rrf)

    def test_the_split_goes_by_seed_and_not_by_order(self, search, compared):
        runs, qrels = search
        one = {"features": "reciprocal", "balance": "queries", "positive": True, "folds": 2,
               "rounds": 5, "holdout": 0.4}  # fmt: skip
        again = compare_fusions(dict(reversed(runs.items())), qrels, **one)
        assert set(again.test_queries) == set(compared.test_queries)
        other = compare_fusions(runs, qrels, random_state=1, **one)
        assert set(other.test_queries) != set(compared.test_queries)

    def test_a_run_may_have_the_name_of_a_fusion(self, search):
        runs, qrels = search
        some = dict(zip(["learned", "rrf(60)", "x"], runs.values()))
        found = compare_fusions(some, qrels, holdout=0.4, **QUICK)
        assert found.learned.name == "learned*"
        change = found.against_rrf["map"][0]
        rrf = found[f"{found.rrf}*" if found.rrf == "rrf(60)" else found.rrf]
        assert change == pytest.approx(found.learned.values["map"] - rrf.values["map"])

    def test_too_few_queries(self):
        run = Run(["1", "2", "3"], ["a", "a", "a"], np.ones(3))
        qrels = Qrels(["1", "2", "3"], ["a", "a", "a"], np.ones(3, int))
        match = "3 judged queries are too few to hold out 2 of them"
        refused(DataError, match, compare_fusions, {"x": run, "y": run}, qrels)


class TestRankOneQuery:
    """`FusionRanker.rank`, as a search service calls it."""

    @pytest.mark.parametrize("features", ["reciprocal", "positions", "positions+scores"])
    def test_is_what_fuse_returns(self, search, features):
        runs, qrels = search
        fusion = learn_fusion(runs, qrels, features=features, folds=2, rounds=10)
        fused = fusion.fuse(runs, depth=None).to_dict()
        by_query = {name: run.to_dict() for name, run in runs.items()}
        for query in list(fused)[:3]:
            lists = {name: list(found[query].items()) for name, found in by_query.items()}
            assert fusion.rank(lists) == list(fused[query].items())
            backwards = {name: found[::-1] for name, found in reversed(lists.items())}
            assert fusion.rank(backwards, depth=5) == fusion.rank(lists)[:5]
            hits = {n: [{"_id": d, "_score": s} for d, s in found] for n, found in lists.items()}
            replies = {name: {"hits": {"hits": found}} for name, found in hits.items()}
            assert fusion.rank(replies) == fusion.rank(lists)

    def test_empty_and_missing_lists_abstain(self, learned):
        full = {"top": ["a", "b"], "left": ["b", "c"]}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            wanted = learned.rank(full)
            assert {doc for doc, _ in wanted} == {"a", "b", "c"}
            assert learned.rank({**full, "bottom": [], "right": None, "rows": {}}) == wanted
            assert learned.rank({"top": []}) == learned.rank({}) == []
        run = {name: {"q": found} for name, found in full.items()}
        with pytest.warns(DataWarning, match="no run was given for bottom"):
            assert list(learned.fuse(run).to_dict()["q"].items()) == wanted

    def test_what_is_wrong_is_named(self, learned):
        match = "the model fuses the runs top, .*Got a list of 'bm25'"
        refused(DataError, match, learned.rank, {"bm25": ["a"]})
        refused(
            DataError, "run 'top': document 'a' occurs twice", learned.rank, {"top": ["a", "a"]}
        )
        match = "'depth' parameter of FusionRanker"
        refused(ParameterError, match, learned.rank, {"top": ["a"]}, depth=0)
        for wrong in (None, ["a", "b"]):
            refused(ParameterError, "'lists' parameter .* must be a mapping", learned.rank, wrong)


def test_a_run_without_documents_abstains(search):
    runs, _ = search
    with pytest.warns(DataWarning, match="a run without documents abstains: 'none'"):
        fused = fuse({**runs, "none": {}})
    assert fused.to_dict() == fuse(runs).to_dict()
