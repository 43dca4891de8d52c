/* SPDX-License-Identifier: BSD-2-Clause */
#include "rs_figures.h"

#include <math.h>
#include <string.h>

#define CLASS  "fairgate_class_"
#define OUTLET "fairgate_outlet_"
#define ENGINE "fairgate_"
#define OLD    "A name of the version before, for this one: see the documentation."

struct figure {
    const char *name, *json, *sentence;
    enum base_kind kind;
    double (*of)(const struct rs_figures_class *c);
};

#define RS_FIGURE(id, name, kind, json, value, sentence)                                                               \
    static double value_##id(const struct rs_figures_class *c) { return (double)(value); }
#define RS_WAS(host, name, json, id)
#include "rs_figures.def"
#undef RS_FIGURE

enum {
#define RS_FIGURE(id, name, kind, json, value, sentence) FIGURE_##id,
#include "rs_figures.def"
#undef RS_FIGURE
    FIGURES
};

static const struct figure figures[FIGURES] = {
#define RS_FIGURE(id, name, kind, json, value, sentence) { name, json, sentence, kind, value_##id },
#include "rs_figures.def"
#undef RS_FIGURE
#undef RS_WAS
};

/* The names of the version before. */
static const struct {
    enum rs_at at;
    const char *name, *json;
    int figure;
} olds[] = {
#define RS_FIGURE(id, name, kind, json, value, sentence)
#define RS_WAS(host, name, json, id) { host, name, json, FIGURE_##id },
#include "rs_figures.def"
#undef RS_FIGURE
#undef RS_WAS
};
#define OLDS (sizeof olds / sizeof *olds)

static const struct base_label no_label = { NULL, NULL };

/* Every figure of an outlet: the same name in both forms, but for a counter's end. */
static const struct {
    const char *name, *json, *sentence;
    enum base_kind kind;
    size_t at, width;
} outlet_figures[] = {
#define FIELD(field) offsetof(struct rs_outlet_stats, field), sizeof(((struct rs_outlet_stats *)0)->field)
    { "window", "window", "Requests that what is behind it may work on at one time.", BASE_GAUGE, FIELD(window) },
    { "queued", "queued", "Requests that wait for it.", BASE_GAUGE, FIELD(queued) },
    { "outstanding", "outstanding", "Requests that have its slots.", BASE_GAUGE, FIELD(outstanding) },
    { "parked", "parked", "Those that have given their slots back.", BASE_GAUGE, FIELD(parked) },
    { "refused_total", "refused", "Requests answered 503 since it had its part of their class's places.", BASE_COUNTER,
      FIELD(refused) },
    { "stalled_seconds", "stalled_s", "Seconds for which requests have waited for it, and none was released.",
      BASE_GAUGE, FIELD(stalled_s) },
#undef FIELD
};
#define OUTLET_FIGURES (sizeof outlet_figures / sizeof *outlet_figures)

static double outlet_value(const struct rs_outlet_stats *o, size_t figure) {
    const char *at = (const char *)o + outlet_figures[figure].at;
    uint32_t narrow;
    uint64_t wide;

    if (outlet_figures[figure].width == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return (double)wide;
}

const char *rs_figures_outlet(const struct rs_outlet_stats *o) {
    return *o->settings.name ? o->settings.name : "server";
}

const char *rs_why_name(enum rs_why why) {
    static const char *const names[RS_WHYS] = { "class-full",    "share-full", "queue-full", "no-thread",
                                                "no-descriptor", "too-long",   "standing" };
    return names[why];
}

uint64_t rs_figures_refused(const uint64_t *refused) {
    uint64_t sum = 0;
    for (int i = 0; i < RS_WHY_TOO_LONG; i++) sum += refused[i];
    return sum;
}

uint64_t rs_figures_bytes(const struct rs_figures *f) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->nclasses; i++) sum += f->classes[i].s.counts.bytes;
    return sum;
}

double rs_figures_mean_ms(uint64_t sum_us, uint64_t n) { return n ? (double)sum_us / (double)n / 1000.0 : 0.0; }

double rs_figures_share(const struct rs_figures_class *c, uint64_t bytes_of_all) {
    return bytes_of_all ? (double)c->s.counts.bytes / (double)bytes_of_all : 0.0;
}

static const char *state_of(const struct rs_figures *f) { return f->state ? f->state : f->on ? "on" : "off"; }

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void refused_by(struct base_json *j, const uint64_t *refused, uint32_t whys) {
    base_json_object(j, "refused_by");
    for (int i = 0; i < RS_WHYS; i++)
        if (whys >> i & 1) base_json_whole(j, rs_why_name((enum rs_why)i), refused[i]);
    base_json_end_object(j);
}

static void known(struct base_json *j, const char *key, double value) {
    if (key && !isnan(value)) base_json_number(j, key, value);
}

