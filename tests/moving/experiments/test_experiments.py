"""The experiments on a small world: what they find must be of the shape that they are about."""

from __future__ import annotations

import pytest

from arterial.moving.experiments import Results, Scale, experiments_page, run_experiments

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results() -> Results:
    return run_experiments(Scale.quick())


def test_more_area_more_tuples_but_fewer_than_reports(results: Results) -> None:
    counts = results.pipelines
    for some in (counts.stationary, counts.moving):
        assert list(some) == sorted(some)
        assert some[-1] < counts.reports
    assert 0 < counts.selected < counts.reports


def test_delays_are_measured_at_every_rate(results: Results) -> None:
    delays = results.delays
    for series in (delays.skeleton_stationary, delays.skeleton_moving, delays.shared):
        assert len(series) == len(delays.rates)
        assert all(delay > 0 for delay in series)


def test_actual_selectivity_is_above_the_correct_one_until_all_is_covered(results: Results) -> None:
    found = results.selectivities
    assert all(actual > correct for actual, correct in zip(found.actual[:-1], found.correct[:-1], strict=True))
    assert found.actual[-1] == found.correct[-1] == 1.0


def test_a_larger_cache_is_no_less_accurate_and_the_conservative_one_is_exact(results: Results) -> None:
    for series in (results.accuracies.ranges, results.accuracies.nearest):
        assert series[0] < series[-1] == 1.0


def test_the_page_has_every_experiment(results: Results) -> None:
    page = experiments_page(results).html()
    for figure in ("figures 9 and 10", "figure 11", "figure 12", "Size of the cache"):
        assert figure in page
    assert page.count("<svg") == 5
