/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_origin.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include <http_config.h>
#include <http_request.h>
#include <http_vhost.h>

#include "console/console_page.h"

bool ccn_origin_is_foreign(const request_rec *r) {
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site"), *origin = apr_table_get(r->headers_in, "Origin"),
               *host = apr_table_get(r->headers_in, "Host"), *at;

    if (!ap_is_initial_req((request_rec *)(uintptr_t)r)) return false;
    if (site) return console_foreign(site, origin ? origin : "", NULL);
    if (!origin) return false;
    at = strstr(origin, "://");
    return !at || !host || strcasecmp(at + 3, host) != 0;
}

static bool is_address(const char *host) {
    size_t bracket = *host == '[', n = strlen(host);
    char text[INET6_ADDRSTRLEN];
    struct in6_addr a;

    if (n < 2 * bracket + 1 || n - 2 * bracket >= sizeof text) return false;
    memcpy(text, host + bracket, n - 2 * bracket);
    text[n - 2 * bracket] = '\0';
    return inet_pton(AF_INET, text, &a) == 1 || inet_pton(AF_INET6, text, &a) == 1;
}

bool ccn_origin_is_misdirected(request_rec *r) {
    if (!ap_is_initial_req(r) || !r->hostname || is_address(r->hostname)) return false;
    return strcmp(r->hostname, "localhost") && !ap_matches_request_vhost(r, r->hostname, r->server->port);
}
