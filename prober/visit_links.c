/* SPDX-License-Identifier: BSD-2-Clause */
/* visit_links.c - the links of the document that a visit gets. */
#include <string.h>

#include "visit_impl.h"

void visit_url(const struct visit *v, char *out, size_t room) {
    snprintf(out, room, "%s%.*s", walk_origin(v->w, v->origin), (int)PAGES_TARGET_MAX,
             v->robots ? v->base.target : urls_target(v->w->urls, v->url));
}

void visit_refused(const struct visit *v, const char *why) {
    char text[PAGES_ORIGIN_MAX + PAGES_TARGET_MAX + 1];
    visit_url(v, text, sizeof text);
    report_refused(v->w->report, text, (int)strlen(text), why, NULL);
}

void visit_follow(struct visit *v, const char *ref, size_t n, int document) {
    char from[256];
    enum scope_answer a = scope_resolve(v->w->scope, v->base_outside ? NULL : &v->base, ref, n, &v->found);

    if (a == SCOPE_IGNORED) return;
    if (a == SCOPE_NOT_A_URL && v->base_outside) a = SCOPE_OTHER_SITE;
    visit_url(v, from, sizeof from);
    if (a == SCOPE_IN) walk_found(v->w, &v->found, urls_at(v->w->urls, v->url)->depth + 1u, document, from);
    else report_refused(v->w->report, ref, n < 4096 ? (int)n : 4096, scope_reason(a), from);
}

static void on_link(void *context, const char *ref, size_t n, enum links_kind kind) {
    struct visit *v = context;
    enum scope_answer a;

    if (kind != LINKS_BASE) {
        if (kind == LINKS_OBJECT || !links_nofollow(v->links)) visit_follow(v, ref, n, kind == LINKS_DOCUMENT);
        return;
    }
    if (v->base_set++) return; /* only the first counts */
    a = scope_resolve(v->w->scope, &v->base, ref, n, &v->found);
    if (a == SCOPE_IN) v->base = v->found;
    else if (a != SCOPE_IGNORED) v->base_outside = 1;
}

static int visit_links_on_over(void *context) { return walk_is_over(((struct visit *)context)->w); }

/* Also what does not name its type, when it is packed as sitemaps are. */
static int begin_links(struct visit *v, const struct fetch_answer *a, const char *data, size_t n) {
    enum links_type type = a->type == FETCH_HTML ? LINKS_HTML : a->type == FETCH_CSS ? LINKS_CSS : LINKS_SITEMAP;

    if (a->type == FETCH_OTHER) {
        if (v->gz_looked || n < 2 || memcmp(data, "\x1f\x8b", 2) ||
            !(urls_at(v->w->urls, v->url)->flags & PAGES_DOCUMENT))
            return 0;
        memset(&v->gz, 0, sizeof v->gz);
        if (inflateInit2(&v->gz, 15 + 16) != Z_OK) return 0;
        v->gz_open = 1;
    }
    v->links = links_new(type, on_link, visit_links_on_over, v);
    return v->links != NULL;
}

static int feed_packed(struct visit *v, const char *data, size_t n) {
    char out[16384];
    int rc = Z_OK;

    v->gz.next_in = (Bytef *)(uintptr_t)data;
    v->gz.avail_in = (uInt)n;
    while (v->gz.avail_in && rc == Z_OK) {
        v->gz.next_out = (Bytef *)out;
        v->gz.avail_out = sizeof out;
        rc = inflate(&v->gz, Z_NO_FLUSH);
        v->unpacked += sizeof out - v->gz.avail_out;
        if (v->unpacked > v->w->s->max_bytes) return 1;
        links_feed(v->links, out, sizeof out - v->gz.avail_out);
        if (links_ended(v->links)) return 1;
    }
    return 0;
}

void visit_end_links(struct visit *v, int whole) {
    if (v->links && whole) links_end(v->links);
    if (v->links) v->ended = v->w->over || links_ended(v->links);
    if (v->links && links_wrong(v->links)) visit_refused(v, links_wrong(v->links));
    if (v->links) links_free(&v->links);
    if (v->gz_open) inflateEnd(&v->gz);
    v->gz_open = v->gz_looked = 0;
}

int visit_feed_links(struct visit *v, const struct fetch_answer *a, const char *data, size_t n) {
    if (!v->links && !v->gz_looked && !begin_links(v, a, data, n)) v->gz_looked = 1;
    if (!v->links) return 0;
    if (v->gz_open) return feed_packed(v, data, n);
    links_feed(v->links, data, n);
    return links_ended(v->links);
}
