# Leaderboards
from crucial.preferences.standings import leaderboard as leaderboard
from crucial.preferences.standings import leaderboards as leaderboards
from crucial.preferences.standings import Leaderboard as Leaderboard
from crucial.preferences.leaderboard_page import board_page as board_page
from crucial.preferences.judges import judge_agreement as judge_agreement
from crucial.preferences.judges import JudgeAgreement as JudgeAgreement
from crucial.preferences.judges import PositionBias as PositionBias

# Orders
from crucial.preferences.orders import consensus as consensus
from crucial.preferences.orders import Consensus as Consensus
from crucial.preferences.orders import greedy_order as greedy_order

# Learn from comparisons, ask for them
from crucial.preferences.learning import learn_preferences as learn_preferences
from crucial.preferences.learning import PreferenceRanker as PreferenceRanker
from crucial.preferences.session import next_comparisons as next_comparisons
from crucial.preferences.session import NextComparisons as NextComparisons
from crucial.preferences.session import PreferenceSession as PreferenceSession

# Files and tables
from crucial.io.comparisons import read_comparisons as read_comparisons
from crucial.io.comparisons import write_comparisons as write_comparisons
from crucial.io.comparisons import read_preflib as read_preflib
from crucial.data.comparisons import Comparisons as Comparisons
from crucial.data.comparisons import Rankings as Rankings
