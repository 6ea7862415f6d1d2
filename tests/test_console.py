"""The page /console/reviews in a real browser: people sign in, read what waits, and decide, by mouse and by keyboard."""

import http.client
import re
from urllib.parse import urlencode

import pytest

import browser as browsers
from callers import admin
from held import STANDARD, Team, document
from server import Server

PWNED = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\"><b>bold</b> {{7*7}}"
PAGE_MS_MAX = 15_000
TABS_MAX = 60


@pytest.fixture(scope="module")
def served(bin, tmp_path_factory):
    with Server(bin, tmp_path_factory.mktemp("console") / "data", env=STANDARD) as running:
        yield running


@pytest.fixture(scope="module")
def chromium(request):
    """A running browser. Without one the tests are skipped, and a notice says so that nobody can overlook."""
    path = browsers.find()
    if path is None:
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(browsers.NOTICE)
        pytest.skip("no browser: the page was NOT tested")
    from playwright.sync_api import sync_playwright

    quiet = ["--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=quiet)
        yield running
        running.close()


@pytest.fixture
def team(served):
    return Team(served)


@pytest.fixture
def page(chromium, served):
    """A page of a new visitor. Whatever a browser complains about fails the test."""
    context = chromium.new_context(base_url=served.url)
    context.set_default_timeout(PAGE_MS_MAX)
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    yield page
    context.close()
    assert complaints == []


def sign_in(page, key, path="/console/reviews"):
    page.goto(path)
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def decide(page, reason, button):
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=button).click()


