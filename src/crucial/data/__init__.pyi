# Rows, queries, features
from crucial.data.dataset import Dataset as Dataset
from crucial.data.instances import Instances as Instances
from crucial.data.groups import Groups as Groups
from crucial.data.bins import Bins as Bins

# Runs, judgements, pairs, ratings
from crucial.data.dataset import Run as Run
from crucial.data.dataset import Qrels as Qrels
from crucial.data.comparisons import PairTable as PairTable
from crucial.data.comparisons import Comparisons as Comparisons
from crucial.data.comparisons import Rankings as Rankings
from crucial.data.dataset import Ratings as Ratings

# Data to try things on
from crucial.data.problems import make_letor as make_letor
from crucial.data.problems import make_bipartite as make_bipartite
from crucial.data.problems import make_interactions as make_interactions
from crucial.data.problems import make_film_club as make_film_club
from crucial.data.problems import load_digits_search as load_digits_search
