"""Rankers that are one weighted sum of the features themselves, or of kernels with some rows.

`columns` turns rows into a `Space` of weights, `losses` has functions of the scores of rows, and
a solver takes a loss, a space and a penalty, and returns a `Minimum`:

======================  ================================================  ========================
solver                  needs of a loss                                   rankers
======================  ================================================  ========================
`lbfgs`                 value and gradient (`Loss`)                       ListMLE
`truncated_newton`      gradient and curvature (`CurvedLoss`)             RankingSVM, squared hinge
`minimise_by_planes`    value and subgradient (`Loss`), and smooth        RankingSVM, hinge;
                        forms with planes below it (`BoundedLoss`)        InfinitePush; SVMMap
`minimise_l1`           a `BoundedLoss`                                   RankingSVM, l1; RSRank
`minimise_concave`      a `BoundedLoss`                                   RankingSVM, log, lq, mcp
`frank_wolfe`           a `CurvedLoss`                                    RankingSVM, l1_ball
`l1_planes`             value and subgradient (`Loss`)                    InfinitePush, l1
======================  ================================================  ========================

RankRLS is solved in closed form (`closed_form`), and by `truncated_newton` from sparse rows or
explicit pairs. RankCosine adds one column per round (`losses.add_features`).
"""
