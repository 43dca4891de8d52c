/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_listing.h - what is published, for people and for tools: a list, and an OpenAPI document (3.1).
 *
 * Either tells names, parameters, types, bounds, defaults and sentences, and nothing of the URLs that do the work.
 */
#ifndef FAIRGATE_SERVICE_LISTING_H
#define FAIRGATE_SERVICE_LISTING_H

#include "service_declare.h"

/* Those that are called that way, as {"services":[{"name":...,"call":...,"doc":...,"parameters":[...]}]}; malloc'ed. */
char *service_listing(const struct service_table *t, enum service_over over, size_t *n);
/* Those that are called over HTTP, as OpenAPI: POST of the parameters to `root` and the service's name. */
char *service_openapi(const struct service_table *t, const char *root, const char *title, size_t *n);

#endif
