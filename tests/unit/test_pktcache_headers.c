/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_headers.c - what is kept of what servers and applications send today, with their headers. */
#include "pktcache/pk_asks.h"
#include "pktcache/pk_http.h"
#include "run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests: what programs ask with, apart from the name of what they want. */
#define APT  "Host: a\r\nUser-Agent: Debian APT-HTTP/1.3 (2.6.1)\r\n"
#define CURL "Host: a\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
#define PIP                                                                                                            \
    "Host: a\r\nUser-Agent: pip/23.0.1 {\"ci\":null}\r\nAccept-Encoding: identity\r\nAccept: */*\r\nConnection: "      \
    "keep-alive\r\n"
#define DOCKER                                                                                                         \
    "Host: a\r\nUser-Agent: docker/20.10.24 go/go1.19.8\r\nAccept-Encoding: identity\r\nConnection: close\r\n"
#define BROWSER                                                                                                        \
    "Host: a\r\nConnection: keep-alive\r\nsec-ch-ua: \"Chromium\";v=\"126\"\r\nsec-ch-ua-mobile: ?0\r\nDNT: 1\r\n"     \
    "Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0\r\nAccept: text/html,*/*;q=0.8\r\nSec-Fetch-Site: "       \
    "none\r\n"                                                                                                         \
    "Accept-Encoding: gzip, deflate\r\nAccept-Language: de-AT,de;q=0.9\r\nPriority: u=0, i\r\n"
#define PLAYER                                                                                                         \
    "Host: a\r\nOrigin: http://b\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"           \
    "Connection: keep-alive\r\n"

#define GUEST  BROWSER
#define MEMBER BROWSER "Cookie: session=8f14e45fceea167a\r\n"
#define BEARER "Authorization: Bearer eyJhbGciOiJSUzI1NiJ9\r\n"

