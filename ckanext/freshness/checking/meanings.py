"""What each status and each bot wall says about a link: a table of each.

A link **works** if people get the file, and has **failed** if they do not. Often nobody **can tell**: a server
refuses programs but not people, or it asks for an account. And sometimes the cause is **ours**: a limit, a rule
or the network of this site. Only failures count towards "broken". What a request without an answer says is in
:mod:`..web.errors`.

Pure: no network, database or clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..web.errors import Meaning


class Row(NamedTuple):
    """A row of a table.

    :ivar why: the reason, in words for the documentation
    """

    meaning: Meaning
    why: str


_WORKS, _FAILED, _CANNOT_TELL, _OURS = Meaning

STATUSES: Mapping[int, Row] = {
    202: Row(_CANNOT_TELL, "the file may exist later (RFC 9110, section 15.3.3)"),
    204: Row(_FAILED, "there is no file (RFC 9110, section 15.3.5)"),
    205: Row(_FAILED, "there is no file (RFC 9110, section 15.3.6)"),
    304: Row(_WORKS, "not modified, if we named what we know"),
    **dict.fromkeys(
        (300, 301, 302, 303, 307, 308),
        Row(_WORKS, "without a ``Location``, browsers save what comes with it"),
    ),
    401: Row(_CANNOT_TELL, "people with an account may get the file"),
    402: Row(_CANNOT_TELL, "Cloudflare asks programs for money so, but not people"),
    403: Row(_CANNOT_TELL, "servers also refuse programs so, but not people"),
    406: Row(_CANNOT_TELL, "servers also refuse programs so, but not people"),
    407: Row(_CANNOT_TELL, "a proxy asks for a login"),
    415: Row(_CANNOT_TELL, "servers also refuse programs so, but not people"),
    418: Row(_CANNOT_TELL, "servers refuse programs so, but not people"),
    420: Row(_CANNOT_TELL, "too many requests, as some servers say it"),
    426: Row(_CANNOT_TELL, "the server asks for another version of HTTP, which browsers may speak"),
    429: Row(_CANNOT_TELL, "too many requests (RFC 6585)"),
    430: Row(_CANNOT_TELL, "too many requests, as Shopify says it"),
    451: Row(_CANNOT_TELL, "forbidden by law in some places only (RFC 7725)"),
    468: Row(_CANNOT_TELL, "the SafeLine firewall refuses programs so, but not people"),
    498: Row(_CANNOT_TELL, "ArcGIS asks for a valid token"),
    499: Row(_CANNOT_TELL, "ArcGIS asks for a token"),
    511: Row(_OURS, "the network of this site asks for a login (RFC 6585)"),
    999: Row(_CANNOT_TELL, "LinkedIn refuses programs so, but not people"),
}
"""Statuses whose meaning is not that of their class: 2xx brings the file, and without it people get none."""

NOT_THERE = frozenset({404, 410})
"""Statuses on whose pages a bot wall's script says nothing: some walls put it on all pages of a site."""

BUSY = frozenset({429, 503})
"""Statuses that may name the moment when to ask again. Then the server works, and 503 is no failure."""


class Wall(NamedTuple):
    """A sign of a bot wall, which answers in place of the site.

    :ivar sign: a regular expression
    :ivar source: where the sign is documented
    """

    name: str
    sign: bytes
    source: str


WALL_HEADERS: Mapping[str, frozenset[str]] = {
    # https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
    "cf-mitigated": frozenset({"challenge"}),
    # https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-how-it-works.html
    "x-amzn-waf-action": frozenset({"challenge", "captcha"}),
    # https://vercel.com/docs/headers/response-headers
    "x-vercel-mitigated": frozenset({"challenge", "deny"}),
}
"""Headers and values by which a bot wall says that it answered, whatever the status.

A wall that answers with a status that tells nothing needs no row.
"""

_CAPTCHA_TITLE = rb"(?s:.*?)(?i:<title>[^<]{0,99}(?:captcha|robot|human|verif|security check))"

