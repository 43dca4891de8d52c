/* SPDX-License-Identifier: BSD-2-Clause */
/* policy_sample.c - see policy_sample.h. */
#include <stdio.h>
#include <string.h>

#include "policy_sample.h"
#include "policy/policy_url.h"

static const char *const words[] = {
    "search", "data",  "web",   "link",  "image", "news", "video", "price", "seo",    "crawl", "spider",
    "index",  "feed",  "page",  "site",  "cloud", "ai",   "deep",  "open",  "meta",   "fast",  "blue",
    "green",  "north", "alpha", "omega", "train", "chat", "map",   "shop",  "travel", "book",
};

static const char *word(unsigned i) { return words[i % (sizeof words / sizeof *words)]; }

/* The pattern of rule i in one of six forms; every word triple occurs once in 32768 rules. */
static enum policy_field pattern(unsigned i, char *out, size_t len) {
    unsigned k = i / 20, form = i % 20;
    const char *a = word(i), *b = word(k * 7 + i), *c = word(k / 32 + 3 * i);

    if (form < 4) snprintf(out, len, "Mozilla/5.0 (compatible; %s%s-%s%u/", a, b, c, k);
    else if (form < 8) snprintf(out, len, "%s%s%sbot-%u", a, b, c, k);
    else if (form < 14) snprintf(out, len, "%u.%u.%u.0/24", 100 + k % 90, (k / 90 + form * 17) % 256, (i * 31) % 256);
    else if (form < 18) snprintf(out, len, "/%s/%s/%s-%u.", a, b, c, k);
    else if (form == 18) snprintf(out, len, "%s_%s%u=", a, b, k);
    else snprintf(out, len, "%s%u.%s.example", a, k, b);
    return form < 8     ? POLICY_USER_AGENT
           : form < 14  ? POLICY_SRC_IP_ADDR
           : form < 18  ? POLICY_URL
           : form == 18 ? POLICY_COOKIE
                        : POLICY_DST_DN;
}

policy_t *sample_policy(unsigned rules) {
    policy_t *p = policy_new();
    char text[128];
    int failed = p == NULL;

    for (unsigned i = 0; i < 11 && !failed; i++) {
        struct policy_class c = { .id = i + 1, .quantum = 100, .is_default = i == 10 };

        failed = policy_add_class(p, &c, NULL);
    }
    for (unsigned i = 0; i < rules && !failed; i++) {
        enum policy_field field = pattern(i, text, sizeof text);

        failed = policy_add_rule(p, i * 10 / rules, field, POLICY_DEFAULT_MATCH, text, strlen(text), NULL);
    }
    if (p != NULL && (failed || policy_freeze(p, NULL) != 0)) policy_free(&p);
    return p;
}

static struct policy_text text_of(const char *s) { return (struct policy_text){ s, strlen(s) }; }

struct policy_request sample_request(unsigned rules, unsigned which) {
    static const unsigned char client[4] = { 198, 51, 100, 77 };
    static _Thread_local char agent[192], cookie[512], path[256], url[POLICY_URL_ROOM(512)];
    unsigned last = rules > 0 ? rules - 1 : 0;
    char named[128] = "";
    struct policy_request r = { .src_addr = client, .src_addr_len = 4, .src_port = 50123, .dst_port = 443 };
    struct policy_url u = { .port = 0 };

    r.prot_type = text_of("h2");
    r.dst_dn = text_of("www.shop.example.org");
    r.user_agent = text_of("Mozilla/5.0 (Windows NT 10.0; Win64; x64) "
                           "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36");
    u.scheme = text_of("https");
    u.host = text_of("www.shop.example.org");
    u.target = text_of("/catalogue/garden/tools/spades-and-forks/item-48213.html?colour=green&size=large&page=3");
    snprintf(cookie, sizeof cookie,
             "_ga=GA1.2.1234567890.1700000000; consent=yes; basket=9f8e7d6c5b4a3f2e1d0c; lang=en-GB; theme=dark; "
             "session=4f1c9a7be2d84c6f9b3e0a5d7c8f6e1b2a3d4c5b");
    if (which == 1) {
        while (last > 0 && last % 20 >= 8) last--;
        pattern(last, named, sizeof named);
        snprintf(agent, sizeof agent, "%s1.0; +http://crawler.example/about)", named);
        r.user_agent = text_of(agent);
    } else if (which == 2) {
        while (last > 0 && last % 20 != 18) last--;
        if (pattern(last, named, sizeof named) == POLICY_COOKIE)
            snprintf(cookie + strlen(cookie), sizeof cookie - strlen(cookie), "; %s1", named);
    }
    if (which == 3) {
        while (last > 0 && (last % 20 < 14 || last % 20 > 17)) last--;
        if (pattern(last, named, sizeof named) == POLICY_URL) {
            snprintf(path, sizeof path, "/archive/2024%shtml?view=full", named);
            u.target = text_of(path);
        }
    }
    r.cookie = text_of(cookie);
    r.url = policy_url_text(&u, url, sizeof url);
    return r;
}