static const struct {
    const char *name;
    bool keep;
    const char *ask, *status, *header;
} sets[] = {
    /* package mirrors */
    { "nginx, a file", true, APT, "200 OK",
      "Server: nginx/1.22.1\r\nContent-Type: application/octet-stream\r\nLast-Modified: Sat, 10 Jun 2023 08:10:00 "
      "GMT\r\n"
      "Connection: keep-alive\r\nETag: \"64842f68-1388000\"\r\nAccept-Ranges: bytes\r\n" },
    { "nginx, the rest of a file", true, APT "Range: bytes=5-\r\nIf-Range: Sat, 10 Jun 2023 08:10:00 GMT\r\n",
      "206 Partial Content",
      "Server: nginx/1.22.1\r\nContent-Type: application/octet-stream\r\nLast-Modified: Sat, 10 Jun 2023 08:10:00 "
      "GMT\r\n"
      "Connection: keep-alive\r\nETag: \"64842f68-1388000\"\r\nContent-Range: bytes 5-20/21\r\n" },
    { "httpd, a file", true, APT, "200 OK",
      "Server: Apache/2.4.57 (Debian)\r\nLast-Modified: Sat, 10 Jun 2023 08:10:00 GMT\r\nETag: \"1388000-5fdc5a2b\"\r\n"
      "Accept-Ranges: bytes\r\nKeep-Alive: timeout=5, max=100\r\nConnection: Keep-Alive\r\n"
      "Content-Type: application/vnd.debian.binary-package\r\n" },
    { "httpd, a part of a compressed page of a folder", true, CURL "Range: bytes=5-20\r\n", "206 Partial Content",
      "Server: Apache/2.4.57 (Debian)\r\nLast-Modified: Sat, 10 Jun 2023 08:10:00 GMT\r\nETag: \"15-5fdc5a2b\"\r\n"
      "Accept-Ranges: bytes\r\nVary: Accept-Encoding\r\nContent-Range: bytes 5-20/21\r\n" },
    { "Debian's network of mirrors, a package", true, APT, "200 OK",
      "Connection: keep-alive\r\nServer: Apache\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Last-Modified: Sat, 10 Jun 2023 08:10:00 GMT\r\nETag: \"f72e-5fdc5a2b\"\r\nX-Clacks-Overhead: GNU Terry "
      "Pratchett\r\n"
      "Cache-Control: public, max-age=2592000\r\nContent-Type: application/vnd.debian.binary-package\r\n"
      "Via: 1.1 varnish, 1.1 varnish\r\nAccept-Ranges: bytes\r\nAge: 81346\r\nX-Cache: HIT, HIT\r\n" },
    { "Debian's network of mirrors, what is new", true, APT "Cache-Control: max-age=0\r\n", "200 OK",
      "Server: Apache\r\nLast-Modified: Sat, 10 Jun 2023 08:10:00 GMT\r\nCache-Control: public, max-age=120\r\n"
      "Via: 1.1 varnish\r\nAge: 7\r\nX-Served-By: cache-vie6358-VIE\r\nVary: Accept-Encoding\r\n" },
    { "Ubuntu's archive", true, APT, "200 OK",
      "Server: Apache/2.4.29 (Ubuntu)\r\nLast-Modified: Thu, 21 Apr 2022 17:16:08 GMT\r\nETag: \"1f6a-5dd2d6b4\"\r\n"
      "Accept-Ranges: bytes\r\nCache-Control: max-age=604800, s-maxage=3600, proxy-revalidate\r\n" },
    { "a bucket of objects", true, CURL, "200 OK",
      "x-amz-id-2: uXb7\r\nx-amz-request-id: 0A49CE4060975EAC\r\nLast-Modified: Wed, 12 Oct 2022 17:50:00 GMT\r\n"
      "ETag: \"fba9dede5f27731c9771645a39863328\"\r\nAccept-Ranges: bytes\r\nServer: AmazonS3\r\n" },
    { "a bucket, with a signature in the header", false, CURL "Authorization: AWS4-HMAC-SHA256 Credential=a\r\n",
      "200 OK", "Last-Modified: Wed, 12 Oct 2022 17:50:00 GMT\r\nServer: AmazonS3\r\n" },
    { "files of a release, by a signed name", true, CURL, "200 OK",
      "Content-Type: application/octet-stream\r\nLast-Modified: Tue, 11 Jun 2024 12:00:00 GMT\r\nETag: \"0x8DC8A0\"\r\n"
      "Server: Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0\r\nx-ms-version: 2020-10-02\r\nAccept-Ranges: bytes\r\n"
      "Via: 1.1 varnish\r\nAge: 1025\r\nX-Cache: HIT\r\n" },
    { "wheels", true, PIP, "200 OK",
      "Last-Modified: Tue, 07 May 2024 12:00:00 GMT\r\nETag: \"0a1b\"\r\n"
      "Cache-Control: max-age=365000000, immutable, public\r\nAccept-Ranges: bytes\r\nX-PyPi-File: a\r\n"
      "X-Robots-Tag: noindex\r\n" },
    { "the list of a project's wheels", true, PIP "Cache-Control: max-age=0\r\n", "200 OK",
      "Cache-Control: max-age=600, public\r\nVary: Accept-Encoding, Accept\r\nETag: \"xyz\"\r\nX-PyPI-Last-Serial: "
      "1\r\n" },
    { "crates and modules by a proxy that says nothing but when", true, CURL, "200 OK",
      "Cache-Control: public, max-age=10800\r\nVary: Accept-Encoding\r\nX-Frame-Options: DENY\r\n" },

    /* containers */
    { "a layer, of a registry without names", true, DOCKER, "200 OK",
      "Accept-Ranges: bytes\r\nCache-Control: max-age=31536000\r\nContent-Type: application/octet-stream\r\n"
      "Docker-Content-Digest: sha256:258f\r\nDocker-Distribution-Api-Version: registry/2.0\r\nEtag: "
      "\"sha256:258f\"\r\n" },
    { "a part of a layer", true, DOCKER "Range: bytes=5-20\r\n", "206 Partial Content",
      "Accept-Ranges: bytes\r\nCache-Control: max-age=31536000\r\nContent-Range: bytes 5-20/25471156\r\n"
      "Docker-Content-Digest: sha256:258f\r\nEtag: \"sha256:258f\"\r\n" },
    { "a layer for who has a token", false, DOCKER BEARER, "200 OK",
      "Cache-Control: max-age=31536000\r\nDocker-Content-Digest: sha256:258f\r\n" },
    { "a layer for everybody who has a token", true, DOCKER BEARER, "200 OK",
      "Cache-Control: public, max-age=14400, s-maxage=14400\r\nVary: Accept-Encoding\r\nAge: 92\r\n" },
    { "an old index of a registry", false, DOCKER, "200 OK",
      "Set-Cookie: __cfduid=de2e41a26; HttpOnly\r\nPragma: no-cache\r\nCache-Control: public, max-age=31536000\r\n" },

    /* video and software */
    { "a segment, nginx for any page", true, PLAYER, "200 OK",
      "Server: nginx\r\nContent-Type: video/mp2t\r\nLast-Modified: Fri, 10 Dec 2021 20:50:19 GMT\r\nETag: "
      "\"61b3bd9b-5\"\r\n"
      "Access-Control-Allow-Origin: *\r\nCache-Control: max-age=3600\r\nAccept-Ranges: bytes\r\n" },
    { "a segment, for the page that asks", true, PLAYER, "200 OK",
      "Content-Type: video/MP2T\r\nAccess-Control-Allow-Origin: http://b\r\nAccess-Control-Allow-Credentials: true\r\n"
      "Vary: Origin, Access-Control-Request-Method\r\nCache-Control: public, max-age=86400\r\n" },
    { "a segment of a network that forbids to old caches", false, PLAYER, "200 OK",
      "Last-Modified: Fri, 10 Dec 2021 20:50:19 GMT\r\nPragma: no-cache\r\nCache-Control: max-age=603042\r\n" },
    { "a list of segments that changes", false, PLAYER, "200 OK",
      "Content-Type: application/vnd.apple.mpegurl\r\nCache-Control: no-cache\r\nAccess-Control-Allow-Origin: *\r\n" },
    { "a film by ranges", true, PLAYER "Range: bytes=5-\r\n", "206 Partial Content",
      "Content-Type: video/mp4\r\nLast-Modified: Fri, 10 Dec 2021 20:50:19 GMT\r\nContent-Range: bytes 5-20/21\r\n"
      "Cache-Control: max-age=604800\r\nExpires: Fri, 17 Dec 2021 20:51:08 GMT\r\n" },
    { "two parts of a film", false, PLAYER "Range: bytes=5-20,30-40\r\n", "206 Partial Content",
      "Content-Type: multipart/byteranges; boundary=3d6b6a416f9b5\r\nLast-Modified: Fri, 10 Dec 2021 20:50:19 "
      "GMT\r\n" },
    { "updates by ranges", true, "Host: a\r\nRange: bytes=5-20\r\nUser-Agent: Microsoft-Delivery-Optimization/10.0\r\n",
      "206 Partial Content",
      "Cache-Control: public,max-age=17280000\r\nLast-Modified: Tue, 11 Jun 2024 12:00:00 GMT\r\nETag: \"G1zN\"\r\n"
      "Content-Range: bytes 5-20/25471156\r\nX-CID: 7\r\nX-CCC: AT\r\n" },

    /* pages and what belongs to them */
    { "a style sheet of a site made of files", true, GUEST, "200 OK",
      "Server: GitHub.com\r\nLast-Modified: Mon, 10 Jun 2024 08:00:00 GMT\r\nAccess-Control-Allow-Origin: *\r\n"
      "expires: Mon, 10 Jun 2024 08:10:00 GMT\r\nCache-Control: max-age=600\r\nVary: Accept-Encoding\r\n" },
    { "a site made of files that is asked for each time", true, GUEST, "200 OK",
      "Cache-Control: public, max-age=0, must-revalidate\r\nEtag: \"4f9-ssl\"\r\nServer: Netlify\r\nAge: 1\r\n" },
    { "Express, a file", true, MEMBER, "200 OK",
      "X-Powered-By: Express\r\nAccept-Ranges: bytes\r\nCache-Control: public, max-age=0\r\n"
      "Last-Modified: Mon, 10 Jun 2024 08:00:00 GMT\r\nETag: W/\"5-18f\"\r\n" },
    { "Express, what a program says", false, GUEST, "200 OK", "X-Powered-By: Express\r\nETag: W/\"5-18f\"\r\n" },
    { "WordPress, a page", false, GUEST, "200 OK",
      "Server: Apache\r\nX-Powered-By: PHP/8.2.7\r\nLink: <http://a/wp-json/>; rel=\"https://api.w.org/\"\r\n" },
    { "WordPress, a page out of a cache of its own", true, GUEST, "200 OK",
      "Vary: Accept-Encoding, Cookie\r\nCache-Control: max-age=3, must-revalidate\r\n"
      "Last-Modified: Mon, 10 Jun 2024 08:00:00 GMT\r\nContent-Encoding: gzip\r\n" },
    { "the same, for a member", false, MEMBER, "200 OK",
      "Vary: Accept-Encoding, Cookie\r\nCache-Control: max-age=3, must-revalidate\r\n" },
    { "WordPress, for a member", false, MEMBER, "200 OK",
      "Expires: Wed, 11 Jan 1984 05:00:00 GMT\r\nCache-Control: no-cache, must-revalidate, max-age=0, no-store, "
      "private\r\n" },
    { "WordPress before 6.3, for a member", false, MEMBER, "200 OK",
      "Expires: Wed, 11 Jan 1984 05:00:00 GMT\r\nCache-Control: no-cache, must-revalidate, max-age=0\r\n" },
    { "Drupal, for guests", true, GUEST, "200 OK",
      "Cache-Control: max-age=21600, public\r\nVary: Cookie\r\nExpires: Sun, 19 Nov 1978 05:00:00 GMT\r\n"
      "Last-Modified: Mon, 10 Jun 2024 08:00:00 GMT\r\nX-Drupal-Cache: HIT\r\nX-Generator: Drupal 10\r\n" },
    { "Drupal, for guests, and one of them is none", false, MEMBER, "200 OK",
      "Cache-Control: max-age=21600, public\r\nVary: Cookie\r\nX-Generator: Drupal 10\r\n" },
    { "Drupal, for a member", false, MEMBER, "200 OK",
      "Cache-Control: must-revalidate, no-cache, private\r\nExpires: Sun, 19 Nov 1978 05:00:00 GMT\r\n" },
    { "DokuWiki, a script", true, GUEST, "200 OK",
      "Vary: Cookie\r\nCache-Control: public, max-age=3600\r\nPragma: public\r\n"
      "Last-Modified: Mon, 10 Jun 2024 08:00:00 GMT\r\nContent-Type: application/javascript; charset=utf-8\r\n" },
    { "DokuWiki, a script, for who has been there before", false, MEMBER, "200 OK",
      "Vary: Cookie\r\nCache-Control: public, max-age=3600\r\nPragma: public\r\n" },
    { "DokuWiki, a page", false, GUEST, "200 OK",
      "Vary: Cookie\r\nSet-Cookie: DokuWiki=8s; path=/; HttpOnly\r\nExpires: Thu, 19 Nov 1981 08:52:00 GMT\r\n"
      "Cache-Control: no-store, no-cache, must-revalidate\r\nPragma: no-cache\r\n" },
    { "MediaWiki, a page", false, GUEST, "200 OK",
      "Cache-Control: private, s-maxage=0, max-age=0, must-revalidate\r\nVary: Accept-Encoding,Cookie,Authorization\r\n"
      "Last-Modified: Fri, 17 May 2024 03:36:54 GMT\r\n" },
    { "MediaWiki, scripts", true, MEMBER, "200 OK",
      "Cache-Control: public, max-age=2592000, s-maxage=2592000\r\nExpires: Sun, 16 Jun 2024 03:36:54 GMT\r\n"
      "Etag: W/\"1q2w\"\r\nVary: Accept-Encoding\r\n" },
    { "Moodle, what a course holds", false, MEMBER, "200 OK",
      "Cache-Control: private, max-age=21600, no-transform\r\nLast-Modified: Fri, 17 May 2024 03:36:54 GMT\r\n" },
    { "Moodle, a script", true, MEMBER, "200 OK",
      "Cache-Control: public, max-age=5184000, immutable\r\nLast-Modified: Fri, 17 May 2024 03:36:54 GMT\r\nPragma: "
      "\r\n" },
    { "Nextcloud, a file", false, MEMBER, "200 OK",
      "Cache-Control: private, must-revalidate\r\nLast-Modified: Fri, 17 May 2024 03:36:54 GMT\r\nPragma: public\r\n" },
    { "WebDAV with a password", false, CURL "Authorization: Basic YTpi\r\n", "200 OK",
      "Last-Modified: Fri, 17 May 2024 03:36:54 GMT\r\nETag: \"5\"\r\n" },
    { "Rails, a page", false, MEMBER, "200 OK",
      "Cache-Control: max-age=0, private, must-revalidate\r\nETag: W/\"5\"\r\n" },
    { "Django, a page out of its cache", true, GUEST, "200 OK",
      "Cache-Control: max-age=600\r\nExpires: Fri, 17 May 2024 03:46:54 GMT\r\nVary: Accept-Language, Cookie\r\n" },
    { "an interface for programs, by keys", false, CURL "X-Api-Key: 5f4dcc3b\r\n", "200 OK",
      "Cache-Control: max-age=60\r\nVary: X-Api-Key, Accept\r\nContent-Type: application/json\r\n" },
    { "an interface for programs, by what a proxy in front of it says", false, BROWSER "X-Forwarded-User: ann\r\n",
      "200 OK", "Cache-Control: max-age=60\r\nVary: X-Forwarded-User\r\n" },
    { "a page by the country of who asks", false, BROWSER "X-Forwarded-For: 192.0.2.7\r\n", "200 OK",
      "Cache-Control: public, max-age=60\r\nVary: X-Country\r\n" },
    { "a page of a program that is drawn at the server", true, GUEST "RSC: 1\r\n", "200 OK",
      "Cache-Control: s-maxage=31536000, stale-while-revalidate\r\nVary: RSC, Next-Router-State-Tree, "
      "Accept-Encoding\r\n" },
};

