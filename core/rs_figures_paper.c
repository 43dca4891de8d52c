/* SPDX-License-Identifier: BSD-2-Clause */
#include "rs_figures_paper.h"

void rs_paper_take(const rs_paper_t *p, struct rs_paper_look *look, uint32_t room) {
    *look = (struct rs_paper_look){ .classes = look->classes };
    rs_paper_all(p, &look->all);
    if (look->all.classes > room) look->all.classes = room;
    for (uint32_t i = 0; i < look->all.classes; i++) {
        struct rs_paper_class *c = look->classes + i;

        rs_paper_class(p, i, c);
        look->weights += c->on_paper.settings.weight;
        look->was_bytes += c->real_bytes;
        look->would_bytes += c->paper_bytes;
        look->was_us += c->real_us;
        look->would_us += c->paper_us;
    }
}

static double part_of(uint64_t n, uint64_t sum) { return sum ? (double)n / (double)sum : 0; }

struct rs_paper_share rs_paper_share_of(const struct rs_paper_look *look, const struct rs_paper_class *c) {
    return (struct rs_paper_share){ part_of(c->on_paper.settings.weight, look->weights),
                                    part_of(c->real_bytes, look->was_bytes), part_of(c->paper_bytes, look->would_bytes),
                                    part_of(c->real_us, look->was_us), part_of(c->paper_us, look->would_us) };
}

uint64_t rs_paper_refused(const struct rs_paper_class *c) {
    const struct rs_counts *n = &c->on_paper.counts;
    return n->refused_class + n->refused_share + n->refused_total;
}

double rs_paper_mean_ms(const struct rs_paper_class *c) {
    const struct rs_counts *n = &c->on_paper.counts;
    return n->released ? (double)n->wait_us / (double)n->released / 1000.0 : 0;
}

static double paper_p95_ms(const struct rs_paper_class *c) { return (double)rs_paper_quantile(c, 950) / 1000.0; }
static double paper_longest_ms(const struct rs_paper_class *c) { return (double)c->on_paper.wait_max / 1000.0; }

static void paper_class_json(struct base_json *j, const struct rs_paper_look *look, uint32_t i) {
    const struct rs_paper_class *c = look->classes + i;
    struct rs_paper_share s = rs_paper_share_of(look, c);

    base_json_object(j, NULL);
    base_json_text(j, "name", c->on_paper.settings.name);
    base_json_whole(j, "weight", c->on_paper.settings.weight);
    base_json_whole(j, "requests", c->came);
    base_json_whole(j, "bytes", c->real_bytes);
    base_json_number(j, "share_due", s.due);
    base_json_number(j, "share_was", s.was_bytes);
    base_json_number(j, "share_would", s.would_bytes);
    base_json_number(j, "slot_share_was", s.was_time);
    base_json_number(j, "slot_share_would", s.would_time);
    base_json_whole(j, "released", c->on_paper.counts.released);
    base_json_number(j, "wait_ms_mean", rs_paper_mean_ms(c));
    base_json_number(j, "wait_ms_p95", paper_p95_ms(c));
    base_json_number(j, "wait_ms_max", paper_longest_ms(c));
    base_json_whole(j, "queued", c->on_paper.queued);
    base_json_whole(j, "joined", c->joined);
    base_json_whole(j, "again", c->again);
    base_json_object(j, "refused_by");
    base_json_whole(j, "class-full", c->on_paper.counts.refused_class);
    base_json_whole(j, "share-full", c->on_paper.counts.refused_share);
    base_json_whole(j, "queue-full", c->on_paper.counts.refused_total);
    base_json_whole(j, "too-long", c->too_long);
    base_json_whole(j, "standing", c->on_paper.counts.refused_standing);
    base_json_end_object(j);
    base_json_end_object(j);
}

void rs_figures_paper_json(struct base_json *j, const struct rs_paper_look *look) {
    base_json_whole(j, "window", look->all.window);
    base_json_whole(j, "at_server", look->all.at_server);
    base_json_whole(j, "at_server_max", look->all.at_server_max);
    base_json_whole(j, "left_out", look->all.no_row);
    base_json_array(j, "classes");
    for (uint32_t i = 0; i < look->all.classes; i++) paper_class_json(j, look, i);
    base_json_end_array(j);
}

/* ---- Prometheus -------------------------------------------------------------------------------------------------- */

static double value_requests(const struct rs_paper_class *c) { return (double)c->came; }
static double value_was(const struct rs_paper_class *c) { return (double)c->real_bytes; }
static double value_would(const struct rs_paper_class *c) { return (double)c->paper_bytes; }
static double value_waited(const struct rs_paper_class *c) { return (double)c->on_paper.counts.wait_us / 1e6; }
static double value_released(const struct rs_paper_class *c) { return (double)c->on_paper.counts.released; }
static double value_refused(const struct rs_paper_class *c) {
    return (double)(rs_paper_refused(c) + c->too_long + c->on_paper.counts.refused_standing);
}

void rs_figures_paper_prometheus(struct base_sink sink, const char *prefix, const struct rs_paper_look *look) {
    static const struct {
        const char *name, *sentence;
        double (*of)(const struct rs_paper_class *c);
    } rows[] = {
        { "requests_total", "Requests that were observed.", value_requests },
        { "was_bytes_total", "Bytes that their answers had.", value_was },
        { "would_bytes_total", "Bytes that the class would have had.", value_would },
        { "released_total", "Requests that would have been let through.", value_released },
        { "wait_seconds_total", "Seconds that those would have waited.", value_waited },
        { "refused_total", "Requests that would have been answered 503.", value_refused },
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        base_prometheus_family(sink, prefix, rows[r].name, BASE_COUNTER, rows[r].sentence);
        for (uint32_t i = 0; i < look->all.classes; i++)
            base_prometheus_sample(sink, prefix, rows[r].name,
                                   (struct base_label){ "class", look->classes[i].on_paper.settings.name },
                                   (struct base_label){ NULL, NULL }, rows[r].of(look->classes + i));
    }
}
