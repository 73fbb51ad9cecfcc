"""Three small profiles in the manner of national ones, each with one statement of a dataset or distribution."""

from __future__ import annotations

from typing import Any

from rdflib import Literal, Namespace, URIRef

from ckanext.dcat.profiles import DCAT, RDFProfile
from ckanext.dcat.utils import resource_uri

DCATDE = Namespace("http://dcat-ap.de/def/dcatde/")
SCHEMA = Namespace("http://schema.org/")
HEALTH = Namespace("http://healthdataportal.eu/ns/health#")


class OneProperty(RDFProfile):
    """The base of profiles that read and write one property of a dataset, as an extra."""

    key: str
    predicate: URIRef

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        for value in self.g.objects(dataset_ref, self.predicate):
            dataset_dict["extras"].append({"key": self.key, "value": str(value)})
        return dataset_dict

    def graph_from_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> None:
        for extra in dataset_dict["extras"]:
            if extra["key"] == self.key:
                self.g.add((dataset_ref, self.predicate, URIRef(extra["value"])))


class GermanProfile(OneProperty):
    """After DCAT-AP.de: who delivers a dataset, by the register of contributors."""

    key, predicate = "contributor_id", DCATDE.contributorID


class HealthProfile(OneProperty):
    """After HealthDCAT-AP: the category of health data."""

    key, predicate = "health_category", HEALTH.healthCategory


class SwedishProfile(RDFProfile):
    """After DCAT-AP-SE: the terms of an offer, of distributions."""

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        for node in self.g.objects(dataset_ref, DCAT.distribution):
            for resource in dataset_dict["resources"]:
                if resource["distribution_ref"] == str(node):
                    resource["offers"] = str(self.g.value(node, SCHEMA.offers) or "")
        return dataset_dict

    def graph_from_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> None:
        for resource in dataset_dict["resources"]:
            if resource.get("offers"):
                node = URIRef(resource_uri(resource))
                self.g.add((node, SCHEMA.offers, Literal(resource["offers"])))


class KeywordProfile(RDFProfile):
    """A later version of a profile, which reads the keywords into an extra, too."""

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        keywords = " ".join(sorted(map(str, self.g.objects(dataset_ref, DCAT.keyword))))
        dataset_dict["extras"].append({"key": "keywords", "value": keywords})
        return dataset_dict
