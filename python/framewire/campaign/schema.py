"""The JSON schema of the campaign file, for editors. :mod:`framewire.campaign.spec` alone decides what is accepted."""

from __future__ import annotations

from typing import Any

from framewire import scenario as scenario_module
from framewire.campaign import metrics, spec

__all__ = ["schema"]


def schema() -> dict[str, Any]:
    """The schema (2020-12); an inline scenario is described by the schema of scenarios."""
    scenario = scenario_module.schema()
    definitions = scenario.pop("$defs", {})
    scenario.pop("$schema", None)
    # Whatever an axis sets need not be in the scenario.
    scenario.pop("required", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Campaign",
        "description": "A grid of scenarios with repeats; docs/campaign.md describes it.",
        "type": "object",
        "additionalProperties": False,
        "required": ["scenario"],
        "properties": {
            "version": _described({"const": spec.VERSION}, "Version of the format."),
            "name": _described({"type": "string", "pattern": f"^{spec.NAME.pattern}$"}, "Names the directory."),
            "scenario": _described(
                {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/CampaignScenario"}]},
                "What the axes are laid over: the path of a scenario file, or the scenario itself.",
            ),
            "axes": _described(
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/AxisValues"}},
                "Keys of the scenario and the values that each takes; the first varies slowest.",
            ),
            "axis": _described(
                {"type": "array", "items": {"oneOf": [{"$ref": "#/$defs/KeyAxis"}, {"$ref": "#/$defs/GroupedAxis"}]}},
                "Axes with a name, of one key or of several that are set together.",
            ),
            "repeats": _described(
                {"type": "integer", "minimum": 1, "maximum": spec.MOST_REPEATS},
                "How often each point is run, each time with another seed.",
            ),
            "metrics": _described(
                {"type": "array", "minItems": 1, "items": {"enum": [*metrics.COLUMNS, *metrics.PERCENTAGES]}},
                "What is shown as means with confidence intervals.",
            ),
            "packets": _described({"type": "boolean"}, "Whether packet tables are kept."),
            "flows": _described({"type": "boolean"}, "Whether the states of flows over time are kept."),
            "rates": _described({"type": "string"}, "How often rates are sampled for their table; absent: not at all."),
            "parts": _described({"type": "boolean"}, "Whether the dataset has the tables of all cells put together."),
        },
        "$defs": {
            **definitions,
            "CampaignScenario": scenario,
            # Unquoted dotted keys of TOML are tables in tables.
            "AxisValues": {
                "oneOf": [_VALUES, {"type": "object", "additionalProperties": {"$ref": "#/$defs/AxisValues"}}]
            },
            "KeyAxis": _object(
                {"name": {"type": "string"}, "key": {"type": "string"}, "values": _VALUES}, ["key", "values"]
            ),
            "GroupedAxis": _object(
                {"name": {"type": "string"}, "values": {"type": "array", "minItems": 1, "items": _GROUPED}},
                ["name", "values"],
            ),
        },
    }


def _described(what: dict[str, Any], description: str) -> dict[str, Any]:
    return what | {"description": description}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_VALUES: dict[str, Any] = {"type": "array", "minItems": 1}
_GROUPED = _object({"label": {"type": ["string", "number", "boolean"]}, "set": {"type": "object"}}, ["label", "set"])
