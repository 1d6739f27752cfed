"""`Configure`: make a project, change its settings, or give it a model."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

from sqlalchemy import insert, select

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies.choose import AUTO, choose_policy
from lpbandits.policies.registry import entry_of
from lpbandits.service.carry import carried_by, check_family
from lpbandits.service.configuration import Configuration, Setup
from lpbandits.service.errors import Conflict
from lpbandits.service.requests.base import Answer, Write
from lpbandits.service.store import schema
from lpbandits.service.unit import Project, Unit
from lpbandits.typing import Json

SMALLEST = PreferenceModel([[0, 1], [1, 0]], noise=1.0)
"""What allows all settings that some model allows."""


@dataclass(frozen=True)
class Configure(Write):
    """A change of a project's configuration.

    Attributes
    ----------
    content
        The fields that change.
    model
        The new model, if the change is one of the model.
    reason
        Why; required for a deviation.
    deviation
        Whether a change of a running trial is meant, and recorded as a deviation from its protocol.
    """

    configures: ClassVar[bool] = True

    content: Json
    model: PreferenceModel | None = None
    reason: str | None = None
    deviation: bool = False

    def run(self, unit: Unit) -> Answer:
        """Return the answer; make the project if it does not exist."""
        if self.deviation and not self.reason:
            raise InvalidInput("reason must say why the protocol of the trial is changed, got none")
        if self.model is not None or unit.known_project(self.project) is not None:
            return super().run(unit)
        unit.flush()  # what earlier requests added must outlive the savepoint
        with unit.sql.begin_nested():
            added = unit.sql.execute(insert(schema.projects).values(name=self.project, at=unit.now))
            (project_id,) = added.inserted_primary_key or (0,)
            unit.set_project(Project(project_id, self.project, 0))
            return super().run(unit)

    def carry_out(self, unit: Unit, project: Project) -> tuple[Json, str, int | None]:
        """Add a version of the configuration, unless nothing changes."""
        before = unit.setup(project.id, project.version).configuration if project.version else Configuration()
        content = self.content if self.model is None else {"model_sha256": self.model.sha256}
        after = Configuration.checked(content, before)
        setup = self._setup(unit, after)
        if setup is not None and after.mode == "trial" and after.policy == AUTO:  # what it means may change
            after = replace(after, policy=choose_policy(setup.model, **(after.settings or {})).name)
            setup = self._setup(unit, after)
        changes = after.changes(before)
        frozen = before.mode == "trial" and changes != [] and before.model_sha256 is not None
        if frozen and not self.deviation:
            how = 'send "deviation": true with a "reason"' if self.model is None else "add ?deviation=true&reason=…"
            raise Conflict(
                f"the project is a trial, whose {', '.join(changes).replace('model_sha256', 'model')} must not change; "
                f"to record the change as a deviation from the protocol, {how}"
            )
        _check(after, setup)
        unit.flush()
        about: Json = {}
        if setup is not None and self.model is not None:
            about = {"model": self.model.sha256, **carried_by(unit.sql, project.id, setup).to_dict()}
        elif setup is not None:
            check_family(unit.sql, project.id, setup)
        if changes or not project.version:
            if self.model is not None:
                self._store(unit, self.model)
            unit.add(
                schema.configurations,
                project_id=project.id,
                version=after.version,
                content=after.to_json(),
                model_sha256=after.model_sha256,
                reason=self.reason,
                deviation=frozen,
                key_id=self.by,
                at=unit.now,
            )
            unit.flush()
            project = project._replace(version=after.version)
            unit.set_project(project)
        body = project_json(project, unit.setup(project.id, project.version)) | about
        return body, json.dumps(body), None

    def recall(self, unit: Unit, project: Project, facts: str) -> Json:
        """Return the stored answer."""
        answer: Json = json.loads(facts)
        return answer

    def _setup(self, unit: Unit, after: Configuration) -> Setup | None:
        """Return the setup of a configuration, None without a model."""
        return None if after.model_sha256 is None else Setup(after, self.model or unit.model(after.model_sha256))

    def _store(self, unit: Unit, model: PreferenceModel) -> None:
        table = schema.models
        if unit.sql.execute(select(table.c.sha256).where(table.c.sha256 == model.sha256)).scalar() is None:
            unit.add(table, sha256=model.sha256, content=json.dumps(model.to_dict()), at=unit.now)


def _check(after: Configuration, setup: Setup | None) -> None:
    """Raise if the policies cannot be made; without a model, if no model allows the policy's name and the settings."""
    if after.policy != AUTO:
        entry_of(after.policy)
    if setup is not None:
        _ = setup.policy, setup.holdout_policy
    else:
        choose_policy(SMALLEST, "lpbts", **(after.settings or {}))


def project_json(project: Project, setup: Setup) -> Json:
    """Return a project as the API shows it."""
    about = setup.configuration
    return {
        "project": project.name,
        "version": about.version,
        "policy": about.policy,
        "mode": about.mode,
        "holdout": about.holdout,
        "holdout_policy": about.holdout_policy,
        "seed": about.seed,
        "settings": about.settings or {},
        "model": about.model_sha256,
    }
