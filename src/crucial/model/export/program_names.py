"""Names of the functions in exported programs."""

from __future__ import annotations

import builtins
import keyword
import re

from crucial.errors import ParameterError
from crucial.model.export.settings import ExportSettings
from crucial.parameters import refuse

__all__ = ["RESERVED", "function_name"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IDENTIFIERS = {
    "C": _IDENTIFIER,
    "JavaScript": re.compile(r"[A-Za-z_$][\w$]*", re.ASCII),
    "Python": _IDENTIFIER,
}

# Words of C and C++, what the file itself defines, and what its headers declare.
_C = """
alignas alignof auto bool break case catch char class const constexpr continue default delete do
double else enum explicit extern false float for friend goto if inline int long mutable
namespace new nullptr operator private protected public register restrict return short signed
sizeof static struct switch template this throw true try typedef typeof union unsigned using
virtual void volatile while main
finished steps step_start thresholds values roots node_feature node_missing node_left node_right
node_threshold leaves pieces intercept divisor offset slope N_FEATURES N_STEPS N_TREES N_PIECES
STEP SEARCH NAN INFINITY NULL size_t
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
fdim floor fma fmax fmin fmod frexp gamma hypot ilogb isfinite isinf isnan isnormal j0 j1 jn
ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow remainder remquo rint round scalbln scalbn signbit signgam sin sinh sqrt tan tanh
tgamma trunc y0 y1 yn
"""
# Words of JavaScript, and what the script itself uses.
_JAVASCRIPT = """
arguments async await break case catch class const continue debugger default delete do else enum
eval export extends false finally for function if implements import in instanceof interface let
new null package private protected public return static super switch this throw true try typeof
var void while with yield
Array Error Infinity Math NaN Number Object module undefined
"""
# What the Python module itself defines.
_PYTHON = """
bisect_left exp FEATURES CATEGORIES _T _INTERCEPT _DIVISOR _OFFSET _SLOPE _numbers
"""
#: By language, the names that a function cannot have.
RESERVED = {
    "C": frozenset(_C.split()),
    "JavaScript": frozenset(_JAVASCRIPT.split()),
    "Python": frozenset({*_PYTHON.split(), *keyword.kwlist, *dir(builtins)}),
}


def function_name(settings: ExportSettings, language: str) -> str:
    """Return the name of the exported function, ``score`` by default.

    Parameters
    ----------
    settings : ExportSettings
    language : {"C", "JavaScript", "Python"}

    Examples
    --------
    >>> function_name(ExportSettings(), "C")
    'score'
    """
    name = "score" if settings.name is None else settings.name
    if not _IDENTIFIERS[language].fullmatch(name):
        raise refuse("export", "name", f"a name of a {language} function", name)
    if name in RESERVED[language]:
        raise ParameterError(
            f"{name!r} means something else in {language} or in the exported file: give the "
            f"function another name, such as '{name}_score'.",
            parameter="name",
        )
    return name
