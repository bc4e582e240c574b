from crucial.apps import fusion as fusion
from crucial.apps import preferences as preferences
