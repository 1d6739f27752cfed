from .evaluate import evaluate as evaluate
from .results import Evaluation as Evaluation
