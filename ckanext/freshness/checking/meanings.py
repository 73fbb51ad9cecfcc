"""What each status, each failure and each bot wall says about a link: one table of each.

A link **works** if people get the file, and has **failed** if they do not. Often nobody **can tell**: a server
refuses programs but not people, or it asks for an account. And sometimes the cause is **ours**: a limit, a rule
or the network of this site. Only failures count towards "broken".

Pure: no network, database or clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from ..web.errors import FailureReason


class Meaning(Enum):
    """What an answer, or no answer, says about a link."""

    WORKS = "works"
    FAILED = "failed"
    CANNOT_TELL = "cannot tell"
    OURS = "ours"
    """The cause is on our side. People see "couldn't be checked", as for ``CANNOT_TELL``."""


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

FAILURES: Mapping[FailureReason, Row] = {
    FailureReason.INVALID_URL: Row(_FAILED, "no program can open it"),
    FailureReason.SCHEME_REFUSED: Row(_CANNOT_TELL, "only http and https are asked for"),
    FailureReason.INSIDE_ADDRESS: Row(_OURS, "this site sends nothing into private networks"),
    FailureReason.HOST_NOT_ALLOWED: Row(_OURS, "the site's settings do not allow the host"),
    FailureReason.ROBOTS: Row(_CANNOT_TELL, "the server's robots.txt forbids it to programs"),
    FailureReason.HOST_DEFERRED: Row(_CANNOT_TELL, "the server asked for a long pause"),
    FailureReason.HOST_SILENT: Row(_CANNOT_TELL, "its server gave no answer to other requests"),
    FailureReason.TOO_LARGE: Row(_OURS, "the file is larger than this site reads"),
    FailureReason.INVALID_REQUEST: Row(_OURS, "the request cannot be sent"),
    FailureReason.UNFORESEEN: Row(_OURS, "this site met an error that nobody foresaw"),
    FailureReason.NAME_NOT_FOUND: Row(_FAILED, "its host name does not exist"),
    FailureReason.NAME_LOOKUP_FAILED: Row(_FAILED, "its host name cannot be looked up"),
    FailureReason.CONNECTION_REFUSED: Row(_FAILED, "nothing answers at its address"),
    FailureReason.CONNECTION_RESET: Row(_FAILED, "the server breaks the connection off"),
    FailureReason.UNREACHABLE: Row(_FAILED, "its machine cannot be reached"),
    FailureReason.NO_ROUTE: Row(_OURS, "this machine has no way to its network"),
    FailureReason.PROXY: Row(_OURS, "the proxy of this site gives no answer"),
    FailureReason.OUT_OF_SOCKETS: Row(_OURS, "this machine has too many open files"),
    FailureReason.TLS_EXPIRED: Row(_FAILED, "browsers warn of an expired certificate"),
    FailureReason.TLS_SELF_SIGNED: Row(
        _FAILED, "browsers warn of a certificate that nobody signed"
    ),
    FailureReason.TLS_WRONG_NAME: Row(_FAILED, "browsers warn of a certificate for another name"),
    FailureReason.TLS_UNTRUSTED: Row(
        _CANNOT_TELL, "an intermediate certificate is missing, which browsers may know"
    ),
    FailureReason.TLS_FAILED: Row(_FAILED, "not even outdated encryption is understood"),
    FailureReason.CONNECT_TIMEOUT: Row(_FAILED, "the server takes no connection in time"),
    FailureReason.READ_TIMEOUT: Row(_FAILED, "the server falls silent"),
    FailureReason.TOTAL_TIMEOUT: Row(_FAILED, "no answer begins in time"),
    FailureReason.UNFINISHED: Row(
        _CANNOT_TELL, "the file arrives, but too slowly for the limits of this site"
    ),
    FailureReason.REDIRECT_LOOP: Row(_FAILED, "it redirects in a circle"),
    FailureReason.TOO_MANY_REDIRECTS: Row(_FAILED, "it redirects too often"),
    FailureReason.TRUNCATED: Row(_FAILED, "the file breaks off"),
    FailureReason.MALFORMED: Row(_FAILED, "not even browsers can read the answer"),
}
"""What a request without an answer means."""


class Wall(NamedTuple):
    """A sign of a bot wall, which answers in place of the site.

    :ivar source: where the sign is documented
    """

    name: str
    sign: re.Pattern[bytes]
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

WALL_PAGES: tuple[Wall, ...] = (
    Wall(
        "Cloudflare",
        re.compile(
            rb"/cdn-cgi/challenge-platform/(?![\w/]{0,40}scripts/jsd)|_cf_chl_opt|Attention Required! \| Cl"
        ),
        "https://developers.cloudflare.com/cloudflare-challenges/",
    ),
    Wall(
        "AWS WAF",
        re.compile(rb"awsWafCookieDomainList|gokuProps|token\.awswaf\.com"),
        "https://docs.aws.amazon.com/waf/latest/developerguide/waf-javascript-api.html",
    ),
    Wall(
        "Vercel",
        re.compile(rb"Vercel Security Checkpoint"),
        "https://vercel.com/docs/vercel-firewall/attack-challenge-mode",
    ),
    Wall(
        "Imperva",
        re.compile(rb"_Incapsula_Resource|Incapsula incident ID"),
        "https://docs.imperva.com/bundle/cloud-application-security/page/error-codes.htm",
    ),
    Wall(
        "F5",
        re.compile(
            rb"<title>Request Rejected</title>|The requested URL was rejected. Please consult"
            rb"|window\[.bobcmn.\]|/TSPD/"
        ),
        "https://my.f5.com/manage/s/article/K7825",
    ),
    Wall(
        "Sucuri",
        re.compile(rb"sucuri_cloudproxy_js|Sucuri Website Firewall - Access Denied"),
        "https://docs.sucuri.net/website-firewall/troubleshooting/",
    ),
    Wall(
        "Anubis",
        re.compile(rb"id=[\"']anubis_challenge[\"']|/\.within\.website/"),
        "https://anubis.techaro.lol/docs/admin/robots2policy/",
    ),
    Wall(
        "DataDome",
        re.compile(rb"captcha-delivery\.com"),
        "https://docs.datadome.co/docs/client-side-tag",
    ),
    Wall(
        "Akamai",
        re.compile(rb"errors\.edgesuite\.net|/_sec/cp_challenge/|Pardon Our Interruption"),
        "https://techdocs.akamai.com/bot-manager/docs/challenge-actions",
    ),
    Wall(
        "HUMAN",
        re.compile(rb"px-captcha|/captcha/captcha\.js\?a="),
        "https://docs.humansecurity.com/",
    ),
    Wall(
        "Kasada",
        re.compile(rb"window\.KPSDK"),
        "https://github.com/wappalyzer/wappalyzer/issues/7857",
    ),
    Wall(
        "Radware",
        re.compile(rb"Radware Captcha Page|perfdrive\.com"),
        "https://www.radware.com/products/bot-manager/",
    ),
    Wall(
        "DDoS-Guard",
        re.compile(rb"<title>DDoS-Guard</title>"),
        "https://ddos-guard.net/",
    ),
    Wall(
        "Fortinet",
        re.compile(rb"<title>Web Page Blocked!?</title>|\.fgd_icon"),
        "https://github.com/EnableSecurity/wafw00f",
    ),
    Wall(
        "Alibaba Cloud",
        re.compile(rb"errors\.aliyun\.com"),
        "https://github.com/EnableSecurity/wafw00f",
    ),
    Wall(
        "SafeLine",
        re.compile(rb"SafeLineChallenge"),
        "https://docs.waf.chaitin.com/",
    ),
    Wall(
        "Imunify360",
        re.compile(rb"imunify360"),
        "https://docs.imunify360.com/webshield/",
    ),
    Wall(
        "SiteGround",
        re.compile(rb"/\.well-known/(?:sg)?captcha/"),
        "https://github.com/woocommerce/woocommerce/issues/52896",
    ),
    Wall(
        "Wordfence",
        re.compile(rb"Generated by Wordfence"),
        "https://github.com/EnableSecurity/wafw00f",
    ),
    Wall(
        "go-away",
        re.compile(rb"__goaway_"),
        "https://git.gammaspectra.live/git/go-away",
    ),
    Wall(
        "testcookie",
        re.compile(rb"slowAES\.decrypt"),
        "https://github.com/kyprizel/testcookie-nginx-module",
    ),
    Wall(
        "Google Drive",
        re.compile(rb"Google Drive - Virus scan warning|id=\"download-form\""),
        "https://support.google.com/drive/answer/148505",
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


def failure_means(reason: FailureReason) -> Meaning:
    """Return what a request without an answer says about a link."""
    return FAILURES[reason].meaning


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
    return next((wall.name for wall in WALL_PAGES if wall.sign.search(first)), None)
