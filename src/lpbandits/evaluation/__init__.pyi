from .evaluate import evaluate as evaluate
from .evaluate import fit_as_chosen as fit_as_chosen
from .results import Evaluation as Evaluation