static void json_class(struct base_json *j, const struct rs_figures *f, const struct rs_figures_class *c,
                       uint64_t bytes) {
    base_json_object(j, NULL);
    base_json_text(j, "name", c->s.settings.name);
    base_json_truth(j, "retired", c->s.retired);
    base_json_number(j, "share", rs_figures_share(c, bytes));
    for (int i = 0; i < FIGURES; i++) known(j, figures[i].json, figures[i].of(c));
    for (size_t i = 0; i < OLDS; i++)
        if (olds[i].at == f->at) known(j, olds[i].json, figures[olds[i].figure].of(c));
    refused_by(j, c->refused, f->whys_by_class);
    base_json_end_object(j);
}

static void json_outlets(struct base_json *j, const struct rs_figures *f) {
    base_json_array(j, "outlets");
    for (uint32_t i = 0; i < f->noutlets; i++) {
        const struct rs_outlet_stats *o = &f->outlets[i];
        base_json_object(j, NULL);
        base_json_text(j, "name", rs_figures_outlet(o));
        base_json_text(j, "gate", rs_gate_name((int)o->settings.gate));
        base_json_truth(j, "retired", o->retired);
        for (size_t k = 0; k < OUTLET_FIGURES; k++) base_json_number(j, outlet_figures[k].json, outlet_value(o, k));
        base_json_end_object(j);
    }
    base_json_end_array(j);
}

void rs_figures_json(struct base_sink sink, const struct rs_figures *f) {
    struct base_json j = base_json_into(sink);
    const struct rs_settings *s = &f->all.settings;
    const struct rs_counts *n = &f->all.counts;
    uint64_t bytes = rs_figures_bytes(f);

    base_json_object(&j, NULL);
    base_json_text(&j, "state", state_of(f));
    base_json_text(&j, "scheduler", rs_sched_name((int)s->sched));
    base_json_text(&j, "gate", rs_gate_name((int)s->gate));
    if (f->at == RS_AT_SQUID) { /* of the version before */
        base_json_truth(&j, "on", f->on);
        base_json_text(&j, "order", rs_sched_name((int)s->sched));
        base_json_whole(&j, "waited_too_long", f->refused[RS_WHY_TOO_LONG]);
    }
    base_json_whole(&j, "window", f->all.window);
    base_json_whole(&j, "rate", s->rate);
    base_json_whole(&j, "queued", f->all.queued);
    base_json_whole(&j, "outstanding", f->all.outstanding);
    base_json_whole(&j, "parked", f->all.parked);
    base_json_whole(&j, "submitted", n->submitted);
    base_json_whole(&j, "released", n->released);
    base_json_whole(&j, "refused", rs_figures_refused(f->refused));
    base_json_whole(&j, "timed_out", f->refused[RS_WHY_TOO_LONG]);
    base_json_whole(&j, "cancelled", n->cancelled);
    base_json_whole(&j, "done", n->done);
    base_json_whole(&j, "aborted", n->aborted);
    base_json_whole(&j, "reclaimed", n->reclaimed);
    base_json_whole(&j, "rebuilds", f->all.rebuilds);
    base_json_whole(&j, "bytes", bytes);
    base_figures_json(&j, f->own, f->nown);
    refused_by(&j, f->refused, UINT32_MAX);
    base_json_array(&j, "classes");
    for (uint32_t i = 0; i < f->nclasses; i++) json_class(&j, f, f->classes + i, bytes);
    base_json_end_array(&j);
    if (f->noutlets) json_outlets(&j, f);
    if (f->more) f->more(&j, f->of);
    base_json_end_object(&j);
    base_json_done(&j);
}

void rs_figures_none_json(struct base_sink sink, enum rs_at at, const char *state, const char *sentence) {
    struct base_json j = base_json_into(sink);

    base_json_object(&j, NULL);
    base_json_text(&j, "state", state);
    if (at == RS_AT_SQUID) base_json_truth(&j, "on", false); /* of the version before */
    base_json_text(&j, "why", sentence);
    base_json_array(&j, "classes");
    base_json_end_array(&j);
    base_json_end_object(&j);
    base_json_done(&j);
}

/* ---- Prometheus -------------------------------------------------------------------------------------------------- */

static void prometheus_class(struct base_sink sink, const struct rs_figures *f, const char *prefix, const char *name,
                             const struct figure *of, const char *sentence) {
    bool begun = false;

    for (uint32_t i = 0; i < f->nclasses; i++) {
        const struct rs_figures_class *c = f->classes + i;
        double value = of->of(c);

        if (isnan(value)) continue;
        if (!begun) base_prometheus_family(sink, prefix, name, of->kind, sentence);
        begun = true;
        base_prometheus_sample(sink, prefix, name, (struct base_label){ "class", c->s.settings.name }, no_label, value);
    }
}

