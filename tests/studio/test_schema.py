"""The OpenAPI schema: it is the one that the page's types were made from, and the server keeps it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings

from arterial.studio.app import make_app
from arterial.studio.subject import Drawn, Run
from tests.studio.traffic import live, traffic
from tools.studio import ROOT, SCHEMA, SOURCES
from tools.studio import schema as current

schema = schemathesis.openapi.from_asgi("/api/openapi.json", make_app(Drawn(traffic()), hosts=("testserver",)))
# A body that is too long is refused before anything looks at what is wrong with it.
schema.config.checks.negative_data_rejection.expected_statuses.append("413")


def test_the_page_was_made_for_this_server() -> None:
    assert SCHEMA.read_text() == current(), "run: python -m tools.studio"


def test_the_built_page_is_part_of_the_package_and_small() -> None:
    import gzip

    page = Path(make_app.__code__.co_filename).parent / "page"
    assert (page / "index.html").is_file()
    files = [path for path in (page / "assets").iterdir() if "worker" not in path.name]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < 500_000
    for path in page.rglob("*.*"):
        assert b"sourceMappingURL" not in path.read_bytes()


@pytest.mark.slow
def test_the_built_page_is_what_its_sources_give() -> None:
    if shutil.which("npm") is None or not (SOURCES / "node_modules").is_dir():
        pytest.skip("the page is built with Node: npm install in studio/")
    done = subprocess.run([sys.executable, "-m", "tools.studio", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The studio of a run that is over: all that a request may change of it is its commands."""
    folder = tmp_path_factory.mktemp("ran")
    live(folder, number=30, interval=0.0).wait()
    return make_app(Run(folder), hosts=("testserver",))


EXAMPLES = settings(max_examples=400, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None)


@pytest.mark.slow
@schema.parametrize()
@EXAMPLES
def test_every_answer_about_a_network_fits_the_schema(case: schemathesis.Case) -> None:
    _check(case)


@pytest.mark.slow
@schema.parametrize()
@EXAMPLES
def test_every_answer_about_a_run_fits_the_schema(case: schemathesis.Case, ran: FastAPI) -> None:
    _check(case, app=ran)


def _check(case: schemathesis.Case, **more: FastAPI) -> None:
    excluded = [schemathesis.checks.unsupported_method]
    if "400" in case.operation.definition.raw["responses"]:
        # What fits the schema may still be a mistake, such as an unknown column: the operation says so, with a 400.
        excluded.append(schemathesis.checks.positive_data_acceptance)
    case.call_and_validate(excluded_checks=excluded, **more)
