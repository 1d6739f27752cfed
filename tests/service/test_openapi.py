"""Schemathesis: requests made from the OpenAPI document are answered as it says, and never with 5xx."""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from tests.service.shared import make_project

FUZZ = int(os.environ.get("LPB_FUZZ_SERVICE", "0"))
"""Number of requests of `make fuzz-service`, half of them for each database; 0 otherwise."""

CHECKS: list[Any] = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
KNOWN = {"project": "p", "person": "ann", "outcome": "o1-2", "key_id": 1}
"""Places of which half of the requests take those that exist."""


@pytest.mark.slow
def test_requests_of_the_document_are_answered_as_it_says(store_url: str, opened: Callable[..., Service]) -> None:
    app = create_app(opened(store_url))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    operations = [schema[path][method] for path, methods in schema.raw_schema["paths"].items() for method in methods]
    strategy = st.one_of([operation.as_strategy() for operation in operations])
    answers: Counter[int] = Counter()
    client = TestClient(app, raise_server_exceptions=False)
    path = make_project(client)
    client.post(f"{path}/people/ann/decisions")
    client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 1})

    @settings(
        max_examples=FUZZ // 2 or 60,
        derandomize=not FUZZ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy, st.booleans())
    def send(case: Any, known: bool) -> None:
        if known:
            own = {name: value for name, value in KNOWN.items() if name in (case.path_parameters or {})}
            case.path_parameters = {**(case.path_parameters or {}), **own}
        answer = case.call()
        case.validate_response(answer, checks=CHECKS)
        answers[answer.status_code] += 1

    send()
    print(sorted(answers.items()))  # noqa: T201 - the figures of make fuzz-service
    assert answers[200] + answers[201] > 0
