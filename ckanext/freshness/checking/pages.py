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
    """It shows nothing but runs a script of its own, or says that it leads on."""
    MAY_LEAD_ON = "may lead on"
    """It has a script, a frame or a form that may lead to the file, but also to a count or a search."""
    OTHER = "other"


_WALL_WORDS = (
    *("captcha", "just a moment", "one moment, please", "attention required"),
    *("pardon our interruption", "checking if", "checking you", "verifying you"),
    *("challenge validation", "security check", "ddos", "security verification"),
    *("security service", "website firewall", "page blocked", "been blocked", "was blocked"),
    *("request blocked", "request rejected", "request unsuccessful", "access denied"),
    *("access is denied", "access restricted", "access to this service", "too many requests"),
    *("unusual traffic", "unusual activity", "automated queries", "automated requests"),
    *("are you human", "you are human", "you are a human", "human verification", "robot or human"),
    *("not a bot", "not a robot", "are you a robot", "robot challenge"),
    *("google drive - virus scan", "suspicious activity", "suspicious behavio", "by our firewall"),
    # In other languages
    *("kein bot", "kein roboter", "zugriff verweigert", "zugriff wurde verweigert"),
    *("zugriff blockiert", "zugriff gesperrt", "anfrage abgelehnt", "anfrage blockiert"),
    *("pas un robot", "accès refusé", "accès bloqué", "accès interdit", "trafic inhabituel"),
    *("eres un robot", "acceso denegado", "acceso bloqueado", "tráfico inusual", "um robô"),
    *("acesso negado", "acesso bloqueado", "sei un robot", "accesso negato", "accesso bloccato"),
    *("geen robot", "toegang geweigerd", "jesteś robotem", "odmowa dostępu", "nejste robot"),
    *("přístup odepřen", "не робот", "доступ запрещ", "доступ огранич", "доступ заблокир"),
    *("erişim engellendi", "åtkomst nekad", "adgang nægtet"),
    *("机器人", "機器人", "安全验证", "访问被", "ロボット", "アクセスが拒否"),
)
"""Words of walls: in titles, and in the texts of short pages."""
_DATABASE = "access denied for user"
"""What MySQL says."""

_WALL_SIGNS = (
    # https://anubis.techaro.lol/docs/admin/robots2policy/
    *("anubis_challenge", "/.within.website/"),
    # https://docs.imperva.com/bundle/cloud-application-security/page/error-codes.htm
    "incapsula incident id",
    # https://github.com/woocommerce/woocommerce/issues/52896
    *("/.well-known/sgcaptcha/", "/.well-known/captcha/"),
)
"""Signs of walls whose pages have other words, or none."""
_SUPPORT_ID = re.compile(r"support[ -]id\D{1,40}\d{16}", re.ASCII)
"""F5's: sites translate the page, but not the number. https://my.f5.com/manage/s/article/K7825"""
_WALL_SCRIPTS = ("/_incapsula_resource", "/tspd/", "bobcmn", ".awswaf.com/", "perfdrive.com")
"""Scripts of Imperva, F5, AWS and Radware, which some sites have on all their pages."""

_LEADING_WORDS = (
    *("javascript", "java script", "enable js", "enable cookies", "cookies must", "redirect"),
    *("redirig", "weiterleit", "weitergeleitet", "doorgestuurd", "please wait", "bitte warten"),
    *("veuillez patienter", "por favor espere", "attendere", "aguarde", "подождите"),
)
"""Words of short pages on the way to something."""
_APPLICATION = re.compile("enable javascript to run this app|without javascript enabled")
"""What applications made with React or Vue say, whose empty page comes where a file is lost."""

