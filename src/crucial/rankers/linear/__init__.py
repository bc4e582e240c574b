"""Rankers that are one weighted sum of the features themselves, or of kernels with some rows.

`Design` turns the features into columns, and each column into a weak ranker of a model. A
loss is a function of the scores of the rows. A solver takes a loss, the columns and a ridge, and
returns a `Solution`:

======================  =============================================  ===========================
solver                  a loss has                                     rankers
======================  =============================================  ===========================
`solvers.lbfgs`         value and gradient (`SmoothLoss`)              ListMLE
`solvers.newton`        a smooth form of any sharpness, its            InfinitePush
                        curvature and a dual bound (`SharpLoss`)
`cutting_planes`        a plane below it at any scores (`PlaneLoss`)   SVMMap
`truncated_newton`      gradient and curvature (`CurvedLoss`)          RankingSVM, squared hinge
`bundle`                hinges of pairs (`Hinges`)                     RankingSVM, hinge
`least_squares`         differences of labels (`Centring`)             RankRLS
======================  =============================================  ===========================

`truncated_newton` and `bundle` take a `Space` instead of columns, so that kernels are solved alike;
`representations` makes it of the rows, and a model of the weights found.

RankCosine adds one column per round instead (`cosine.add_features`).
"""
