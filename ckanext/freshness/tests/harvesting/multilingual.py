"""Stands in for ckanext-fluent, whose release for today's CKAN is in no package registry.

The names of its validators, what they accept from an API client and what they give back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ckanext.scheming.helpers import scheming_language_text
from ckanext.scheming.validation import scheming_validator

_LANGUAGE = re.compile(r"[a-z]{2,8}(-[0-9a-zA-Z]{1,8})*")


def _by_language(field: Any, schema: Any, is_value: Callable[[Any], bool]) -> Callable[..., None]:
    """Validate an object of language to value, which is stored as JSON."""
    wanted = schema["form_languages"] if field.get("required") else []

    def validate(key: Any, data: Any, errors: Any, context: Any) -> None:
        # A missing field counts as a form without any text.
        value = {} if data[key] is tk.missing else data[key]
        if not isinstance(value, dict):
            errors[key].append("expecting JSON object")
            return
        for language, one in value.items():
            if not _LANGUAGE.fullmatch(language):
                errors[key].append(f'invalid language code: "{language}"')
            elif not is_value(one):
                errors[key].append(f'invalid type for "{language}" value')
        errors[key] += [
            f'Required language "{one}" missing' for one in wanted if not value.get(one)
        ]
        if not errors[key]:
            data[key] = json.dumps(value)

    return validate


@scheming_validator
def fluent_text(field: Any, schema: Any) -> Callable[..., None]:
    return _by_language(field, schema, lambda one: isinstance(one, str))


@scheming_validator
def fluent_tags(field: Any, schema: Any) -> Callable[..., None]:
    rules = [tk.get_validator("tag_length_validator"), tk.get_validator("tag_name_validator")]

    def are_tags(values: Any) -> bool:
        if not isinstance(values, list):
            return False
        for value in values:
            for rule in rules:
                rule(value, {})
        return True

    return _by_language(field, schema, are_tags)


def fluent_output(value: Any) -> Any:
    return value if isinstance(value, dict) else json.loads(value)


@scheming_validator
def fluent_core_translated_output(field: Any, schema: Any) -> Callable[..., None]:
    def validate(key: Any, data: Any, errors: Any, context: Any) -> None:
        data[key] = fluent_output(data[key])
        core = (*key[:-1], key[-1].removesuffix("_translated"))
        if core in data:
            data[core] = scheming_language_text(data[key], "en")

    return validate


class MultilingualPlugin(p.SingletonPlugin):
    """A plugin with ckanext-scheming fields that have a value for each language."""

    p.implements(p.IValidators)

    def get_validators(self) -> dict[str, Callable[..., Any]]:
        return {
            "fluent_text": fluent_text,
            "fluent_text_output": fluent_output,
            "fluent_tags": fluent_tags,
            "fluent_tags_output": fluent_output,
            "fluent_core_translated_output": fluent_core_translated_output,
        }
