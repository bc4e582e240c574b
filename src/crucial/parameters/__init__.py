"""Parameters, each declared once: its default, its rule and its text.

A class declares its parameters in its body, and `with_parameters` writes the constructor and the
"Parameters" section of the docstring. Validation (`check_parameters`), ``crucial list rankers``,
``--set NAME=VALUE`` and tuning grids read the same declarations (`parameters_of`).

Subclasses inherit declarations. They may declare a parameter again to change its default, rule or
text (what they leave out stays as it is), or `fixed` it to a value, which takes it out of the
constructor. Groups of parameters that several estimators share are classes to inherit from.

Positional parameters come first, those of base classes before a class's own, which is where type
checkers expect them. Keyword parameters follow: a class's own, then inherited ones.

Examples
--------
>>> @with_parameters
... class Threaded:
...     n_jobs: int | None = parameter(none_or(nonzero), "Threads, None for all.", default=None)
>>> @with_parameters
... class Ridge(Threaded):
...     '''Least squares with a penalty on large weights.
...
...     Attributes
...     ----------
...     coef_ : array of shape (n_features,)
...     '''
...
...     l2: float = parameter(above(0), "Weight of the penalty.", default=0.1, kw_only=False)
...     solver: str = parameter(one_of("newton", "cg"), "How to solve it.", default="newton")

Python, and scikit-learn with it, sees an ordinary constructor:

>>> import inspect
>>> list(inspect.signature(Ridge).parameters)
['l2', 'solver', 'n_jobs']
>>> check_parameters(Ridge(-1.0))
Traceback (most recent call last):
...
crucial.errors.ParameterError: The 'l2' parameter of Ridge must be a number in (0, inf). Got -1.0...
>>> print(Ridge.__doc__)
Least squares with a penalty on large weights.
<BLANKLINE>
Parameters
----------
l2 : float, default=0.1
    Weight of the penalty.
solver : {"newton", "cg"}, default="newton"
    How to solve it.
n_jobs : int or None, default=None
    Threads, None for all.
<BLANKLINE>
Attributes
----------
coef_ : array of shape (n_features,)
"""

from crucial.parameters.declare import (
    Parameter,
    check_parameters,
    fixed,
    parameter,
    parameters_of,
    with_parameters,
)
from crucial.parameters.rules import (
    Rule,
    above,
    anything,
    at_least,
    between,
    check,
    either,
    flag,
    function,
    instance_of,
    int_between,
    lookup,
    mapping,
    none_or,
    nonzero,
    one_of,
    plain,
    refuse,
)

__all__ = [
    "Parameter",
    "Rule",
    "above",
    "anything",
    "at_least",
    "between",
    "check",
    "check_parameters",
    "either",
    "fixed",
    "flag",
    "function",
    "instance_of",
    "int_between",
    "lookup",
    "mapping",
    "none_or",
    "nonzero",
    "one_of",
    "parameter",
    "parameters_of",
    "plain",
    "refuse",
    "with_parameters",
]
