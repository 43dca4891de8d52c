/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_observed.h"

#include <http_protocol.h>

#define U64 "%" APR_UINT64_T_FMT

static const char *observed_class(const struct qos_paper_rule *of) { return qos_config()->classes[of->class].name; }

void qos_observed_json(struct base_json *j, const void *of) {
    const struct qos_paper_look *look = of;

    base_json_object(j, "observed");
    rs_figures_paper_json(j, &look->paper);
    base_json_whole(j, "one_in", look->one_in);
    base_json_array(j, "rules");
    for (uint32_t i = 0; i < look->nrules; i++) {
        base_json_object(j, NULL);
        base_json_text(j, "rule", look->rules[i].text);
        base_json_text(j, "class", observed_class(look->rules + i));
        base_json_whole(j, "requests", look->rules[i].requests);
        base_json_whole(j, "bytes", look->rules[i].bytes);
        base_json_end_object(j);
    }
    base_json_end_array(j);
    base_json_end_object(j);
}

void qos_observed_prometheus(struct base_sink sink, const struct qos_paper_look *look) {
    rs_figures_paper_prometheus(sink, "fairgate_qos_observed_", &look->paper);
}

void qos_observed_page(request_rec *r, const struct qos_paper_look *look) {
    const struct rs_paper_all *all = &look->paper.all;

    ap_rprintf(
        r,
        "<h1>On paper: what would have happened</h1>\n<p>%u observed at the server, %u at most; with a window of "
        "%u, %u would be there and %u waiting. One of %u stretches of time is on paper.</p>\n",
        all->at_server, all->at_server_max, all->window, all->outstanding, all->queued, look->one_in);
    ap_rputs("<table><thead><tr><th>class</th><th>weight</th><th>share of bytes</th><th>would be</th><th>of slots' "
             "time</th><th>would be</th><th>requests</th><th>mean wait</th><th>95 % of waits</th><th>longest</th>"
             "<th>refused</th><th>too long</th></tr></thead><tbody>\n",
             r);
    for (uint32_t i = 0; i < all->classes; i++) {
        const struct rs_paper_class *c = look->paper.classes + i;
        struct rs_paper_share s = rs_paper_share_of(&look->paper, c);

        ap_rprintf(r,
                   "<tr><td>%s</td><td>%u</td><td>%.1f %%</td><td>%.1f %%</td><td>%.1f %%</td><td>%.1f %%</td><td>" U64
                   "</td><td>%.1f ms</td><td>%.1f ms</td><td>%.0f ms</td><td>" U64 "</td><td>" U64 "</td></tr>\n",
                   c->on_paper.settings.name, c->on_paper.settings.weight, s.was_bytes * 100, s.would_bytes * 100,
                   s.was_time * 100, s.would_time * 100, (apr_uint64_t)c->came, rs_paper_mean_ms(c),
                   (double)rs_paper_quantile(c, 950) / 1000.0, (double)c->on_paper.wait_max / 1000.0,
                   (apr_uint64_t)rs_paper_refused(c), (apr_uint64_t)c->too_long);
    }
    ap_rputs("</tbody></table>\n<table><thead><tr><th>rule</th><th>class</th><th>requests</th><th>bytes</th></tr>"
             "</thead><tbody>\n",
             r);
    for (uint32_t i = 0; i < look->nrules; i++)
        ap_rprintf(r, "<tr><td>%s</td><td>%s</td><td>" U64 "</td><td>" U64 "</td></tr>\n",
                   ap_escape_html(r->pool, look->rules[i].text), observed_class(look->rules + i),
                   (apr_uint64_t)look->rules[i].requests, (apr_uint64_t)look->rules[i].bytes);
    ap_rputs("</tbody></table>\n", r);
}
