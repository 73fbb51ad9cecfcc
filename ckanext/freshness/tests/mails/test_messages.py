"""Headers in their wire format."""

from __future__ import annotations

import re

from ckan.tests import helpers

from ckanext.freshness.tests.mails.conftest import OVERDUE, Make, Notify, age
from ckanext.freshness.tests.servers.smtp import MailHost

ANN = "ann@example.org"


SITE = "https://data.a-very-long-name-of-a-site.government.example.org"


def test_programs_find_the_link(make: Make, notify: Notify, host: MailHost) -> None:
    make("rain", maintainer_email=ANN)
    age(OVERDUE)
    with (
        helpers.changed_config("ckan.site_url", SITE),
        helpers.changed_config("ckan.root_path", "/catalogue/{{LANG}}"),
    ):
        notify()
    (mail,) = host.mails
    head = mail.raw.partition(b"\r\n\r\n")[0].decode("ascii")
    (header,) = re.findall(r"^List-Unsubscribe:([^\r]*(?:\r\n[ \t][^\r]*)*)", head, re.MULTILINE)
    # White space within the brackets has no meaning (RFC 2369, section 2).
    link = re.sub(r"\s", "", header)
    assert re.fullmatch(rf"<{re.escape(SITE)}/catalogue/freshness/mails/\d+\.[\w-]{{16}}>", link)
    assert max(map(len, head.splitlines())) <= 78
    assert link.strip("<>") in mail.part("plain")


def test_the_language_is_the_sites(make: Make, notify: Notify, host: MailHost) -> None:
    make("rain", maintainer_email=ANN, title="Règen")
    age(OVERDUE)
    with helpers.changed_config("ckan.locale_default", "de"):
        notify()
    (mail,) = host.mails
    assert '<html lang="de" dir="ltr">' in mail.part("html")
    assert "Règen" in mail.part("plain")
    assert "Jede Woche" in mail.part("plain")
    assert "/de/" not in mail.part("plain")
