from .chunked import ChunkedRatings as ChunkedRatings
from .histories import Histories as Histories
from .ratings import Ratings as Ratings
from .reader import read_ratings as read_ratings
from .spill import open_ratings as open_ratings
from .spill import spill_ratings as spill_ratings