/* A body of 16 bytes, after a response that says it in full or in part. */
START_TEST(test_set) {
    char text[2000];
    struct eeod_marks marks;
    struct pk_http h;
    size_t n = (size_t)snprintf(text, sizeof text, "GET /x HTTP/1.1\r\n%s\r\n", sets[_i].ask);

    ck_assert_ptr_null(eeod_marks_set(&marks, "<!--EEOD-->", "<!--/EEOD-->"));
    pk_http_begin(&h);
    pk_http_ask(&h, text, n);
    n = (size_t)snprintf(text, sizeof text,
                         "HTTP/1.1 %s\r\nDate: Sat, 28 Nov 2026 02:06:02 GMT\r\n%sContent-Length: 16\r\n\r\n",
                         sets[_i].status, sets[_i].header);
    ck_assert_uint_lt(n, sizeof text);
    ck_assert(!pk_http_answer(&h, &marks, text, n, NULL));
    bool kept = pk_http_answer(&h, &marks, "0123456789abcdef", 16, NULL);
    ck_assert_msg(kept == sets[_i].keep && h.ended, "%s: %s", sets[_i].name, kept ? "kept" : "not kept");
}
END_TEST

START_TEST(test_how) {
    static const char *const how[] = { "Accept",
                                       "accept-encoding",
                                       "Access-Control-Request-Headers",
                                       "Cache-Control",
                                       "DNT",
                                       "Downlink",
                                       "DPR",
                                       "HOST",
                                       "If-Range",
                                       "RSC",
                                       "RTT",
                                       "Sec-CH-UA-Platform",
                                       "sec-fetch-dest",
                                       "User-Agent",
                                       "X-Forwarded-Proto",
                                       "X-Forwarded-SSL",
                                       "X-Requested-With" };
    static const char *const whom[] = {
        "",          "Cookie",      "Cookie2",      "Authorization",    "*",
        "X-User",    "Remote-User", "From",         "X-Forwarded-User", "X-Forwarded-For",
        "Forwarded", "X-Real-IP",   "X-CSRF-Token", "X-Api-Key",        "Referer",
        "Accep",     "Accepts",     "Hos",          "Sec-CH-",          "X-Forwarded"
    };
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        ck_assert_msg(pk_asks_how(how[i], strlen(how[i])), "%s", how[i]);
    for (size_t i = 0; i < sizeof whom / sizeof *whom; i++)
        ck_assert_msg(!pk_asks_how(whom[i], strlen(whom[i])), "%s", whom[i]);
    ck_assert(pk_asks_how("Hosts", 4));
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: headers");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, test_set, 0, sizeof sets / sizeof *sets);
    tcase_add_test(t, test_how);
    suite_add_tcase(s, t);
    return run_suite(s);
}