def tab_to(page, selector):
    """Presses Tab until this element has the focus."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached with the Tab key")


def access_key(page, letter):
    """Presses Alt and a letter as a keyboard does. Playwright leaves out the character, which is what a browser goes by."""
    keys = page.context.new_cdp_session(page)
    key = {"key": letter, "windowsVirtualKeyCode": ord(letter.upper()), "modifiers": 1, "unmodifiedText": letter}
    keys.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
    keys.send("Input.dispatchKeyEvent", {"type": "char", "text": letter, **key})
    keys.send("Input.dispatchKeyEvent", {"type": "keyUp", **key})


def test_a_person_approves_with_the_mouse(team, page):
    """GOV-6.4: what was held is found once a person said yes on the page."""
    id = team.held("The heron nests in the old mill")
    assert team.person.found("heron mill") == []
    sign_in(page, team.person.key)
    page.get_by_role("link", name="The heron nests in the old mill").click()
    assert page.url.endswith(id) and page.get_by_role("heading", name="Why it waits").is_visible()
    decide(page, "seen it myself", "Approve")
    assert page.get_by_role("status").inner_text() == "Approved: it is remembered now."
    assert page.get_by_text("Nothing waits for you.").is_visible()
    review = team.review(id)
    assert (review["state"], review["reason"]) == ("approved", "seen it myself")
    assert len(team.person.found("heron mill")) == 1


def test_a_person_rejects_with_the_mouse(team, page):
    """GOV-6.7: that it is not so counts against the agent; that it is unwanted does not."""
    false, unwanted = team.held("The weir opens at noon"), team.held("The lock has seven gates")
    sign_in(page, team.person.key)
    for id, category, reason in ((false, "FACTUAL_ERROR", "it opens at nine"), (unwanted, "OTHER", "nobody asked")):
        page.goto(f"/console/reviews/{id}")
        page.get_by_label("If you reject it").select_option(category)
        decide(page, reason, "Reject")
        assert page.get_by_role("status").inner_text() == "Rejected: its author is told why."
        assert (team.review(id)["state"], team.review(id)["reason"]) == ("rejected", reason)
    assert team.review(false)["decision"] != team.review(unwanted)["decision"]
    assert team.person.found("weir lock") == []
    page.get_by_role("link", name="Rejected").click()
    assert page.get_by_role("link", name="The weir opens at noon").is_visible()


def test_the_keyboard_is_enough(team, page):
    """From signing in to two decisions without touching a mouse; the element with the focus can always be seen."""
    first, second = team.held("The ferry leaves at dawn"), team.held("The towpath is closed in winter")
    page.goto("/console/reviews")
    page.wait_for_function("document.activeElement.matches('input[autofocus]')")
    page.keyboard.type(team.person.key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/reviews")
    tab_to(page, "a[href='/console/reviews/next']")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", outline
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/console/reviews/rev_"))
    opened = page.url.rsplit("/", 1)[1]
    tab_to(page, "#reason")
    page.keyboard.type("as the timetable says")
    tab_to(page, "button[value=approve]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/reviews?news=committed")
    assert team.review(opened)["state"] == "approved"

    other = ({first, second} - {opened}).pop()
    access_key(page, "n")
    page.wait_for_url(f"**/console/reviews/{other}")
    tab_to(page, "#reason")
    page.keyboard.type("it is open")
    access_key(page, "r")
    page.wait_for_url("**/console/reviews?news=rejected")
    assert team.review(other)["state"] == "rejected"


def test_what_an_agent_wrote_is_text_and_nothing_else(team, page):
    """GOV-6.4: markup in a write, its key and its evidence is shown as it was written, and runs nowhere."""
    text = f"{PWNED} \x1b[2J\u202emills\u200b and weirs"
    id = team.held(text, key=PWNED, justification=PWNED, evidence=[document(text, uri="javascript:document.title='pwned'")])
    sign_in(page, team.person.key)
    assert f"{PWNED}: <script>" in page.get_by_role("main").inner_text()
    page.goto(f"/console/reviews/{id}")
    shown = page.locator(".said").first.inner_text()
    assert shown == f"{PWNED} <U+001B>[2J<U+202E>mills<U+200B> and weirs"
    assert page.locator("main script, main img, main b, [onerror], [href^='javascript']").count() == 0
    page.wait_for_timeout(200)
    assert page.title() == "Review · Tabellion"
    decide(page, PWNED, "Reject")
    page.get_by_role("link", name="Rejected").click()
    page.goto(f"/console/reviews/{id}")
    assert PWNED in page.get_by_role("main").inner_text() and page.title() == "Review · Tabellion"


def test_what_would_change_is_shown_word_by_word(team, page):
    """GOV-6.4: evidence with its authority and age, the risk by its factors, and the words that would change."""
    first = team.held("The bridge at Marlow carries 5 tonnes", triple={"subject": "bridge", "predicate": "carries", "object": "5 tonnes"})
    hash = team.review(first)["content_hash"]
    written = team.person.ask("POST", f"/v1/reviews/{first}:decide", {"decision": "approve", "reason": "so", "content_hash": hash})
    id = team.held("The bridge at Marlow carries 3 tonnes", supersedes=written["id"])
    sign_in(page, team.person.key, f"/console/reviews/{id}")
    page.wait_for_url(f"**/console/reviews/{id}")
    section = page.locator("section", has=page.get_by_role("heading", name=f"Against {written['id'][:12]}"))
    assert (section.locator("del").inner_text(), section.locator("ins").inner_text()) == ("5", "3")
    said = page.get_by_role("main").inner_text()
    for part in ("https://docs.example.org/a", "authority 0.85", "ago)", "novelty", "Derived from no other item", team.review(id)["content_hash"]):
        assert part in said, part


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_can_be_read(team, page, width, scheme):
    """No page is wider than the screen, every field has a label, every text has enough contrast, in both schemes."""
    id = team.held("An exceedinglylongwordwithoutanybreak" + "x" * 400 + f" on the {width} {scheme} page")
    page.set_viewport_size({"width": width, "height": 700})
    page.emulate_media(color_scheme=scheme)
    page.goto("/console/login")
    fits(page, width)
    sign_in(page, team.person.key)
    for path in ("/console/reviews", f"/console/reviews/{id}", "/console/reviews?state=approved", "/console/reviews/rev_none"):
        page.goto(path)
        fits(page, width)


def fits(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
    assert page.locator("h1").count() == 1 and page.locator("html[lang]").count() == 1
    assert page.evaluate(UNLABELLED) == [], page.url
    assert page.evaluate(FAINT) == [], page.url


UNLABELLED = """[...document.querySelectorAll('input:not([type=hidden]), textarea, select')]
    .filter(field => !field.labels.length).map(field => field.outerHTML)"""

# Texts whose contrast with the ground behind them is below 4.5:1.
FAINT = """(() => {
    const rgb = text => text.match(/[\\d.]+/g).map(Number);
    const light = colour => { const [r, g, b] = colour.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = element => { for (; element; element = element.parentElement) {
        const colour = rgb(getComputedStyle(element).backgroundColor); if (colour.length < 4 || colour[3] === 1) return colour; }
        return [255, 255, 255]; };
    const own = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    return [...document.body.querySelectorAll('*')].filter(own).map(element => {
        const [a, b] = [rgb(getComputedStyle(element).color), ground(element)].map(colour => light(colour.slice(0, 3)));
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 80)];
    }).filter(([ratio]) => ratio < 4.5);
})()"""


def test_only_a_persons_key_opens_the_page(team, page):
    """GOV-6.4: neither an unknown key nor an agent's gets in, and the page says why."""
    sign_in(page, "tab_unknown")
    assert "unknown, revoked or expired" in page.get_by_role("alert").inner_text()
    page.get_by_label("API key").fill(team.agent.key)
    page.get_by_role("button", name="Sign in").click()
    assert "Only a person decides" in page.get_by_role("alert").inner_text()
    assert page.context.cookies() == []
    page.goto("/console/reviews")
    assert "/console/login" in page.url


def test_the_session_is_the_browsers_secret_and_ends(served, team, page):
    """The cookie is out of reach of scripts and other sites, holds no key, and is worth nothing after signing out."""
    sign_in(page, team.person.key)
    page.wait_for_url("**/console/reviews")
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/console")
    assert team.person.key not in cookie["value"] and re.fullmatch("[0-9a-f]{64}", cookie["value"])
    assert team.person.key not in page.content() and cookie["value"] not in page.content()
    assert ask(served, "GET", "/console/reviews", cookie)[0] == 200
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/console/login")
    assert page.context.cookies() == []
    status, _, headers = ask(served, "GET", "/console/reviews", cookie)
    assert status == 303 and headers["location"].startswith("/console/login")


