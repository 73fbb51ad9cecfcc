"""Web pages that come in place of files, most of them as the public reports named beside them show them."""

from __future__ import annotations

import pytest

from ckanext.freshness.checking.error_texts import SHORT
from ckanext.freshness.checking.formats import FIRST_BYTES
from ckanext.freshness.checking.pages import PageKind, kind_of_page

WALL, LEADS_ON, MAY_LEAD_ON, OTHER = PageKind

IMPERVA = '<script src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3"></script>'
F5 = '<script>window["bobcmn"] = "1011/TSPD/30";</script><script src="/TSPD/08?type=17"></script>'
AWS = '<script src="https://a1.edge.sdk.awswaf.com/a1/b2/challenge.js" defer></script>'
GTM = (
    "<script>(function(w,d,s,l,i){w[l]=w[l]||[];var j=d.createElement(s);j.src='//g.example/'+i})"
    "(window,document,'script','dataLayer','GTM-X');</script><noscript><iframe src='//g.example/ns.html'>"
    "</iframe></noscript>"
)
ANALYTICS = (
    '<script>var h = (("https:" == document.location.protocol) ? "https://ssl." : "http://www.");'
    "</script>"
)
SEARCH = "<form action='/search'><input name=q></form>"
LOST = "<h1>Page not found</h1><p>The page you were looking for does not exist.</p>"
ROOM = " " * SHORT
"""Makes a page a long one."""

PAGES: dict[PageKind, dict[str, str]] = {
    WALL: {
        # fatiando/pooch#470, TecharoHQ/anubis#700
        "Anubis": f"<html><title>Making sure you&#39;re not a bot!</title>{ROOM}",
        "Anubis in Turkish": f"<title>Bot</title>{ROOM}<script id='anubis_challenge'>",
        # ziplokk1/incapsula-cracker-py3#20
        "Imperva": f"<html><head><META NAME='robots' CONTENT='noindex'>{IMPERVA}<body></body></html>",
        "Imperva with a frame": "<body><iframe id='main-iframe' src='/_Incapsula_Resource?CWUDNSAI=23'>"
        "Request unsuccessful. Incapsula incident ID: 1-2</iframe></body>",
        # owid/covid-19-data#2265
        "F5": f"<html><head><meta charset=utf-8>{F5.replace('30', '30' * SHORT)}</head><body></body></html>",
        "F5's refusal, translated": f"<html>{ROOM}Anfrage: Ihre Support-ID lautet: 17225430001234567890",
        # walkerke/tidycensus#613
        "Cloudflare": f"<title>Just a moment...</title>{ROOM}<noscript>Enable cookies</noscript>",
        "Akamai": "<HTML><TITLE>Access Denied</TITLE><H1>Access Denied</H1>You don't have permission to",
        "Radware": f"<title>Radware Captcha Page</title>{ROOM}",
        "SiteGround": '<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F">',
        # microlinkhq/is-antibot
        "Human": "<h1>Press &amp; Hold to confirm you are a human (and not a bot).</h1>",
        "AWS": f"<title>Human Verification</title>{AWS}",
        "DDoS-Guard": "<title>DDoS-Guard</title><p>Checking your browser before accessing x.example",
        "Vercel": "<title>Vercel Security Checkpoint</title><p>We're verifying your browser",
        "Google Drive": f"<title>Google Drive - Virus scan warning</title>{ROOM}",
        # pyload/pyload#3074
        "reCAPTCHA": f"<title>reCAPTCHA challenge</title>{ROOM}",
        "hCaptcha": f"<title>Are you human?</title>{ROOM}<div class='h-captcha'></div>",
        "a refusal in German": "<p>Der Zugriff wurde verweigert.",
        "a check in Chinese": "<title>安全验证</title>",
        "nginx": "<html><head><title>429 Too Many Requests</title></head><body><hr>nginx</body></html>",
    },
    LEADS_ON: {
        # tempesta-tech/tempesta#536
        "Tempesta": "<script>setTimeout(function() {document.cookie = 'a'; location.reload();}, 9);</script>",
        # forum.infinityfree.com/t/84179
        "testcookie": '<html><body><script src="/aes.js"></script><script>document.cookie="__test="+'
        'toHex(slowAES.decrypt(c,2,a,b));location.href="http://x.example/?i=1";</script><noscript>This site '
        "requires Javascript to work</noscript></body></html>",
        "Sucuri": "<html><title>You are being redirected...</title><noscript>Javascript is required.</noscript>"
        "<script>var s={},e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='';</script>",
        "Alibaba": f"<html><script>var arg1='{'4B' * SHORT}';document.location.reload()</script></html>",
        "DataDome": "<p id='cmsg'>Please enable JS and disable any ad blocker</p><script>var dd={}</script>",
        "a script": "<script>window.location.href = '?next';</script>",
        "an attribute": "<html><body onload=\"location='?next'\"></html>",
        "a form that submits itself": "<body onload='document.forms[0].submit()'><form action=/x></form>",
        "a click": "<html><a id=a href=/x></a><script>document.getElementById('a').click()</script>",
        "a page that a script writes": "<script>document.write(unescape('%3Cmeta%3E'))</script>",
        "hidden": "<script>eval(atob('bG9jYXRpb24='))</script>",
        "no script": "<noscript>Please enable JavaScript.</noscript><script src=/a.js></script>",
        "no cookies": "<p>Cookies must be enabled in your browser!",
        # GoDaddy's page of a domain without a site; it is not told from the others.
        "a parked domain": '<script>window.onload=function(){window.location.href="/lander"}</script>',
    },
    MAY_LEAD_ON: {
        "a licence": "<p>I accept the licence</p><form action='/get'><input type=submit></form>",
        "a login": "<html><form><input name=p type=password></form>",
        "a frame": "<frameset rows='100%,*'><frame src='http://x.example/data.csv'></frameset>",
        "a link of a script": "<p><a href='javascript:document.forms[0].submit()'>Download</a>",
        "a search for what is lost": f"{LOST}{SEARCH}",
        "analytics": f"{LOST}{ANALYTICS}",
        "a tag manager": f"<html><head>{GTM}</head>{LOST}",
        "a script with a text": "<html><p>Your download starts soon<script src=/a.js></script>",
        "a frame of a script": "<p>Download<script>document.createElement('iframe')</script>",
        # Applications come where a file is lost: open-webui/open-webui#9800, betsol/spa-server#1
        "React": "<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript>"
        "<div id=root></div><script src=/static/js/main.js></script>",
        "Vue": "<noscript>We're sorry but this doesn't work without JavaScript enabled.</noscript><div id=app>"
        "</div><script src=/js/app.js></script>",
        "Vite with a setting": "<script>window.env={}</script><script type=module src=/a.js></script>"
        "<div class=x id=app></div>",
        "Nuxt": "<div id=__nuxt></div><script>window.__NUXT__={}</script><script src=/a.js></script>",
        "Angular": "<base href='/'><app-root></app-root><script src=main.js type=module></script>",
    },
    OTHER: {
        "lost": LOST,
        "a lost file of a site with Imperva's script": f"<html><head>{IMPERVA}</head>{LOST}",
        "a lost file of a site with F5's script": f"<html><head>{F5}</head>{LOST}",
        # mintlify/docs#3759
        "a long page of a lost file": f"<title>Page not found</title>{LOST}{ROOM}{SEARCH}{ANALYTICS}",
        "a long application": f"<style>{ROOM}</style>{GTM}<div id=root></div><script src=/a.js></script>",
        "a long home page": f"<h1>Welcome</h1>{ROOM}{SEARCH}{GTM}<script>location.hash</script>",
        # cadeyrn/bookmarks-organizer#130
        "a domain for sale": "<title>x.example</title><h1>This domain is for sale!</h1>",
        "a database": "<br /><b>Warning</b>: mysqli_connect(): Access denied for user 'a'@'b'",
        "nothing": "<html><head></head><body></body></html>",
        "about clouds": "<html><p>Our site is protected by Cloudflare and Akamai.</p></html>",
        "a hidden word": "<!-- captcha --><style>.captcha{}</style><p>Gone</p>",
        "a form in a text": f"{LOST}<code>&lt;form&gt; &lt;script&gt;location</code>",
        "data of schema.org": '<script type="application/ld+json">{"name": "x"}</script>' + LOST,
    },
}


