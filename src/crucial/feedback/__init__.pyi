# Feedback
from crucial.feedback.labels import LabelFeedback as LabelFeedback
from crucial.feedback.pairs import PairFeedback as PairFeedback
from crucial.feedback.pairs import SumFeedback as SumFeedback
