"""Decides what a web page is that comes in place of a file: a wall that keeps programs out, or one on the way.

Browsers run scripts and show frames, and people fill in forms; a check does neither. So nobody can tell what a
short page leads to that has one of these. A long page with a text leads nowhere: it is that of a lost file, or
the home page of its site.

**The script of a wall is no wall**, since some sites have it on all their pages. A page that shows nothing
beside it is one.

Pure.
"""

from __future__ import annotations

import re
from enum import Enum
from html import unescape

from ..web.exchange import Answer
from .error_texts import SHORT


class PageKind(Enum):
    """What a web page is."""

    WALL = "wall"
    """It keeps programs out, but not people."""
    LEADS_ON = "leads on"
    """It leads browsers on, and says nothing else."""
    MAY_LEAD_ON = "may lead on"
    """It has a script, a frame or a form that may lead to the file, but also to a search."""
    OTHER = "other"


_WALL_WORDS = re.compile(
    r"captcha|just a moment|one moment, please|attention required|pardon our interruption|ddos"
    r"|our firewall|web(?:site| application)? ?firewall"
    r"|\b(?:checking|verifying) (?:if|that|your|you|the site)|challenge validation|too many requests"
    r"|rate limit exceeded|access (?:is |was |has been )?(?:denied(?! for user)|blocked|restricted)"
    r"|page blocked|you have been blocked|request (?:has been |was )?(?:rejected|blocked|unsuccessful)"
    r"|access to this (?:site|page|service) has been"
    r"|(?:unusual|suspicious|automated|malicious) (?:traffic|activit|behavio|access|queries|requests)"
    r"|security (?:check|verification|service)|google drive - (?:virus scan|quota)"
    r"|(?:verify|confirm|prove)\b.{0,20}\bhuman|human verification|(?:are you|you are|you're) (?:a )?human"
    r"|robot (?:challenge|check|or human)"
    r"|\b(?:an?|un|kein|geen|um|не|nejste|jesteś) (?:bot|robot(?:em)?|robô|робот)\b"
    r"|机器人|機器人|安全验证|ロボット"
    r"|zugriff (?:wurde )?(?:verweigert|blockiert|gesperrt)|anfrage (?:wurde )?(?:abgelehnt|blockiert)"
    r"|accès (?:refusé|bloqué|interdit)|trafic inhabituel|toegang geweigerd|odmowa dostępu|přístup odepřen"
    r"|acceso (?:denegado|bloqueado)|tráfico inusual|acesso (?:negado|bloqueado)|accesso (?:negato|bloccato)"
    r"|доступ (?:запрещ|огранич|заблокир)|erişim engellendi|åtkomst nekad|adgang nægtet|访问被|アクセスが拒否",
    re.IGNORECASE,
)
"""Words of walls: in titles, and in the texts of short pages."""

_WALL_SIGNS = re.compile(
    # https://anubis.techaro.lol/docs/admin/robots2policy/
    rb"id=[\"']anubis_challenge[\"']|/\.within\.website/"
    # https://my.f5.com/manage/s/article/K7825. Sites translate the page, but not the number.
    rb"|(?i:support[ -]id)[^\d]{1,40}\d{16}"
    # https://docs.imperva.com/bundle/cloud-application-security/page/error-codes.htm
    rb"|Incapsula incident ID|<iframe[^>]{1,200}/_Incapsula_Resource"
    # https://github.com/woocommerce/woocommerce/issues/52896
    rb"|/\.well-known/(?:sg)?captcha/"
)
"""Signs of walls whose pages have other words, or none."""
_WALL_SCRIPT = re.compile(rb"/_Incapsula_Resource|/TSPD/|bobcmn|\.awswaf\.com/|perfdrive\.com")
"""Scripts of Imperva, F5, AWS and Radware, which some sites have on all their pages."""

