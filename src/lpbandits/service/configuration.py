"""`Configuration`: the settings and the model of a project at one time, and the policies they give."""

import json
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property

from sqlalchemy import Connection, select

from lpbandits import validate
from lpbandits.agent import Agent
from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy
from lpbandits.policies.choose import choose_policy
from lpbandits.service.errors import Conflict
from lpbandits.service.store import schema
from lpbandits.typing import Json

MODES = ("online", "shadow", "trial")
SETTINGS = ("rewards", "noise", "noise_known", "rounds", "first", "explore")
"""Arguments of `lpb.policy` that a project may set."""


@dataclass(frozen=True)
class Configuration:
    """The settings of a project and the hash of its model; every change makes a new version.

    Attributes
    ----------
    policy, settings
        Name of the policy and its arguments, as for `lpb.policy`.
    mode
        "online"; "shadow": callers choose, and what the policy would have chosen is logged; "trial": model, policy,
        settings, seed and holdout are frozen.
    holdout, holdout_policy
        Share of the people who get `holdout_policy` ("popular" or "uniform") instead.
    seed
        Random seed of the project.
    """

    policy: str = "auto"
    mode: str = "online"
    holdout: float = 0.0
    holdout_policy: str = "popular"
    seed: int = 0
    settings: Json | None = None
    model_sha256: str | None = None
    version: int = 0

    @classmethod
    def checked(cls, content: Json, before: "Configuration") -> "Configuration":
        """Return the next version: `before` with the given fields and settings; a setting of None is removed."""
        names = [field.name for field in fields(cls) if field.name != "version"]
        for name in content:
            validate.as_choice(name, "the field", names)
        out = replace(before, **content, version=before.version + 1)
        settings = validate.as_json({} if out.settings is None else out.settings, "settings")
        if "settings" in content:
            settings = {**(before.settings or {}), **settings}
        settings = {name: value for name, value in settings.items() if value is not None}
        out = replace(out, settings=settings or None)
        validate.as_text(out.policy, "policy")
        validate.as_choice(out.mode, "mode", MODES)
        validate.as_number(out.holdout, "holdout", low=0, high=1)
        validate.as_choice(out.holdout_policy, "holdout_policy", ("popular", "uniform"))
        validate.as_seed(out.seed)
        for name in [*settings, *(content.get("settings") or ())]:
            validate.as_choice(name, "the setting", SETTINGS)
        return out

    def to_json(self) -> str:
        """Return the content that is stored, without the version."""
        content = asdict(self)
        del content["version"]
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str, version: int) -> "Configuration":
        """Return the configuration that `to_json` wrote."""
        return cls(**json.loads(text), version=version)

    def changes(self, before: "Configuration") -> list[str]:
        """Return the names of the fields that differ."""
        return [
            field.name
            for field in fields(self)
            if field.name != "version" and getattr(self, field.name) != getattr(before, field.name)
        ]


class Setup:
    """A configuration with its model: the policies of the people of a project."""

    def __init__(self, configuration: Configuration, model: PreferenceModel | None) -> None:
        self.configuration = configuration
        self.version = configuration.version
        self.seed = configuration.seed
        self._model = model

    @property
    def model(self) -> PreferenceModel:
        """The model of the project."""
        if self._model is None:
            raise Conflict("the project has no model; upload one: PUT /v1/projects/{project}/model")
        return self._model

    @cached_property
    def policy(self) -> Policy:
        """The policy of people outside the holdout."""
        settings = self.configuration.settings or {}
        return choose_policy(self.model, self.configuration.policy, **settings).policy

    @cached_property
    def holdout_policy(self) -> Policy:
        """The policy of the holdout; it has the same minimum probability of each action."""
        settings = self.configuration.settings or {}
        explore = settings.get("explore", 0.0)
        return choose_policy(self.model, self.configuration.holdout_policy, explore=explore).policy

    def warm_up(self) -> None:
        """Compile what the first decision would wait for."""
        for policy in (self.policy, self.holdout_policy):
            agent = Agent(policy, seed=self.seed)
            agent.decide()
            agent._add(0, 1.0)  # `tell` compares it with the scale of the model

    def policy_for(self, *, holdout: bool) -> Policy:
        """Return the policy of a person."""
        return self.holdout_policy if holdout else self.policy


class Setups:
    """The setups of all projects by version, read from the store when first needed.

    A version never changes, so what was read stays valid.
    """

    def __init__(self, size: int = 256) -> None:
        self._setups: dict[tuple[int, int], Setup] = {}
        self._models: dict[str, PreferenceModel] = {}
        self._size = size

    def get(self, sql: Connection, project_id: int, version: int) -> Setup:
        """Return one version of a project's setup."""
        setup = self._setups.get((project_id, version))
        if setup is None:
            table = schema.configurations
            where = (table.c.project_id == project_id, table.c.version == version)
            configuration = Configuration.from_json(
                sql.execute(select(table.c.content).where(*where)).scalar_one(), version
            )
            sha256 = configuration.model_sha256
            setup = Setup(configuration, None if sha256 is None else self.model(sql, sha256))
            if len(self._setups) >= self._size:
                self._setups.clear()
            self._setups[project_id, version] = setup
        return setup

    def clear(self) -> None:
        """Forget everything, as after a transaction that failed: its versions do not exist."""
        self._setups.clear()

    def model(self, sql: Connection, sha256: str) -> PreferenceModel:
        """Return a stored model."""
        if sha256 not in self._models:
            content = sql.execute(select(schema.models.c.content).where(schema.models.c.sha256 == sha256)).scalar_one()
            if len(self._models) >= self._size:
                self._models.clear()
            self._models[sha256] = PreferenceModel.from_dict(json.loads(content))
        return self._models[sha256]
