from crucial import fusion as fusion
from crucial import preferences as preferences