_LEADING_WORDS = re.compile(
    r"java ?script(?! to run this app)|enable js\b|enable cookies|cookies must|redirect|redirig"
    r"|weiterleit|weitergeleitet|doorgestuurd|please wait|bitte warten|veuillez patienter|por favor,? espere"
    r"|attendere|aguarde|подождите",
    re.IGNORECASE,
)
"""Words of short pages on the way to something. Applications that come where a file is lost have others."""
_LEADING_SCRIPT = re.compile(
    r"\blocation\b|document\.cookie|submit\(|click\(|window\.open\(|eval\(|atob\(|fromCharCode"
)
"""Names in scripts that lead on, and in those that hide it."""
_FRAME_OR_FORM = re.compile(r"<(?:i?frame|form|object|embed)\b", re.IGNORECASE)

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,200})", re.IGNORECASE)
_SCRIPT = re.compile(
    r"<script\b.*?(?:</script|\Z)|\son[a-z]{1,20}\s?=\s?(?:\"[^\"]*|'[^']*|[^\s>]*)|javascript:[^\"'>]*",
    re.IGNORECASE | re.DOTALL,
)
_WITHOUT_SCRIPT = re.compile(r"<noscript\b.*?(?:</noscript[^>]*>?|\Z)", re.IGNORECASE | re.DOTALL)
"""What browsers show only if they run no scripts."""
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|title|iframe|object)\b.*?(?:</\1[^>]*>?|\Z)|<[^>]*>?",
    re.IGNORECASE | re.DOTALL,
)
"""What browsers do not show as text."""


def kind_of_page(page: bytes, size: int, *, is_data_promised: bool) -> PageKind:
    """Return what a web page is.

    :param page: its first bytes
    :param size: of the page, in bytes
    :param is_data_promised: whether it is in place of data. If not, only a wall is told from other pages.
    """
    whole = page.decode("utf-8", "replace")
    title = _TITLE.search(whole)
    words = unescape(title[1]) if title else ""
    run = _WITHOUT_SCRIPT.sub(" ", whole)
    text = _text(run)
    is_short = size < SHORT
    if is_short:
        words = f"{words} {text or _text(whole)}"
    is_empty = not text and _WALL_SCRIPT.search(page)
    if is_empty or _WALL_WORDS.search(words) or _WALL_SIGNS.search(page):
        return PageKind.WALL
    if not is_data_promised:
        return PageKind.OTHER
    scripts = _SCRIPT.findall(run)
    leads = any(_LEADING_SCRIPT.search(script) for script in scripts)
    if leads and not text:
        return PageKind.LEADS_ON
    if not is_short:
        return PageKind.OTHER
    if _LEADING_WORDS.search(words):
        return PageKind.LEADS_ON
    may_lead = leads or _FRAME_OR_FORM.search(run) or (scripts and not text)
    return PageKind.MAY_LEAD_ON if may_lead else PageKind.OTHER


def _text(page: str) -> str:
    """Return what a page says to people, without its title."""
    return unescape(_UNSEEN.sub(" ", page)).strip()


_REFRESH = re.compile(
    r"\s*(?:\d{1,2}(?:\.\d*)?|\.\d+)\s*(?:[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']*)|\Z)",
    re.IGNORECASE,
)
"""After minutes, sessions end and pages load anew."""
_META = re.compile(rb"<!--(?s:.{0,999}?)-->|<meta(\s[^>]{0,2000})", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([a-z-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]*)|'([^']*)|([^\s\"']+))", re.IGNORECASE
)


def refresh_of(answer: Answer, page: bytes) -> str | None:
    """Return the URL to which an answer sends browsers by a header or a tag; None if to none.

    It is empty if they ask for the page once more.
    """
    given = answer.headers.get("Refresh") or ""
    for tag in _META.findall(page):
        values = {
            name.lower(): "".join(value)
            for name, *value in _ATTRIBUTE.findall(tag.decode("utf-8", "replace"))
        }
        if values.get("http-equiv", "").lower() == "refresh" and "content" in values:
            given = unescape(values["content"])
            break
    found = _REFRESH.match(given)
    return None if found is None else (found[1] or "").strip()