def judged(page: str, *, is_data_promised: bool = True) -> PageKind:
    data = page.encode()
    return kind_of_page(data[:FIRST_BYTES], len(data), is_data_promised=is_data_promised)


@pytest.mark.parametrize(
    ("kind", "page"),
    [(kind, page) for kind, pages in PAGES.items() for page in pages.values()],
    ids=[f"{kind.value}: {name}" for kind, pages in PAGES.items() for name in pages],
)
def test_kinds(kind: PageKind, page: str) -> None:
    assert judged(page) is kind
    # Where a page is meant, all but walls may be what is meant.
    assert judged(page, is_data_promised=False) is (WALL if kind is WALL else OTHER)


@pytest.mark.parametrize(
    "page",
    [
        "<html><title>Contact us</title><div class='h-captcha'></div></html>",
        "<html><script src='https://www.google.com/recaptcha/api.js'></script><h1>Data</h1></html>",
        f"<html><title>Human Development Report</title>{ROOM}</html>",
        f"<html><title>Data</title>{ROOM}<p>We check for unusual traffic, and access denied",
        "<html><p>We sell a robots.txt; viruses that are human</html>",
        f"<html>{F5}<h1>Map</h1></html>",
        "<html><noscript>This map needs JavaScript</noscript><div id=map></div><script src=m.js></script>",
    ],
)
def test_pages_that_are_meant(page: str) -> None:
    assert judged(page, is_data_promised=False) is OTHER
