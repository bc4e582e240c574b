# Explain
from crucial.inspection.explain import why as why
from crucial.inspection.explain import contributions as contributions
from crucial.inspection.shape_functions import shapes as shapes
from crucial.inspection.importance import importances as importances
from crucial.inspection.report_page import report as report
from crucial.inspection.scorecards import scorecard as scorecard
from crucial.inspection.learning_curves import learning_curve as learning_curve

# Curves
from crucial.inspection.curves import roc_curve as roc_curve
from crucial.inspection.curves import gain_curve as gain_curve
from crucial.inspection.curves import profit_curve as profit_curve
from crucial.inspection.curves import calibration_curve as calibration_curve
from crucial.inspection.curves import tree_roc as tree_roc
from crucial.inspection.curves import roc_surface as roc_surface
from crucial.inspection.curves import iroc_curve as iroc_curve

# Margins
from crucial.inspection.guarantees import margins as margins
from crucial.inspection.guarantees import class_margins as class_margins
from crucial.inspection.guarantees import max_margin as max_margin

# Guarantees
from crucial.inspection.guarantees import training_bound as training_bound
from crucial.inspection.guarantees import vc_bound as vc_bound
from crucial.inspection.guarantees import margin_bound as margin_bound
from crucial.inspection.guarantees import finite_class_bound as finite_class_bound