def test_a_revoked_key_ends_its_sessions(served, team, page):
    chief = admin(served)
    made = chief.ask("POST", "/v1/keys", {"user": team.person.name}, expect=201)
    sign_in(page, made["key"])
    page.wait_for_url("**/console/reviews")
    chief.ask("DELETE", f"/v1/keys/{made['id']}")
    page.reload()
    assert "/console/login" in page.url


def test_a_form_of_another_site_does_nothing(served, team, page):
    """Without the token of the session, or from another origin, no decision is taken and nobody is signed out."""
    id = team.held("The sluice has three boards")
    sign_in(page, team.person.key, f"/console/reviews/{id}")
    token = page.locator("main input[name=form_token]").get_attribute("value")
    [cookie] = page.context.cookies()
    form = {"decision": "approve", "reason": "so", "content_hash": team.review(id)["content_hash"]}
    path = f"/console/reviews/{id}"
    for fields, headers in (
        (form, {}),
        ({**form, "form_token": ""}, {}),
        ({**form, "form_token": "00" * 32}, {}),
        ({**form, "form_token": token}, {"Origin": "https://evil.example"}),
        ({**form, "form_token": token}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        status, body, _ = ask(served, "POST", path, cookie, fields, headers)
        assert status == 403 and "nothing was done" in body, (fields, headers)
    assert ask(served, "POST", "/console/logout", cookie, {})[0] == 403
    assert ask(served, "POST", "/console/login", None, {"key": team.person.key}, {"Origin": "https://evil.example"})[0] == 403
    assert team.review(id)["state"] == "pending"
    assert ask(served, "POST", path, None, {**form, "form_token": token})[0] == 303, "without a session one is sent to sign in"
    assert team.review(id)["state"] == "pending"
    assert ask(served, "POST", path, cookie, {**form, "form_token": token})[0] == 303
    assert team.review(id)["state"] == "approved"


def test_a_decision_binds_to_what_was_shown(served, team, page):
    """GOV-6.4: a page that shows another content, or a review that is closed, changes nothing; the reason stays in the form."""
    id = team.held("The mill race is two fathoms deep")
    sign_in(page, team.person.key, f"/console/reviews/{id}")
    page.evaluate("document.querySelector('[name=content_hash]').value = '00'.repeat(32)")
    decide(page, "looks right", "Approve")
    assert "another content" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Reason").input_value() == "looks right" and team.review(id)["state"] == "pending"
    hash = team.review(id)["content_hash"]
    team.person.ask("POST", f"/v1/reviews/{id}:decide", {"decision": "reject", "reason": "elsewhere", "content_hash": hash})
    decide(page, "looks right", "Approve")
    assert "REVIEW_DECIDED" in page.get_by_role("alert").inner_text() and team.review(id)["state"] == "rejected"


def test_others_see_nothing(served, team, page):
    """Another user finds neither the review in the list nor by its address."""
    id = team.held("The lockkeeper's cottage is for sale")
    sign_in(page, Team(served).person.key)
    assert "lockkeeper" not in page.get_by_role("main").inner_text()
    page.goto(f"/console/reviews/{id}")
    assert "no such review" in page.get_by_role("alert").inner_text()


def test_every_answer_forbids_what_it_does_not_need(served, team):
    """Pages, style, refusals and redirects alike: nothing is cached, framed, sniffed or run."""
    for method, path, fields in (
        ("GET", "/console", None), ("GET", "/console/login", None), ("GET", "/console/console.css", None),
        ("GET", "/console/reviews", None), ("GET", "/console/nothing", None), ("POST", "/console/login", {"key": "tab_none"}),
    ):
        status, _, headers = ask(served, method, path, None, fields)
        assert headers["content-security-policy"] == (
            "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"), path
        assert (headers["cache-control"], headers["x-content-type-options"], headers["x-frame-options"]) == ("no-store", "nosniff", "DENY")
        assert status in (200, 303, 401, 404), (path, status)
    big = {"key": "x" * (65 << 10)}
    assert ask(served, "POST", "/console/login", None, big)[0] == 413
    sent_on = ask(served, "POST", "/console/login", None, {"key": team.person.key, "next": "//evil.example"})
    assert sent_on[0] == 303 and sent_on[2]["location"] == "/console/reviews"


def ask(served, method, path, cookie=None, fields=None, headers=None):
    """A request without a browser: (status, body, headers)."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    sent = {"Content-Type": "application/x-www-form-urlencoded"} if fields is not None else {}
    if cookie:
        sent["Cookie"] = f"{cookie['name']}={cookie['value']}"
    try:
        connection.request(method, path, urlencode(fields) if fields is not None else None, {**sent, **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read().decode(), {name.lower(): value for name, value in response.getheaders()}
    finally:
        connection.close()