_MOUNT = re.compile(
    r"<div[^>]{0,99}\sid=[\"']?(?:root|app|__next|__nuxt|___gatsby)[\"'\s>]|<app-root\b"
)
"""The place where an application shows itself. Walls have none."""
_FRAME_OR_FORM = re.compile(r"<(?:i?frame|form|object|embed)\b")

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,200})")
_SCRIPT = re.compile(
    r"<script\b(?![^>]*json).*?(?:</script|\Z)|\son[a-z]{1,20}\s?=|javascript:", re.DOTALL
)
_EXTERNAL = re.compile(r"<script[^>]*>\s*</script")
_WITHOUT_SCRIPT = re.compile(r"<noscript\b.*?(?:</noscript[^>]*>?|\Z)", re.DOTALL)
"""What browsers show only if they run no scripts."""
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|title|iframe|object)\b.*?(?:</\1[^>]*>?|\Z)|<[^>]*>?",
    re.DOTALL,
)
"""What browsers do not show as text."""


def kind_of_page(page: bytes, size: int, *, is_data_promised: bool) -> PageKind:
    """Return what a web page is.

    :param page: its first bytes
    :param size: of the page, in bytes
    :param is_data_promised: whether it is in place of data. If not, only a wall is told from other pages.
    """
    whole = page.decode("utf-8", "replace").lower()
    is_short = size < SHORT
    title = _TITLE.search(whole)
    words = unescape(title[1]) if title else ""
    run = text = ""
    has_script = _has(_WALL_SCRIPTS, whole)
    if is_short or is_data_promised or has_script:
        run = _WITHOUT_SCRIPT.sub(" ", whole)
        text = _text(run)
    if is_short:
        words = f"{words} {text or _text(whole)}"
    is_wall = _has(_WALL_WORDS, words.replace(_DATABASE, "")) or _has(_WALL_SIGNS, whole)
    if is_wall or (has_script and not text) or _SUPPORT_ID.search(whole):
        return PageKind.WALL
    if not is_data_promised:
        return PageKind.OTHER
    scripts = [one for one in _SCRIPT.findall(run) if not _has(_WALL_SCRIPTS, one)]
    if not text and not all(map(_EXTERNAL.fullmatch, scripts)):
        is_application = _MOUNT.search(run) is not None and "src=" in run
        if not is_application:
            return PageKind.LEADS_ON
    if not is_short:
        return PageKind.OTHER
    if _has(_LEADING_WORDS, _APPLICATION.sub("", words)):
        return PageKind.LEADS_ON
    return PageKind.MAY_LEAD_ON if scripts or _FRAME_OR_FORM.search(run) else PageKind.OTHER


def _has(words: tuple[str, ...], text: str) -> bool:
    # A regular expression takes ten times as long.
    return any(word in text for word in words)


def _text(page: str) -> str:
    """Return what a page says to people, without its title."""
    return unescape(_UNSEEN.sub(" ", page)).strip()


_REFRESH = re.compile(
    r"\s*(?:\d{1,2}(?:\.\d*)?|\.\d+)\s*(?:[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']*)|\Z)",
    re.IGNORECASE,
)
"""After minutes, sessions end and pages load anew."""
_META = re.compile(
    rb"<!--(?s:.{0,999}?)-->|<(script|style|title|template|textarea)\b(?s:.*?)(?:</\1|\Z)"
    rb"|<meta(?P<attributes>\s[^>]{0,2000})",
    re.IGNORECASE,
)
"""A tag, and before it all in which a tag is none."""
_ATTRIBUTE = re.compile(
    r"([a-z-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]*)|'([^']*)|([^\s\"']+))", re.IGNORECASE
)


def refresh_of(answer: Answer, page: bytes) -> str | None:
    """Return the URL to which an answer sends browsers by a header or a tag; None if to none.

    It is empty if they ask for the page once more.
    """
    given = answer.headers.get("Refresh") or ""
    for tag in _META.finditer(page):
        attributes = (tag["attributes"] or b"").decode("utf-8", "replace")
        values = {name.lower(): "".join(value) for name, *value in _ATTRIBUTE.findall(attributes)}
        if values.get("http-equiv", "").lower() == "refresh" and "content" in values:
            given = unescape(values["content"])
            break
    found = _REFRESH.match(given)
    return None if found is None else (found[1] or "").strip()
