"""A site in memory that harvests catalogues in RDF."""

from __future__ import annotations

from ckanext.freshness.harvesting.dcat.crawl import CatalogueCrawl
from ckanext.freshness.tests.harvesting.fdp.crawling import Site


class CatalogueSite(Site):
    """The datasets of one catalogue, harvested by real surveys into memory."""

    crawl_type = CatalogueCrawl
