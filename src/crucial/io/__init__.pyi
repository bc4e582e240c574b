# Data sets
from crucial.io.tables import read_data as read_data
from crucial.io.svmlight import read_svmlight as read_svmlight
from crucial.io.svmlight import write_svmlight as write_svmlight
from crucial.io.tables import read_table as read_table
from crucial.io.writing import write_table as write_table

# Runs and judgements
from crucial.io.runs import read_run as read_run
from crucial.io.runs import write_run as write_run
from crucial.io.runs import as_run as as_run
from crucial.io.runs import read_qrels as read_qrels
from crucial.io.runs import write_qrels as write_qrels
from crucial.io.runs import as_qrels as as_qrels

# Pairs, comparisons, ratings
from crucial.io.comparisons import read_pairs as read_pairs
from crucial.io.comparisons import write_pairs as write_pairs
from crucial.io.comparisons import read_comparisons as read_comparisons
from crucial.io.comparisons import write_comparisons as write_comparisons
from crucial.io.comparisons import read_preflib as read_preflib
from crucial.io.ratings import read_ratings as read_ratings
