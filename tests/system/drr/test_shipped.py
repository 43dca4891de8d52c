# SPDX-License-Identifier: BSD-2-Clause
"""What is shipped: the policies name the same bots, no browser is one of them, and people are served better than without the module."""

import json
import pathlib
import re
import subprocess

import pytest

from lab import lab
from lab.load import load
from lab.packaged import Packaged

TOP = pathlib.Path(lab.ROOT)
POLICIES = ("debian/policy.xml", "etc/examples/policy.xml", "etc/policy-example.xml")

# None of these has a rule of its own.
BOTS = (
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)", "Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)",
    "Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
    "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)", "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", "ia_archiver (+http://www.alexa.com/site/help/webmasters; crawler@alexa.com)",
    "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)", "Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Screaming Frog SEO Spider/19.2", "Mozilla/5.0 (compatible; SomeNewThing/0.1; +https://new.example/about)", "magpie-crawler/1.1 (U; Linux amd64; en-GB)", "DuckDuckGo-Favicons-Bot/1.0",
    "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)", "TelegramBot (like TwitterBot)", "crawler", "bots", "BOT/1.0", "Scrapy/2.11.0 (+https://scrapy.org)",
    "python-requests/2.31.0", "Python-urllib/3.11", "Python/3.11 aiohttp/3.9.1", "curl/8.5.0", "Wget/1.21.4", "Go-http-client/2.0", "Java/17.0.9", "libwww-perl/6.72",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)", "anthropic-ai", "Mediapartners-Google", "GoogleOther",
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36 (compatible; GoogleOther)",
    "Apache-HttpClient/4.5.14 (Java/17.0.9)", "axios/1.6.2", "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
)
# People's, some of whose words look like a bot's.
BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36", "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/489.0;FBBV/1;FBDV/iPhone14,5;FBMD/iPhone]",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/343.0.695551749 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 9; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 8.1.0; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.101 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 11; Cubot) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/110.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 13; SM-S901B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 Chrome/115.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 YaBrowser/24.10.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15 Ddg/18.0",
    "Mozilla/5.0 (Linux; Android 11; KFTRWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/119.4.1 like Chrome/119.0.6045.193 Safari/537.36",
    "Mozilla/5.0 (X11; U; Linux x86_64; en) Gecko/20100101 SpiderMonkey/1.8", "Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18", "Lynx/2.9.0 libwww-FM/2.14 SSL-MM/1.4.1",
    "w3m/0.5.3+git20230121", "ELinks/0.16.1.1 (textmode; Linux)", "Links (2.29; Linux x86_64)", "okhttp/4.12.0", "MyBank/5.1 CFNetwork/1568.200.51 Darwin/24.1.0", "Javelin/3.0", "Curlew/1.0", "",
    "Mozilla/5.0 (compatible; Robotics Club Kiosk) Gecko/20100101 Firefox/115.0", "Mozilla/5.0 (Linux; Android 14; Botanist Edition) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36",
)


def catch_all(policy):
    return re.findall(r'<user_agent match="regex">([^<]*\|crawl\|[^<]*)</user_agent>', (TOP / policy).read_text())


def test_shipped_policies_have_one_rule_for_unlisted_bots():
    assert len({tuple(catch_all(policy)) for policy in POLICIES}) == 1 and len(catch_all(POLICIES[0])) == 1


def class_of(policy, agent):
    said = subprocess.run([lab.program("policy/fairgate-policy"), "explain", TOP / policy, "--header", f"User-Agent: {agent}", "--json"], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)["answer"]["class"]


@pytest.mark.parametrize("policy", POLICIES)
def test_agent_that_calls_itself_a_bot_is_in_the_lightest_class(policy):
    lightest = min(int(n) for n in re.findall(r'quantum="(\d+)"', (TOP / policy).read_text()))
    told = {agent: class_of(policy, agent) for agent in BOTS}
    assert {agent: c for agent, c in told.items() if (c["name"], c["quantum"]) != ("ai", lightest)} == {}


@pytest.mark.parametrize("policy", POLICIES)
def test_browser_is_in_no_class_of_bots(policy):
    told = {agent: class_of(policy, agent)["name"] for agent in BROWSERS}
    assert {agent: name for agent, name in told.items() if name in ("ai", "search")} == {}


@pytest.mark.parametrize("policy", POLICIES)
def test_search_engine_is_above_the_rule_for_unlisted_bots(policy):
    assert class_of(policy, "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")["name"] == ("ai" if "crawler>googlebot" in (TOP / policy).read_text() else "search")


def test_package_observes_until_the_administrator_turns_it_on():
    said = (TOP / "debian/apache2/qos_drr.conf").read_text()
    assert re.findall(r"^QosEngine (\w+)$", said, re.M) == ["observe"]


# ---- with the module off, and on

@pytest.mark.alone
@pytest.mark.measures
def test_people_beside_unlisted_crawlers_are_served_sooner_than_with_the_module_off_and_no_crawler_is(parts):
    """Forty crawlers with real agents at four workers of 200 ms, as installed: people's p95 is half of that without the module, and each crawler gets fewer pages, later."""
    people = {"name": "people", "clients": 4, "think": 300, "header": f"User-Agent: {BROWSERS[0]}", "url": "/size/4096"}
    crawlers = [{"name": f"crawler{i}", "clients": 10, "header": f"User-Agent: {agent}", "url": "/size/4096", "source": f"127.0.2.{i + 1}", "retry": 5000} for i, agent in enumerate(BOTS[:4])]
    had, names = {}, [c["name"] for c in crawlers]
    with lab.Origin(parts.lab, workers=4, delay_ms=200) as origin:
        for engine in ("Off", "On"):
            with Packaged(parts.lab, engine, proxy=origin.url, more="QosWindow 4\n") as g:
                had[engine] = load(g.address, [people, *crawlers], seconds=16, warmup=6)["classes"]
    late = {engine: classes["people"]["latency_ms"]["p95"] for engine, classes in had.items()}
    got = {engine: [classes[name]["status"].get("200", 0) for name in names] for engine, classes in had.items()}
    waited = {(engine, of): [classes[name]["latency_ms"][of] for name in names] for engine, classes in had.items() for of in ("mean", "p95")}
    print(late, got, waited)
    assert late["On"] <= 0.5 * late["Off"], late
    assert had["On"]["people"]["status"] == {"200": had["On"]["people"]["requests"]}
    assert all(on <= 1.02 * off for on, off in zip(got["On"], got["Off"])), got
    assert all(on >= off for of in ("mean", "p95") for on, off in zip(waited["On", of], waited["Off", of])), waited