WALL_PAGES: tuple[Wall, ...] = (
    Wall(
        "Cloudflare",
        rb"/cdn-cgi/challenge-platform/(?![\w/]{0,40}scripts/jsd)|_cf_chl_opt|Attention Required! \| Cl",
        "https://developers.cloudflare.com/cloudflare-challenges/",
    ),
    Wall(
        "AWS WAF",
        rb"awsWafCookieDomainList|gokuProps|token\.awswaf\.com",
        "https://docs.aws.amazon.com/waf/latest/developerguide/waf-javascript-api.html",
    ),
    Wall(
        "Vercel",
        rb"Vercel Security Checkpoint",
        "https://vercel.com/docs/vercel-firewall/attack-challenge-mode",
    ),
    Wall(
        "Imperva",
        rb"_Incapsula_Resource|Incapsula incident ID",
        "https://docs.imperva.com/bundle/cloud-application-security/page/error-codes.htm",
    ),
    Wall(
        "F5",
        rb"<title>Request Rejected</title>|The requested URL was rejected. Please consult"
        rb"|window\[.bobcmn.\]|/TSPD/|(?i:support[ -]id)[^\d]{1,40}\d{16,}",
        "https://my.f5.com/manage/s/article/K7825",
    ),
    Wall(
        "Sucuri",
        rb"sucuri_cloudproxy_js|Sucuri Website Firewall - Access Denied",
        "https://docs.sucuri.net/website-firewall/troubleshooting/",
    ),
    Wall(
        "Anubis",
        rb"id=[\"']anubis_challenge[\"']|/\.within\.website/",
        "https://anubis.techaro.lol/docs/admin/robots2policy/",
    ),
    Wall("DataDome", rb"captcha-delivery\.com", "https://docs.datadome.co/docs/client-side-tag"),
    Wall(
        "Akamai",
        rb"errors\.edgesuite\.net|/_sec/cp_challenge/|Pardon Our Interruption",
        "https://techdocs.akamai.com/bot-manager/docs/challenge-actions",
    ),
    Wall("HUMAN", rb"px-captcha|/captcha/captcha\.js\?a=", "https://docs.humansecurity.com/"),
    Wall("Kasada", rb"window\.KPSDK", "https://github.com/wappalyzer/wappalyzer/issues/7857"),
    Wall(
        "Radware",
        rb"Radware Captcha Page|perfdrive\.com",
        "https://www.radware.com/products/bot-manager/",
    ),
    Wall("DDoS-Guard", rb"<title>DDoS-Guard</title>", "https://ddos-guard.net/"),
    Wall(
        "Fortinet",
        rb"<title>Web Page Blocked!?</title>|\.fgd_icon",
        "https://github.com/EnableSecurity/wafw00f",
    ),
    Wall("Alibaba Cloud", rb"errors\.aliyun\.com", "https://github.com/EnableSecurity/wafw00f"),
    Wall("SafeLine", rb"SafeLineChallenge", "https://docs.waf.chaitin.com/"),
    Wall("Imunify360", rb"imunify360", "https://docs.imunify360.com/webshield/"),
    Wall(
        "SiteGround",
        rb"/\.well-known/(?:sg)?captcha/",
        "https://github.com/woocommerce/woocommerce/issues/52896",
    ),
    Wall("Wordfence", rb"Generated by Wordfence", "https://github.com/EnableSecurity/wafw00f"),
    Wall("go-away", rb"__goaway_", "https://git.gammaspectra.live/git/go-away"),
    Wall("testcookie", rb"slowAES\.decrypt", "https://github.com/kyprizel/testcookie-nginx-module"),
    Wall(
        "Google Drive",
        rb"Google Drive - (?:Virus scan warning|Quota exceeded)|id=\"download-form\"",
        "https://support.google.com/drive/answer/148505",
    ),
    Wall(
        "ArvanCloud", rb"__arcsjs", "https://docs.arvancloud.ir/en/developer-tools/ddos-protection/"
    ),
    Wall(
        "Azure WAF",
        rb"azwaf_(?:jsclearance|captcha)|<title>Azure WAF</title>",
        "https://learn.microsoft.com/en-us/azure/web-application-firewall/waf-javascript-challenge",
    ),
    Wall(
        "Google",
        rb"id=\"captcha-form\"|unusual traffic from your computer network",
        "https://support.google.com/websearch/answer/86640",
    ),
    # Forms of ordinary pages have such a widget, too, but another title.
    Wall(
        "reCAPTCHA",
        rb"\A(?=(?s:.*?)(?:g-recaptcha|/recaptcha/(?:api|enterprise)\.js))" + _CAPTCHA_TITLE,
        "https://developers.google.com/recaptcha/docs/display",
    ),
    Wall(
        "hCaptcha",
        rb"\A(?=(?s:.*?)(?:h-captcha|hcaptcha\.com/))" + _CAPTCHA_TITLE,
        "https://docs.hcaptcha.com/",
    ),
)
"""Signs of bot walls in the first bytes of HTML that stands in place of data, and of the pages of errors."""


def status_means(status: int, *, is_busy: bool = False) -> Meaning:
    """Return what a status says about a link.

    :param is_busy: the answer names the moment when to ask again (``Retry-After``)
    """
    if is_busy and status in BUSY:
        return Meaning.CANNOT_TELL
    row = STATUSES.get(status)
    if row is not None:
        return row.meaning
    return Meaning.WORKS if 200 <= status < 300 else Meaning.FAILED


def has_wall_header(headers: Mapping[str, str]) -> bool:
    """Decide whether a bot wall says that it answered in place of the site.

    :param headers: a mapping that ignores the case of names
    """
    # Hardly any answer has one of these headers.
    return any(
        name in headers and headers[name].strip().lower() in values
        for name, values in WALL_HEADERS.items()
    )


def wall_of_page(first: bytes) -> str | None:
    """Return the name of the bot wall that made an HTML page; None if the page shows no sign of one.

    :param first: the first bytes of a page that stands in place of data
    """
    return next((wall.name for wall in WALL_PAGES if re.search(wall.sign, first)), None)
