from .chunked import ChunkedRatings as ChunkedRatings
from .columns.options import ReadOptions as ReadOptions
from .histories import Histories as Histories
from .ratings import Ratings as Ratings
from .reader import open_ratings as open_ratings
from .reader import read_ratings as read_ratings
from .reader import spill_ratings as spill_ratings
