/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_http.c - which segments of a connection may be kept. */
#include "pktcache/pk_http.h"
#include "run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN          "<!--EEOD-->"
#define CLOSE         "<!--/EEOD-->"
#define GET           "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define OK(headers)   "HTTP/1.1 200 OK\r\n" headers "\r\n"
#define PART(headers) "HTTP/1.1 206 Part\r\nCache-Control: public\r\n" headers "\r\n"

/*
 * A conversation: segments, "> " from the client, "+ " from the server and to be kept, "- " and not. "!" behind a
 * segment of the server's: it ends a response.
 */
static const struct {
    const char *name;
    const char *segment[16];
} talks[] = {
    { "what says nothing is not kept", { "> " GET, "- " OK("Content-Length: 4\r\n"), "- abcd" } },
    { "max-age",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nContent-Length: 8\r\n"), "+ abcd", "+!efgh", "> " GET,
        "- " OK("Content-Length: 4\r\n"), "-!abcd" } },
    { "public", { "> " GET, "- " OK("cache-control: Public\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "s-maxage", { "> " GET, "- " OK("Cache-Control: foo, s-maxage=1\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "Last-Modified", { "> " GET, "- " OK("Last-Modified: yes\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "Last-Modified and Expires",
      { "> " GET, "- " OK("Last-Modified: yes\r\nExpires: 0\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "max-age=0", { "> " GET, "- " OK("Cache-Control: max-age=0\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "private", { "> " GET, "- " OK("Cache-Control: max-age=9, private\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "private in part",
      { "> " GET, "- " OK("Cache-Control: max-age=9, private=\"x\"\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "no-store in a second line",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nCache-Control: no-store\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "no-cache", { "> " GET, "- " OK("Cache-Control: public, no-cache\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "max-age=0 and public",
      { "> " GET, "- " OK("Cache-Control: public, max-age=0\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "max-age=0 and s-maxage",
      { "> " GET, "- " OK("Cache-Control: max-age=0, s-maxage=9\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "s-maxage=0",
      { "> " GET, "- " OK("Cache-Control: public, max-age=9, s-maxage=0\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "max-age=0 and Last-Modified",
      { "> " GET, "- " OK("Cache-Control: max-age=0\r\nLast-Modified: x\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Pragma and max-age",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nPragma: no-cache\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Pragma and public",
      { "> " GET, "- " OK("Pragma: no-cache\r\nCache-Control: public, max-age=9\r\nContent-Length: 4\r\n"),
        "+!abcd" } },
    { "Pragma: public",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nPragma: public\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "Pragma: private",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nPragma: private\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Pragma", { "> " GET, "- " OK("Last-Modified: x\r\nPragma: no-cache\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Set-Cookie",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Set-Cookie2",
      { "> " GET, "- " OK("Cache-Control: max-age=9\r\nSet-Cookie2: a=b\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary: Cookie, and there is one",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n",
        "- " OK("Cache-Control: public\r\nVary: Accept, cookie\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary: Cookie, and there is an old one",
      { "> GET / HTTP/1.1\r\nCookie2: a\r\n\r\n",
        "- " OK("Cache-Control: public\r\nVary: Cookie\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary: Cookie, and there is none",
      { "> GET / HTTP/1.1\r\nX-User: a\r\n\r\n",
        "- " OK("Cache-Control: max-age=9\r\nVary: Accept, cookie\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "Vary: Cookie, there is none, and one is set",
      { "> " GET, "- " OK("Cache-Control: public\r\nVary: Cookie\r\nSet-Cookie: a\r\nContent-Length: 4\r\n"),
        "-!abcd" } },
    { "Vary: Cookie asks for more than Last-Modified",
      { "> " GET, "- " OK("Last-Modified: x\r\nVary: Cookie\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary: Authorization, and there is one",
      { "> GET / HTTP/1.1\r\nAuthorization: a\r\n\r\n",
        "- " OK("Cache-Control: public\r\nVary: Authorization\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary: Authorization, and there was one",
      { "> GET / HTTP/1.1\r\nAuthorization: a\r\n\r\n", "-!" OK("Content-Length: 0\r\n"), "> " GET,
        "- " OK("Cache-Control: public\r\nVary: Authorization\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary: Authorization, and there is none",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n",
        "- " OK("Cache-Control: max-age=9\r\nVary: Authorization\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "Vary: *", { "> " GET, "- " OK("Cache-Control: public\r\nVary: *\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary by what names somebody, who is named",
      { "> GET / HTTP/1.1\r\nX-User: a\r\n\r\n",
        "- " OK("Cache-Control: public\r\nVary: X-User\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary by what names somebody, who may have another name",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n",
        "- " OK("Cache-Control: public\r\nVary: X-User\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Vary by what names somebody, and nobody is named",
      { "> GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\nsec-ch-ua: c\r\nAccept: d\r\n\r\n",
        "- " OK("Cache-Control: max-age=9\r\nVary: X-User\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "Vary by a name that is nearly another one",
      { "> GET / HTTP/1.1\r\nHosts: a\r\n\r\n", "- " OK("Cache-Control: public\r\nVary: Hos\r\nContent-Length: 4\r\n"),
        "-!abcd" } },
    { "Vary by how to answer",
      { "> GET / HTTP/1.1\r\nCookie: a\r\nX-User: b\r\n\r\n",
        "- " OK("Cache-Control: max-age=9\r\nVary: Accept-Encoding,accept, User-Agent\r\nVary: Origin, Sec-Fetch-Dest, "
                "X-Forwarded-Proto\r\nContent-Length: 4\r\n"),
        "+!abcd" } },
    { "Vary: Accept-Encoding and Last-Modified",
      { "> " GET, "- " OK("Last-Modified: x\r\nVary: Accept-Encoding\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "a Cookie asks for more than Last-Modified",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n", "- " OK("Last-Modified: x\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "a Cookie and max-age",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n", "- " OK("Cache-Control: max-age=9\r\nContent-Length: 4\r\n"),
        "+!abcd" } },
    { "Authorization and max-age",
      { "> GET / HTTP/1.1\r\nAuthorization: a\r\n\r\n", "- " OK("Cache-Control: max-age=9\r\nContent-Length: 4\r\n"),
        "-!abcd" } },
    { "Authorization and public: who else got it is not to be seen",
      { "> GET / HTTP/1.1\r\nAuthorization: a\r\n\r\n", "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"),
        "-!abcd" } },
    { "POST",
      { "> POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"),
        "-!abcd" } },
    { "404", { "> " GET, "- HTTP/1.1 404 No\r\nCache-Control: public\r\nContent-Length: 4\r\n\r\n", "-!abcd" } },
    { "206 of nothing", { "> " GET, "- " PART("Content-Length: 4\r\n"), "-!abcd" } },
    { "206", { "> " GET, "- " PART("Content-Length: 4\r\nContent-Range: bytes 7-10/99\r\n"), "+!abcd" } },
    { "206 to the end", { "> " GET, "- " PART("content-range: Bytes 7-10/11\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "206 of nobody knows how much",
      { "> " GET, "- " PART("Content-Range: bytes 7-10/*\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "206 of what must not be kept",
      { "> " GET,
        "- HTTP/1.1 206 Part\r\nContent-Range: bytes 7-10/99\r\nContent-Length: 4\r\nCache-Control: private\r\n\r\n",
        "-!abcd" } },
    { "206 to a Cookie",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n",
        "- HTTP/1.1 206 Part\r\nContent-Range: bytes 7-10/99\r\nContent-Length: 4\r\nLast-Modified: x\r\n\r\n",
        "-!abcd" } },
    { "206 in chunks",
      { "> " GET, "- " PART("Content-Range: bytes 7-10/99\r\nTransfer-Encoding: chunked\r\n"),
        "-!4\r\nabcd\r\n0\r\n\r\n" } },
    { "a range of a 200 says nothing",
      { "> " GET, "- " OK("Content-Range: bytes 7-10/99\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "a request that was not seen", { "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "HEAD has no body",
      { "> HEAD / HTTP/1.1\r\n\r\n", "-!" OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "> " GET,
        "-!" OK("Content-Length: 0\r\n") } },
    { "304 has no body",
      { "> " GET, "-!HTTP/1.1 304 Same\r\nContent-Length: 4\r\n\r\n", "> " GET,
        "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "100 comes before",
      { "> " GET, "-!HTTP/1.1 100 Go on\r\n\r\n", "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"),
        "+!abcd" } },
    { "a pipeline",
      { "> " GET GET, "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "-!abcd" OK("Content-Length: 0\r\n"),
        "> " GET } },
    { "header and body in one segment",
      { "> " GET, "- " OK("Cache-Control: public\r\nContent-Length: 8\r\n") "abcd", "+!efgh" } },
    { "the header in pieces",
      { "> G", "> ET / HTTP/1.1\r", "> \n\r\n", "- HTTP/1.", "- 1 200 OK\r\nCache-Con",
        "- trol: public\r\nContent-Length: 4\r\n\r", "- \n", "+!abcd" } },
    { "chunks",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "+ 4\r\nabcd", "+ \r\n1",
        "- 0;x=y\r\n0123456789abcdef\r\n", "+!0\r\n\r\n", "> " GET, "-!" OK("Content-Length: 0\r\n") } },
    { "what a chunk's extension says is no body",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "+ 4\r\nabcd\r\n",
        "- 4;of=ab\r\nabcd\r\n", "- 4;of=ab", "- ab\r\nabcd", "+ \r\n4\r\nabcd\r\n", "- 0\r\nX: me\r", "-!\n\r\n" } },
    { "trailers",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "- 1\r\na\r\n0\r\nX: y\r\n",
        "+!\r\n" } },
    { "until the end", { "> " GET, "- " OK("Cache-Control: public\r\n"), "+ abcd", "+ efgh" } },
    { "a blank before the colon", { "> " GET, "- " OK("Cache-Control: public\r\nContent-Length : 4\r\n"), "- abcd" } },
    { "a blank before a request's colon",
      { "> GET / HTTP/1.1\r\nCookie : a\r\n\r\n", "- " OK("Last-Modified: x\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a line without a colon", { "> " GET, "- " OK("Cache-Control: public\r\nContent-Length\r\n"), "- abcd" } },
    { "no-store in the request",
      { "> GET / HTTP/1.1\r\nCache-Control: max-age=0, no-store\r\n\r\n",
        "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "Authorization holds for what comes behind",
      { "> GET / HTTP/1.1\r\nAuthorization: a\r\n\r\n", "-!" OK("Content-Length: 0\r\n"), "> " GET,
        "- " OK("Cache-Control: max-age=9\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "both lengths",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "two lengths",
      { "> " GET, "- " OK("Cache-Control: public\r\nContent-Length: 4\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a length that is none", { "> " GET, "- " OK("Cache-Control: public\r\nContent-Length: 4x\r\n"), "- abcd" } },
    { "another coding",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: gzip, chunked\r\n"), "- abcd" } },
    { "a folded line",
      { "> " GET, "- " OK("Cache-Control: public\r\n , max-age=1\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a chunk that is none",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "- x\r\nabcd", "- abcd" } },
    { "not HTTP", { "- SSH-2.0\r\n", "- abcd" } },
    { "another protocol", { "> " GET, "- HTTP/1.1 101 Go\r\n\r\n", "- abcd" } },
    { "a method in small letters is another one",
      { "> head / HTTP/1.1\r\n\r\n", "- " OK("Content-Length: 46\r\n"),
        "-!HTTP/1.1 200 OK\r\nCache-Control: public\r\n\r\nabcd" } },
    { "CONNECT", { "> CONNECT a:1 HTTP/1.1\r\n\r\n", "- " OK(""), "- abcd" } },

    { "chunks of HTTP/1.0",
      { "> " GET, "- HTTP/1.0 200 OK\r\nCache-Control: public\r\nTransfer-Encoding: chunked\r\n\r\n",
        "- 4\r\nabcd\r\n" } },
    { "chunks of a request of HTTP/1.0",
      { "> POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" GET, "- " OK("Content-Length: 0\r\n"),
        "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a length of HTTP/1.0",
      { "> GET / HTTP/1.0\r\n\r\n", "- HTTP/1.0 200 OK\r\nCache-Control: public\r\nContent-Length: 4\r\n\r\n",
        "+!abcd" } },
    { "a request without a version has an answer without a header",
      { "> GET /\r\n\r\n" GET, "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a line of a header is no request",
      { "> Cookie: a=b\r\n\r\n" GET, "- " OK("Content-Length: 0\r\n"), "- " OK("Cache-Control: public\r\n"),
        "- abcd" } },
    { "a method that is none",
      { "> Range: bytes /a HTTP/1.1\r\n\r\n" GET, "- " OK("Content-Length: 0\r\n"),
        "- " OK("Cache-Control: public\r\n"), "- abcd" } },
    { "private behind a semicolon",
      { "> " GET, "- " OK("Cache-Control: max-age=9; private\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "private behind a blank that is none",
      { "> " GET, "- " OK("Cache-Control: max-age=9,\x0bprivate\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "no-store in quotes",
      { "> " GET, "- " OK("Cache-Control: max-age=9, \"no-store\"\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "no-cache behind a semicolon",
      { "> " GET, "- " OK("Cache-Control: max-age=9;no-cache\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "public in what another word has in quotes",
      { "> " GET, "- " OK("Cache-Control: x=\"a, public, b\"\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "max-age in quotes that are quoted",
      { "> " GET, "- " OK("Cache-Control: x=\"\\\", max-age=9, \"\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "a quote that does not end",
      { "> " GET, "- " OK("Cache-Control: public, x=\"a\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "max-age in quotes and behind some",
      { "> " GET, "- " OK("Cache-Control: x=\"a, b\", max-age=\"9\"\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "s-maxage=00",
      { "> " GET, "- " OK("Cache-Control: max-age=9, s-maxage=00\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "s-maxage=\"0\"",
      { "> " GET, "- " OK("Cache-Control: public, s-maxage=\"0\"\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "s-maxage of nobody knows how much",
      { "> " GET, "- " OK("Cache-Control: public, s-maxage=-1\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "max-age=00 and Last-Modified",
      { "> " GET, "- " OK("Cache-Control: max-age=00\r\nLast-Modified: x\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "a carriage return in a line",
      { "> " GET, "- " OK("Cache-Control: public\r\nX: a\rSet-Cookie: b\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a carriage return in a request's line",
      { "> GET / HTTP/1.1\r\nX: a\rCookie: b\r\n\r\n", "- " OK("Last-Modified: x\r\nContent-Length: 4\r\n"),
        "- abcd" } },
    { "a name that is none",
      { "> " GET, "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n\x0bTransfer-Encoding: chunked\r\n"),
        "- abcd" } },
    { "no name", { "> " GET, "- " OK("Cache-Control: public\r\n: a\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a chunk's extension that a line's end has, or not",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "- 4;\nab\r\nabcd\r\n",
        "- abcd" } },
    { "a chunk that half a line's end ends",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "- 4\r\nabcd\n0\r\n\r\n",
        "- abcd" } },
    { "a chunk's extension with a carriage return",
      { "> " GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "- 4;a\rb\r\nabcd\r\n",
        "- abcd" } },
    { "a request's chunk that half a line's end ends",
      { "> POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0;\n\r\n\r\n" GET, "- " OK("Content-Length: 0\r\n"),
        "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a trailer with half a line's end",
      { "> " GET GET, "- " OK("Cache-Control: public\r\nTransfer-Encoding: chunked\r\n"), "- 0\r\n\n",
        "- " OK("Cache-Control: public\r\nContent-Length: 4\r\n"), "- abcd" } },
    { "a credential of another name asks for more than Last-Modified",
      { "> GET / HTTP/1.1\r\nX-Auth-Token: a\r\n\r\n", "- " OK("Last-Modified: x\r\nContent-Length: 4\r\n"), "-!abcd",
        "> GET / HTTP/1.1\r\nPRIVATE-TOKEN: a\r\n\r\n", "- " OK("Last-Modified: x\r\nContent-Length: 4\r\n"), "-!abcd",
        "> GET / HTTP/1.1\r\nx-api-key: a\r\n\r\n", "- " OK("Last-Modified: x\r\nContent-Length: 4\r\n"), "-!abcd",
        "> GET / HTTP/1.1\r\nX-Plex-Session-Id: a\r\n\r\n",
        "- " OK("Cache-Control: max-age=9\r\nContent-Length: 4\r\n"), "+!abcd" } },

    { "marks that nobody vouches for open nothing",
      { "> " GET, "- " OK("Content-Length: 52\r\n"), "- abcd", "- " OPEN "you", "- " CLOSE "abcd", "- abcd", "- " OPEN,
        "-!you" } },
    { "marks that the header tells",
      { "> " GET, "- " OK("Eeod: marks\r\nContent-Length: 55\r\n"), "+ abcd", "- " OPEN "you", "- you",
        "+ " CLOSE "abcd", "+!abcdefghijklmnopqr" } },
    { "marks need no request", { "- " OK("Eeod: marks\r\n"), "+ abcd", "- " OPEN "you", "+ " CLOSE } },
    { "what may be a HEAD's",
      { "- " OK("Eeod: marks\r\nContent-Length: 500\r\n") "HTTP/1.1 200 OK\r\n", "- Set-Cookie: you" } },
    { "what may be a HEAD's, in segments",
      { "- " OK("Eeod: marks\r\nContent-Length: 500\r\n"), "- HTTP/1.1 200 OK\r\n", "- Set-Cookie: you" } },
    { "marks in what may be kept",
      { "> " GET, "- " OK("Cache-Control: public\r\n"), "+ abcd", "- " OPEN "you", "- you", "+ " CLOSE } },
    { "marks of a 206",
      { "> " GET, "- " PART("Eeod: marks\r\nContent-Range: bytes 7-40/99\r\nContent-Length: 34\r\n"), "- abcd",
        "- " OPEN, "- " CLOSE "abcd" } },
    { "somebody's marks in a private page",
      { "> " GET, "- " OK("Cache-Control: private\r\n"), "- " OPEN "a" CLOSE, "- abcd", "- " OPEN,
        "- " CLOSE "abcd" } },
    { "somebody's marks in an answer to a Cookie",
      { "> GET / HTTP/1.1\r\nCookie: a\r\n\r\n", "- " OK(""), "- " OPEN, "- " CLOSE "abcd" } },
    { "the server's word opens a page of a visitor who is logged in",
      { "> GET / HTTP/1.1\r\nCookie: a\r\nAuthorization: b\r\n\r\n",
        "- " OK("Cache-Control: no-cache, max-age=0\r\nPragma: no-cache\r\nVary: Cookie\r\nSet-Cookie: b\r\nEeod: "
                "marks\r\n"),
        "+ abcd", "- " OPEN "a", "+ " CLOSE "abcd" } },
    { "private wins over the server's word",
      { "> " GET, "- " OK("Cache-Control: private\r\nEeod: marks\r\n"), "- abcd", "- " OPEN "a", "- " CLOSE "abcd" } },
    { "private in part wins over it",
      { "> " GET, "- " OK("Eeod: marks\r\nCache-Control: public, PRIVATE=\"x\"\r\n"), "- abcd", "- " OPEN "a",
        "- " CLOSE "abcd" } },
    { "no-store wins over it",
      { "> " GET, "- " OK("Eeod: marks\r\nCache-Control: max-age=9\r\nCache-Control: no-store\r\n"), "- abcd",
        "- " OPEN "a", "- " CLOSE "abcd" } },
    { "no-store of a request wins over it",
      { "> GET / HTTP/1.1\r\nCache-Control: no-store\r\n\r\n", "- " OK("Eeod: marks\r\n"), "- abcd", "- " OPEN "a",
        "- " CLOSE "abcd" } },
    { "Cache-Control that is too long to be read wins over it",
      { "> " GET,
        "- " OK("Eeod: marks\r\nCache-Control: no-cache, "
                "x="
                "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901"
                "23456789012345678901234567890123456789012345678901234567890123456789, private\r\n"),
        "- abcd", "- " OPEN "a", "- " CLOSE "abcd" } },
    { "two words that do not agree",
      { "> " GET, "- " OK("Eeod: marks\r\nEeod: none\r\n"), "- abcd", "- " OPEN "a", "- " CLOSE "abcd" } },
    { "two others",
      { "> " GET, "- " OK("Eeod: marks [[ ]]\r\nEeod: marks\r\n"), "- abcd", "- " OPEN "a", "- " CLOSE "abcd" } },
    { "a word in a trailer",
      { "> " GET, "- " OK("Transfer-Encoding: chunked\r\n"), "- 4\r\nabcd\r\n", "- 0\r\nEeod: marks\r\n", "-!\r\n",
        "> " GET, "- " OK("Content-Length: 4\r\n"), "-!abcd" } },
    { "a word in what comes before",
      { "> " GET, "-!HTTP/1.1 103 Hints\r\nEeod: marks\r\n\r\n", "- " OK("Content-Length: 4\r\n"), "-!abcd" } },
    { "a visitor's closing mark ends a block, and behind the writer's own nothing is kept",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "+ abcd", "- " OPEN "a", "+ " CLOSE "b", "- " CLOSE "c", "- abcd",
        "- " OPEN "a", "- " CLOSE "abcd" } },
    { "a stray closing mark in the middle",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "+ abcd", "- ab" CLOSE "c", "- abcd" } },
    { "a stray closing mark cut in two",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "+ ab<!--/", "- EEOD-->c", "- abcd" } },
    { "a closing mark in a script",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN "<scr", "- ipt>x='", "- " CLOSE "secret", "- secret'</script>",
        "+ " CLOSE "abcd" } },
    { "a closing mark in a textarea, cut",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN "<textarea>me<!--/EE", "- OD-->secret", "- secret</textarea>",
        "+ " CLOSE "abcd" } },
    { "a closing mark in an attribute",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN "<p title='", "- " CLOSE "secret", "- '><b>",
        "+ " CLOSE "abcd" } },
    { "a closing mark in an attribute, cut",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN "<input value", "- =\">' <!--/EE", "- OD-->secret",
        "- secret\" value=" CLOSE, "+ " CLOSE "abcd" } },
    { "a closing mark in a comment",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN "<!-- ", "- " CLOSE "secret -->", "+ " CLOSE "abcd" } },
    { "a closing mark alone", { "> " GET, "- " OK(""), "- " CLOSE "abcd", "- abcd" } },
    { "marks that compression hides",
      { "> " GET, "- " OK("Eeod: marks\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "marks that compression hides, and for everybody",
      { "> " GET, "- " OK("Cache-Control: public\r\nEeod: marks\r\nContent-Encoding: br\r\nContent-Length: 4\r\n"),
        "-!abcd" } },
    { "compressed, without marks, and for everybody",
      { "> " GET, "- " OK("Cache-Control: public\r\nContent-Encoding: br\r\nContent-Length: 4\r\n"), "+!abcd" } },
    { "other marks than ours, and for everybody",
      { "> " GET, "- " OK("Cache-Control: public\r\nEeod: marks [[mine ]]]]\r\nContent-Length: 4\r\n"), "-!abcd" } },
    { "a mark in what is compressed",
      { "> " GET, "- " OK("Content-Encoding: gzip\r\n"), "- " OPEN "you", "- " CLOSE "abcd", "- abcd" } },
    { "not compressed", { "> " GET, "- " OK("Eeod: marks\r\nContent-Encoding: identity\r\n"), "+ abcd" } },
    { "other marks than ours",
      { "> " GET, "- " OK("Eeod: marks [[mine ]]]]\r\n"), "- abcd", "- " OPEN "you", "- " CLOSE "abcd" } },
    { "a mark in the middle of a segment",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "+ abcd", "- abcd" OPEN "you", "+ " CLOSE "abcd", "+ abcd" } },
    { "a mark cut in two", { "> " GET, "- " OK("Eeod: marks\r\n"), "+ abcd<!--E", "- EOD-->you", "+ " CLOSE "abcd" } },
    { "a mark cut in three", { "> " GET, "- " OK("Eeod: marks\r\n"), "+ abcd<", "+ !--", "- EEOD-->you", "+ " CLOSE } },
    { "a closing mark cut in two",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN "you<!--", "- /EEOD-->abcd", "+ abcd" } },
    { "a mark in two chunks",
      { "> " GET, "- " OK("Eeod: marks\r\nTransfer-Encoding: chunked\r\n"), "+ 8\r\nabcd<!--\r\n",
        "- 8\r\nEEOD-->y\r\n", "- 2\r\nou\r\n" } },
    { "more in the chunk of a closing mark",
      { "> " GET, "- " OK("Eeod: marks\r\nTransfer-Encoding: chunked\r\n"), "- e\r\n" OPEN, "- you\r\n",
        "- c\r\n" CLOSE "\r\n", "+ 4\r\nabcd" } },
    { "what might have begun one",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "+ abcd<!--E", "+ <b>", "+ <", "- " OPEN, "+ " CLOSE "<!--", "+ EEOD" } },
    { "a mark in the middle of what may be kept",
      { "> " GET, "- " OK("Cache-Control: public\r\n"), "+ abcd", "- ab" OPEN "you", "+ " CLOSE "abcd" } },
    { "a header where marks are",
      { "> " GET, "- " OK("Eeod: marks\r\nContent-Length: 900\r\n"), "+ abcd", "- HTTP/1.1 200 OK\r\n",
        "- " CLOSE "abcd" } },
    { "nested marks",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN OPEN "a", "- " CLOSE "still you", "+ " CLOSE "abcd" } },
    { "nested closing marks that are cut",
      { "> " GET, "- " OK("Eeod: marks\r\n"), "- " OPEN OPEN "a<", "- !--/EEOD-->still you", "+ " CLOSE "abcd" } },
};

START_TEST(test_talk) {
    struct eeod_marks marks;
    struct pk_http h;
    ck_assert_ptr_null(eeod_marks_set(&marks, OPEN, CLOSE));
    memset(&h, 0x55, sizeof h);
    pk_http_begin(&h);
    for (const char *const *s = talks[_i].segment; *s; s++) {
        size_t n = strlen(*s) - 2;
        char *exact = malloc(n + !n); /* what is read beyond is found */
        memcpy(exact, *s + 2, n);
        if (**s == '>') {
            pk_http_ask(&h, exact, n);
        } else {
            bool kept = pk_http_answer(&h, &marks, exact, n, NULL);
            ck_assert_msg(kept == (**s == '+'), "%s: segment %td: %s", talks[_i].name, s - talks[_i].segment,
                          kept ? "kept" : "not kept");
            if ((*s)[1] == '!')
                ck_assert_msg(h.ended, "%s: segment %td does not end", talks[_i].name, s - talks[_i].segment);
        }
        free(exact);
    }
}
END_TEST

/* However a response is cut, nothing of its header or of what is in marks is kept: each byte of theirs is '#'. */
START_TEST(test_cuts) {
    static const char page[] =
        "<p>one</p>" OPEN "####" CLOSE "<p>two, which is longer</p>" OPEN "#" OPEN "#" CLOSE "##" CLOSE "<p>three</p>";
    char all[512];
    struct eeod_marks marks;
    size_t header = (size_t)sprintf(
               all, "HTTP/1.1 200 OK\r\nServer: ####\r\nEeod: marks\r\nContent-Length: %zu\r\n\r\n", sizeof page - 1),
           n = header + sizeof page - 1;
    unsigned kept = 0;

    memcpy(all + header, page, sizeof page);
    eeod_marks_set(&marks, OPEN, CLOSE);
    srand(1);
    for (int round = 0; round < 20000; round++) {
        struct pk_http h;
        pk_http_begin(&h);
        for (size_t at = 0, part; at < n; at += part) {
            part = 1 + (size_t)rand() % (round % 60 + 1);
            if (part > n - at) part = n - at;
            bool keep = pk_http_answer(&h, &marks, all + at, part, NULL);
            if (!keep) continue;
            kept++;
            ck_assert_msg(at >= header && !memchr(all + at, '#', part), "round %d: bytes %zu to %zu are kept", round,
                          at, at + part);
        }
    }
    ck_assert_uint_gt(kept, 10000);
}
END_TEST

/* What a server says of a range and is not so, or can't be, is no range: nothing of its body is kept. */
START_TEST(test_ranges_that_are_none) {
    static const char *const ranges[] = { "",
                                          "bytes",
                                          "bytes ",
                                          "bytes */99",
                                          "bytes 7-10",
                                          "bytes 7-10/",
                                          "bytes 7-10/x",
                                          "bytes 7-10/99x",
                                          "bytes 7-10/99, 12-13/99",
                                          "bytes=7-10/99",
                                          "bytes  7-10/99",
                                          "bytes 7 -10/99",
                                          "bytes -4/99",
                                          "bytes -7-10/99",
                                          "bytes +7-10/99",
                                          "bytes 7--10/99",
                                          "bytes 10-7/99",
                                          "bytes 7-10/10",
                                          "bytes 7-10/0",
                                          "bytes 7-11/99",
                                          "bytes 7-9/99",
                                          "bytes 0-18446744073709551615/*",
                                          "bytes 18446744073709551613-18446744073709551616/*",
                                          "bytes 99999999999999999996-99999999999999999999/*",
                                          "bytes 7-10/99999999999999999999999999999999999999999",
                                          "items 7-10/99",
                                          "7-10/99",
                                          "bytes 7-10/99\r\nContent-Range: bytes 7-10/99" };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        char header[200];
        struct eeod_marks marks;
        struct pk_spans spans = { .n = 0 };
        struct pk_http h;
        size_t n =
            (size_t)snprintf(header, sizeof header, PART("Content-Length: 4\r\nContent-Range: %s\r\n"), ranges[i]);
        eeod_marks_set(&marks, OPEN, CLOSE);
        pk_http_begin(&h);
        pk_http_ask(&h, GET, strlen(GET));
        ck_assert(!pk_http_answer(&h, &marks, header, n, &spans));
        ck_assert(!pk_http_answer(&h, &marks, "abcd", 4, &spans));
        ck_assert_msg(!spans.n && h.ended, "%s", ranges[i]);
    }
}
END_TEST

/* Of segments as in talks: whether what they begin can't be HTTP any more. */
static const struct {
    const char *name;
    bool joined; /* it was not seen from its beginning */
    bool never;
    const char *segment[6];
} strangers[] = {
    { "HTTP", false, false, { "> " GET, "- " OK("Content-Length: 4\r\n"), "- abcd" } },
    { "a response byte by byte", false, false, { "> " GET, "- H", "- T", "- TP/1.1 200 OK\r\n" } },
    { "TLS", false, true, { "> \026\003\001\001", "- \026\003\003\001" } },
    { "TLS of which a request was not seen", false, true, { "- \026\003\003\001" } },
    { "the server speaks first", false, true, { "- 220 mail\r\n" } },
    { "HTTP/2", false, true, { "> PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" } },
    { "HTTP/2 that does not say so", false, true, { "> PRI * HTTP/2.0\r\n\r\n", "- \1\2\3\4" } },
    { "a tunnel", false, true, { "> CONNECT a:443 HTTP/1.1\r\n" } },
    { "an upgrade",
      false,
      true,
      { "> " GET, "- " OK("Content-Length: 0\r\n"), "> " GET, "- HTTP/1.1 101 Go\r\n\r\n" } },
    { "an upgrade of what was joined", true, true, { "> " GET, "- HTTP/1.1 101 Go\r\n\r\n" } },
    { "nonsense behind a response",
      false,
      false,
      { "> " GET, "- " OK("Content-Length: 0\r\n"), "> " GET, "- HTTP/9.9 200 OK\r\n" } },
    { "a nonsense request behind a response", false, false, { "> " GET, "- " OK("Content-Length: 0\r\n"), "> x\r\n" } },
    { "nonsense of what was joined", true, false, { "> " GET, "- 220 mail\r\n" } },
    { "it is there until something is missing", false, false, { "> " GET, "!", "- 220 mail\r\n" } },
};

START_TEST(test_never) {
    struct eeod_marks marks;
    struct pk_http h;

    ck_assert_ptr_null(eeod_marks_set(&marks, OPEN, CLOSE));
    memset(&h, 0x55, sizeof h);
    pk_http_begin(&h);
    ck_assert(!pk_http_never(&h));
    h.unknown = strangers[_i].joined;
    for (const char *const *s = strangers[_i].segment; *s; s++) {
        if (**s == '>') pk_http_ask(&h, *s + 2, strlen(*s) - 2);
        else if (**s == '!') pk_http_lose(&h);
        else pk_http_answer(&h, &marks, *s + 2, strlen(*s) - 2, NULL);
    }
    ck_assert_msg(pk_http_never(&h) == strangers[_i].never, "%s", strangers[_i].name);
    ck_assert(!strangers[_i].never || pk_http_lost(&h));
    pk_http_begin(&h);
    ck_assert(!pk_http_never(&h));
}
END_TEST

START_TEST(test_looks_asked) {
    static const struct {
        const char *segment;
        bool one;
    } segments[] = {
        { GET, true },
        { "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", true },
        { GET GET, false },
        { GET "x", false },
        { "GET / HTTP/1.1\r\n", false },
        { "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", false },
        { "x=1&GET / HTTP/1.1\r\n\r\n", false },
        { "\r\n\r\n", false },
        { "", false },
    };
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
        size_t n = strlen(segments[i].segment);
        char *exact = malloc(n + !n);
        memcpy(exact, segments[i].segment, n);
        ck_assert_msg(pk_http_looks_asked(exact, n) == segments[i].one, "segment %zu", i);
        free(exact);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: HTTP");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, test_talk, 0, sizeof talks / sizeof *talks);
    tcase_add_test(t, test_cuts);
    tcase_add_test(t, test_ranges_that_are_none);
    tcase_add_loop_test(t, test_never, 0, sizeof strangers / sizeof *strangers);
    tcase_add_test(t, test_looks_asked);
    suite_add_tcase(s, t);
    return run_suite(s);
}