static void prometheus_outlets(struct base_sink sink, const struct rs_figures *f) {
    for (size_t k = 0; f->noutlets && k < OUTLET_FIGURES; k++) {
        base_prometheus_family(sink, OUTLET, outlet_figures[k].name, outlet_figures[k].kind,
                               outlet_figures[k].sentence);
        for (uint32_t i = 0; i < f->noutlets; i++)
            base_prometheus_sample(sink, OUTLET, outlet_figures[k].name,
                                   (struct base_label){ "outlet", rs_figures_outlet(&f->outlets[i]) }, no_label,
                                   outlet_value(&f->outlets[i], k));
    }
}

static void prometheus_refused(struct base_sink sink, const struct rs_figures *f) {
    base_prometheus_family(sink, CLASS, "refused_total", BASE_COUNTER,
                           "Requests answered 503, by the reason, of those that the host knows by class.");
    for (uint32_t i = 0; i < f->nclasses; i++)
        for (int w = 0; w < RS_WHYS; w++)
            if (f->whys_by_class >> w & 1)
                base_prometheus_sample(
                    sink, CLASS, "refused_total", (struct base_label){ "class", f->classes[i].s.settings.name },
                    (struct base_label){ "reason", rs_why_name((enum rs_why)w) }, (double)f->classes[i].refused[w]);
    base_prometheus_family(sink, ENGINE, "refused_total", BASE_COUNTER, "Requests answered 503, by the reason.");
    for (int w = 0; w < RS_WHYS; w++)
        base_prometheus_sample(sink, ENGINE, "refused_total",
                               (struct base_label){ "reason", rs_why_name((enum rs_why)w) }, no_label,
                               (double)f->refused[w]);
}

/* Of the version before: a name that is all there is to it. */
static void old_one(struct base_sink sink, const char *name, enum base_kind kind, struct base_label label, double value,
                    bool first) {
    if (first) base_prometheus_family(sink, "", name, kind, OLD);
    base_prometheus_sample(sink, "", name, label, no_label, value);
}

static void prometheus_olds(struct base_sink sink, const struct rs_figures *f) {
    for (size_t i = 0; i < OLDS; i++)
        if (olds[i].at == f->at && olds[i].name)
            prometheus_class(sink, f, "", olds[i].name, figures + olds[i].figure, OLD);
    if (f->at == RS_AT_SQUID) {
        old_one(sink, "squid_fqrs_on", BASE_GAUGE, no_label, f->on, true);
        old_one(sink, "squid_fqrs_waited_too_long_total", BASE_COUNTER, no_label, (double)f->refused[RS_WHY_TOO_LONG],
                true);
        return;
    }
    if (f->at != RS_AT_HTTPD) return;
    old_one(sink, "fairgate_qos_timed_out_total", BASE_COUNTER, no_label, (double)f->refused[RS_WHY_TOO_LONG], true);
    for (int w = 0; w < RS_WHYS; w++)
        old_one(sink, "fairgate_qos_unserved_total", BASE_COUNTER,
                (struct base_label){ "reason", rs_why_name((enum rs_why)w) }, (double)f->refused[w], !w);
}

static void prometheus_state(struct base_sink sink, enum rs_at at, const char *state) {
    base_prometheus_family(sink, ENGINE, "state", BASE_GAUGE, "1 of what requests are: scheduled (on), or why not.");
    base_prometheus_sample(sink, ENGINE, "state", (struct base_label){ "state", state }, no_label, 1);
    if (at == RS_AT_HTTPD)
        old_one(sink, "fairgate_qos_state", BASE_GAUGE, (struct base_label){ "state", state }, 1, true);
}

void rs_figures_none_prometheus(struct base_sink sink, enum rs_at at, const char *state) {
    prometheus_state(sink, at, state);
}

void rs_figures_prometheus(struct base_sink sink, const struct rs_figures *f) {
    static const char *const window_was[] = { "fairgate_qos_window", "squid_fqrs_window", NULL };
    const struct base_figure engine[] = {
        { "window", NULL, "Requests that the server may work on at one time; 0 if the window does not count requests.",
          window_was[f->at], f->all.window, BASE_GAUGE },
        { "link_bytes_per_second", NULL, "What the link carries, as it is configured; 0 if it is not.", NULL,
          (double)f->all.settings.rate, BASE_GAUGE },
        { "rebuilds_total", NULL, "Times the engine was made anew, since a process died inside it.", NULL,
          f->all.rebuilds, BASE_COUNTER },
    };

    prometheus_state(sink, f->at, state_of(f));
    base_figures_prometheus(sink, ENGINE, no_label, engine, sizeof engine / sizeof *engine);
    base_figures_prometheus(sink, f->own_prefix, no_label, f->own, f->nown);
    prometheus_refused(sink, f);
    for (int i = 0; i < FIGURES; i++)
        if (figures[i].name) prometheus_class(sink, f, CLASS, figures[i].name, figures + i, figures[i].sentence);
    prometheus_outlets(sink, f);
    prometheus_olds(sink, f);
}
