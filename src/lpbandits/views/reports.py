"""Charts and report folders of results, evaluations, fits and models, from Python."""

import functools
from collections.abc import Sequence
from pathlib import Path

from lpbandits.errors import InvalidInput
from lpbandits.evaluation.results import Evaluation
from lpbandits.fit.report import Fit
from lpbandits.inspection.inspect import Inspection, inspect
from lpbandits.model import PreferenceModel
from lpbandits.simulation import Results
from lpbandits.validate import as_choice
from lpbandits.views import comparison_report, evaluation_report, model_report
from lpbandits.views.charts.base import Chart, deferred_validation, styled
from lpbandits.views.page import Section


@deferred_validation
def chart(thing: object, name: str | None = None) -> Chart:
    """Return a chart of a report by name, by default the first."""
    charts = {key: one for section in sections_of(thing) for key, one in section.charts.items()}
    if not charts:
        raise InvalidInput("there is nothing to draw: the report has no charts")
    return styled(charts[next(iter(charts)) if name is None else as_choice(name, "chart", charts)])


@functools.singledispatch
def sections_of(thing: object) -> Sequence[Section]:
    """Return the sections of a report."""
    raise TypeError(f"{type(thing).__name__} has no report")


@functools.singledispatch
def save(thing: object, folder: str | Path) -> Path:
    """Write a report; return the path of its page."""
    raise TypeError(f"{type(thing).__name__} has no report for {folder}")


sections_of.register(Results, comparison_report.sections)
sections_of.register(Evaluation, evaluation_report.sections)
sections_of.register(Inspection, model_report.sections)
sections_of.register(PreferenceModel, lambda model: model_report.sections(inspect(model)))
sections_of.register(Fit, lambda fit: model_report.sections(inspect(fit.model)))

save.register(Results, comparison_report.save_comparison)
save.register(Evaluation, evaluation_report.save_evaluation)
save.register(Inspection, model_report.save_inspection)
save.register(PreferenceModel, lambda model, folder: model_report.save_inspection(inspect(model), folder))
save.register(Fit, lambda fit, folder: model_report.save_inspection(inspect(fit.model), folder))
