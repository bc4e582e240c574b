"""
AdaBoost and RankBoost are one
==============================

AdaBoost learns to tell two classes apart, RankBoost to rank one above the other. With the
constant among its hypotheses, AdaBoost minimises what RankBoost minimises, and RankBoost
with the right intercept is as good a classifier (Rudin & Schapire 2009, section 5). Here on
the breast cancer data of scikit-learn: three features, cut into four bins each, so that no
sum of stumps parts the classes and the minimum exists.

The same holds for many labels: AdaBoost.MH and the product form of AdaBoost.MR, on the
digits of scikit-learn.

Run it with ``python examples/adaboost_is_rankboost.py picture.png`` (it uses matplotlib);
without a name the picture goes to a temporary folder.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import accuracy_score, brier_score_loss, coverage_error, label_ranking_loss
from sklearn.model_selection import train_test_split

import crucial

ROUNDS = 1_000


def two_classes() -> dict[str, dict[str, np.ndarray]]:
    """Both algorithms on the same rows: their objectives and AUC after every round."""
    X, y = load_breast_cancer(return_X_y=True)
    X, n, good = X[:, :3], len(y), int(y.sum())
    settings = {"n_estimators": ROUNDS, "max_bins": 4, "record_risks": True}
    ada = crucial.rankers.AdaBoostRanker(learning_rate=1.0, **settings).fit(X, y)
    rank = crucial.RankBoost.preset("rudin_schapire", **settings).fit(X, y)

    # AdaBoost's trace has F = F+ + F- (as a share of the n it begins with) and F+ - F-.
    total, skew = n * ada.trace_.column("loss"), ada.trace_.column("f_skew")
    # RankBoost's has F+ F-, as a share of the number of pairs.
    product = good * (n - good) * rank.trace_.column("loss")
    curves = {
        "AdaBoost": {"sum": total, "product": (total + skew) * (total - skew) / 4},
        # The intercept .5 ln(F+ / F-) makes both parts the root of their product.
        "RankBoost": {"sum": 2 * np.sqrt(product), "product": product},
    }
    for name, ranker in (("AdaBoost", ada), ("RankBoost", rank)):
        curves[name]["auc"] = 1 - ranker.trace_.column("r2")

    print(f"{n} rows, {good} of them good; {X.shape[1]} features\n")
    print(f"{'':<10} {'rounds':>6} {'F+ F-':>14} {'F+ + F-':>14} {'AUC':>9} {'F+ - F-':>10}")
    for name, curve in curves.items():
        for at in sorted({10, 100, len(curve["sum"])}):
            numbers = f"{curve['product'][at - 1]:14.5f} {curve['sum'][at - 1]:14.7f}"
            left = f"{skew[at - 1]:10.1e}" if name == "AdaBoost" else "   (by b) 0"
            print(f"{name:<10} {at:>6} {numbers} {curve['auc'][at - 1]:9.6f} {left}")
    same = np.isclose(curves["AdaBoost"]["product"][-1], product[-1], rtol=1e-6)
    print(f"\nthe same minimum of F+ F-: {same}")
    classifier = rank.to_classifier()
    agree = np.mean(classifier.predict(X) == (ada.predict(X) > 0))
    print(f"RankBoost with b = {classifier.intercept_:.4f} decides as AdaBoost on {agree:.0%}")
    return curves


def probabilities() -> None:
    """A ranker as a classifier, with probabilities that mean something or not."""
    X, y = load_breast_cancer(return_X_y=True)
    fit, rest, y_fit, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
    held, test, y_held, y_test = train_test_split(rest, y_rest, test_size=0.5, random_state=0)
    ranker = crucial.RankBoost(1_000, 1.0).fit(fit, y_fit)
    plain = ranker.to_classifier()
    made = ranker.to_classifier("sigmoid", held, y_held)
    print("\nRankBoost on all features, as a classifier of rows it has not seen:")
    for name, one in (("link of the loss", plain), ("calibrated", made)):
        brier = brier_score_loss(y_test, one.predict_proba(test)[:, 1])
        print(f"{name:<17} accuracy {one.score(test, y_test):.3f}, Brier score {brier:.4f}")


def many_labels() -> None:
    """Which digit it is, and five properties of it, ranked by AdaBoost.MH and .MR."""
    X, digit = load_digits(return_X_y=True)
    # No multilabel data come with scikit-learn; these labels are derived from the digit.
    names = ["even", "prime", "five or more", "has a loop", "multiple of three"]
    rules = [lambda d: d % 2 == 0, lambda d: d in (2, 3, 5, 7), lambda d: d >= 5,
             lambda d: d in (0, 6, 8, 9), lambda d: d % 3 == 0]  # fmt: skip
    properties = np.array([[rule(d) for rule in rules] for d in digit]).astype(int)
    train, test = slice(0, 1200), slice(1200, None)
    print(f"\n{'':<12} {'objective':<11} {'ranking loss':>12} {'coverage':>9} {'accuracy':>9}")
    for title, y in (("digit", digit), ("properties", properties)):
        right = y if y.ndim == 2 else digit[:, None] == np.arange(10)
        label_scores = {}
        for objective in ("mh", "mr_product", "mr"):
            ranker = crucial.rankers.LabelRanker(200, objective=objective).fit(X[train], y[train])
            scores = label_scores[objective] = ranker.label_scores(X[test])
            numbers = label_ranking_loss(right[test], scores), coverage_error(right[test], scores)
            correct = accuracy_score(y[test].ravel(), ranker.predict(X[test]).ravel())
            print(
                f"{title:<12} {objective:<11} {numbers[0]:12.4f} {numbers[1]:9.3f} {correct:9.3f}"
            )
        # Where training leaves no error there is no minimum to share, only a direction.
        gap = np.abs(label_scores["mh"] - label_scores["mr_product"]).max()
        print(f"{'':<12} scores of mh and mr_product differ by up to {gap:.2g}")
    ranked = ranker.rank_labels(X[test])[0]
    print(f"\na {digit[test][0]}: {' > '.join(names[label] for label in ranked)}")


def draw(curves: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for name, curve in curves.items():
        rounds = np.arange(1, len(curve["sum"]) + 1)
        least = min(one["product"].min() for one in curves.values())
        axes[0].loglog(rounds, np.maximum(curve["product"] / least - 1, 1e-12), label=name)
        axes[1].semilogx(rounds, curve["auc"], label=name)
    axes[0].set(xlabel="round", ylabel="F+ F- above its minimum (relative)")
    axes[1].set(xlabel="round", ylabel="AUC, training rows")
    for ax in axes:
        ax.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    curves = two_classes()
    probabilities()
    many_labels()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "curves.png"
        draw(curves, path)
        print(f"\nthe picture has {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
