"""Bounds on training and generalisation error; see `crucial.inspection.bounds`."""

from __future__ import annotations

from crucial.inspection.bounds import (
    Bound,
    finite_class_bound,
    margin_bound,
    training_bound,
    vc_bound,
)

__all__ = ["Bound", "finite_class_bound", "margin_bound", "training_bound", "vc_bound"]
