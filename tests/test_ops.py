"""The files of `ops/`: every metric that they name is one that a run serves, and each is what its reader expects."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from arterial.cli.main import app
from arterial.engine.run.states import STATES
from arterial.engine.run.watch.metrics import FAMILIES, names_of

OPS = Path(__file__).parents[1] / "ops"

# Words of PromQL that may stand where a metric could.
FUNCTIONS = {"changes", "deriv", "histogram_quantile", "increase", "label_values", "max", "predict_linear"}
FUNCTIONS |= {"rate", "sum", "topk"}
WORDS = {"and", "by", "offset", "on", "or", "unless", "ignoring", "bool"}
LABELS = {"network", "source", "output", "box", "arc", "state", "le", "run", "version", "instance", "job"}


def metrics_in(expression: str) -> set[str]:
    """The names of metrics in an expression of PromQL; raises on what it does not understand."""
    assert expression.count("(") == expression.count(")"), expression
    assert expression.count("{") == expression.count("}"), expression
    for label in re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", expression):
        assert label in LABELS, f"{expression}: unknown label {label}"
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", bare)
    for labels in re.findall(r"\b(?:by|on|ignoring)\s*\(([^)]*)\)", bare):
        assert {label.strip() for label in labels.split(",")} <= LABELS, expression
    bare = re.sub(r"\b(?:by|on|ignoring)\s*\([^)]*\)", " ", bare)
    if (found := re.fullmatch(r"label_values\((\w+), (\w+)\)", bare)) is not None:
        assert found[2] in LABELS
        return {found[1]}
    for called in re.findall(r"\b([a-z_]\w*)\s*\(", bare):
        assert called in FUNCTIONS | WORDS, f"{expression}: unknown function {called}"
    bare = re.sub(r"\boffset\s+\w+", " ", bare)
    return {word for word in re.findall(r"\b[a-z_][a-z0-9_]*\b", bare) if word not in FUNCTIONS | WORDS}


def expressions(found: Any) -> Iterator[str]:
    """All expressions in a dashboard or a file of rules."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name == "expr" or (name == "query" and "arterial" in str(value)):
                yield value
            else:
                yield from expressions(value)
    elif isinstance(found, list):
        for one in found:
            yield from expressions(one)


def test_every_metric_is_served() -> None:
    dashboard = json.loads((OPS / "grafana" / "arterial.json").read_text())
    rules = yaml.safe_load((OPS / "prometheus" / "alerts.yml").read_text())
    used: set[str] = set()
    for expression in (*expressions(dashboard), *expressions(rules)):
        named = metrics_in(expression) - {"up"}
        assert named or expression.startswith("up"), expression
        assert named <= names_of(), f"{expression}: no run serves {sorted(named - names_of())}"
        used |= named
    shown = {name for name in FAMILIES if {name, f"{name}_bucket"} & used}
    unseen = set(FAMILIES) - shown
    assert unseen == {
        "arterial_run_started_timestamp_seconds",
        "arterial_source_rate",
        "arterial_output_rate",
        "arterial_source_read_share",
        "arterial_process_cpu_seconds_total",
        "arterial_names_left_out",
    }, "what is neither on the dashboard nor in a rule"
    with pytest.raises(AssertionError):
        metrics_in("rat(arterial_state_bytes[5m])")
    assert metrics_in('rate(arterial_stat_bytes{network="x"}[5m])') == {"arterial_stat_bytes"}


def test_the_dashboard_is_whole() -> None:
    dashboard = json.loads((OPS / "grafana" / "arterial.json").read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["title"]
        assert panel["targets"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
    boxes = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels]
    assert len(set(boxes)) == len(boxes), "two panels in one place"


def test_rules_say_what_to_do() -> None:
    (group,) = yaml.safe_load((OPS / "prometheus" / "alerts.yml").read_text())["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    page = (OPS.parent / "docs" / "operations.md").read_text()
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("page", "warn")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
        assert rule["alert"] in page, f"docs/operations.md does not say what to do about {rule['alert']}"
        for state in re.findall(r'state="(\w+)"', rule["expr"]):
            assert state in STATES
    scrape = yaml.safe_load((OPS / "prometheus" / "scrape.yml").read_text())
    assert scrape["rule_files"] == ["alerts.yml"]


def check_command(words: list[str]) -> None:
    """The options of `arterial run` in an example exist."""
    run = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    known = {opt for param in run.params for opt in param.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_service() -> None:
    path = OPS / "systemd" / "arterial@.service"
    text = path.read_text()
    settings: dict[str, str] = {}
    for line in text.splitlines():
        if line and not line.startswith(("#", "[")):
            name, sign, value = line.partition("=")
            assert sign, line
            settings[name] = value
    assert re.findall(r"^\[(\w+)\]$", text, re.MULTILINE) == ["Unit", "Service", "Install"]
    assert settings["SuccessExitStatus"] == "3"
    assert settings["Environment"] == "METRICS=9109", "two runs on a machine need two ports"
    check_command(settings["ExecStart"].split())
    if shutil.which("systemd-analyze"):
        # Of a template an instance is verified; that its user and environment are not here is no fault of the file.
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
        faults = [line for line in done.stderr.splitlines() if "arterial" in line and "Unknown" in line]
        assert not faults


def test_the_container_file() -> None:
    lines = (OPS / "container" / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    words = [step[0] for step in steps]
    assert words[0] == "FROM"
    assert set(words) <= {"FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert words.index("USER") > words.index("RUN"), "what installs is root, what runs is not"
    for step in steps:
        if step[0] in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(word, str) for word in json.loads(step[1]))
    assert json.loads(dict(steps)["ENTRYPOINT"])[-1] == "arterial"  # type: ignore[arg-type]
    assert (OPS.parent / "constraints.txt").exists()


def test_the_manifest(tmp_path: Path) -> None:
    found = list(yaml.safe_load_all((OPS / "kubernetes" / "arterial.yaml").read_text()))
    kinds = {one["kind"]: one for one in found}
    assert {kind: one["apiVersion"] for kind, one in kinds.items()} == {
        "ConfigMap": "v1",
        "Service": "v1",
        "StatefulSet": "apps/v1",
    }
    assert all(one["metadata"]["name"] == "speeding" for one in found)
    spec = kinds["StatefulSet"]["spec"]
    assert set(spec) == {"serviceName", "replicas", "selector", "template", "volumeClaimTemplates"}
    assert spec["replicas"] == 1
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels == kinds["Service"]["spec"]["selector"]
    assert spec["serviceName"] == kinds["Service"]["metadata"]["name"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    check_command(container["args"])
    (port,) = container["ports"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
        assert container[probe]["httpGet"]["path"] in ("/health", "/ready")
    assert f"0.0.0.0:{port['containerPort']}" in container["args"]
    volumes = {one["name"] for one in pod["volumes"]} | {
        one["metadata"]["name"] for one in spec["volumeClaimTemplates"]
    }
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    scope: dict[str, Any] = {}
    exec(kinds["ConfigMap"]["data"]["net.py"], scope)
    assert scope["net"].value.name == "speeding"
