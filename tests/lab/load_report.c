/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load_report.c - what fairgate-load prints.  A line of JSON:
 *
 *   {"final": false, "t": 2.0, "seconds": 1.0, "classes": [CLASS, ...], "total": CLASS}
 *   CLASS = {"name": "people", "clients": 30, "busy": 30, "requests": 812, "bytes": 9000000, "requests_per_s": 812.0,
 *   "bytes_per_s": 9e6,
 *            "share": 61.2, "connects": 30, "stale": 0, "aborted": 0, "missed": 0, "gap_s": 0.2, "status": {"200":
 *            812}, "errors": {"connect": 0, ...}, "latency_ms": {"mean": 36.9, "p50": 30.1, "p95": 80.2, "p99": 120.0,
 *            "max": 240.3}}
 *
 * t is the end of the interval in seconds since the measurement began, share is percent of all bytes, busy is the
 * clients that have a request outstanding at this moment, gap_s the longest time without a byte for the class.  Classes
 * of one name (clients of one kind with different headers, say) are reported as one.
 */
#include "load.h"

#include <string.h>
#include <unistd.h>

static const char *const error_names[] = {
#define X(name, text) text,
    LOAD_ERRORS(X)
#undef X
};

static void join(struct load_counts *into, const struct load_counts *from) {
    into->requests += from->requests;
    into->bytes += from->bytes;
    into->connects += from->connects;
    into->stale += from->stale;
    into->aborted += from->aborted;
    into->missed += from->missed;
    if (from->gap_most > into->gap_most) into->gap_most = from->gap_most;
    for (int i = 0; i < LOAD_ERR_COUNT; i++) into->errors[i] += from->errors[i];
    for (int i = 0; i < 600; i++) into->status[i] += from->status[i];
    lab_hist_merge(&into->latency, &from->latency);
}

static uint32_t busy_clients(const struct load *l, const char *name) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->client_count; i++) {
        const struct load_client *c = &l->clients[i];
        n += load_client_busy(c) && (!name || strcmp(c->class->name, name) == 0);
    }
    return n;
}

static void print_counts(FILE *out, const struct load_counts *n, uint64_t all_bytes, double seconds) {
    const char *comma = "";
    double per_s = seconds > 0 ? 1 / seconds : 0;
    fprintf(out,
            "\"requests\": %llu, \"bytes\": %llu, \"requests_per_s\": %.2f, \"bytes_per_s\": %.1f, \"share\": %.4f, ",
            (unsigned long long)n->requests, (unsigned long long)n->bytes, (double)n->requests * per_s,
            (double)n->bytes * per_s, all_bytes ? 100.0 * (double)n->bytes / (double)all_bytes : 0.0);
    fprintf(out,
            "\"connects\": %llu, \"stale\": %llu, \"aborted\": %llu, \"missed\": %llu, \"gap_s\": %.3f, \"status\": {",
            (unsigned long long)n->connects, (unsigned long long)n->stale, (unsigned long long)n->aborted,
            (unsigned long long)n->missed, (double)n->gap_most / 1e6);
    for (int i = 0; i < 600; i++) {
        if (n->status[i]) {
            fprintf(out, "%s\"%d\": %llu", comma, i, (unsigned long long)n->status[i]);
            comma = ", ";
        }
    }
    fputs("}, \"errors\": {", out);
    for (int i = 0; i < LOAD_ERR_COUNT; i++)
        fprintf(out, "%s\"%s\": %llu", i ? ", " : "", error_names[i], (unsigned long long)n->errors[i]);
    const struct lab_hist *h = &n->latency;
    fprintf(out, "}, \"latency_ms\": {\"mean\": %.3f, \"p50\": %.3f, \"p95\": %.3f, \"p99\": %.3f, \"max\": %.3f}}",
            lab_hist_mean(h) / 1e3, (double)lab_hist_quantile(h, 0.5) / 1e3, (double)lab_hist_quantile(h, 0.95) / 1e3,
            (double)lab_hist_quantile(h, 0.99) / 1e3, (double)h->max / 1e3);
}

struct sum {
    struct load_counts counts;
    uint32_t clients;
};

/* What all classes of this one's name have done; 0 if an earlier one has the name, and stands for this one. */
static int sum_up(const struct load *l, uint32_t class, bool final, struct sum *s) {
    const char *name = l->classes[class].name;
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < l->class_count; i++) {
        const struct load_class *k = &l->classes[i];
        if (strcmp(k->name, name) != 0) continue;
        if (i < class) return 0;
        join(&s->counts, final ? &k->all : &k->now);
        s->clients += k->clients;
    }
    return 1;
}

void load_report_json(struct load *l, FILE *out, bool final, uint64_t from, uint64_t to) {
    static struct load_counts total;
    static struct sum sum;
    double seconds = (double)(to - from) / 1e6;
    memset(&total, 0, sizeof total);
    for (uint32_t i = 0; i < l->class_count; i++) join(&total, final ? &l->classes[i].all : &l->classes[i].now);
    fprintf(out, "{\"final\": %s, \"t\": %.3f, \"seconds\": %.3f, \"classes\": [", final ? "true" : "false",
            (double)(to - l->started) / 1e6, seconds);
    for (uint32_t i = 0; i < l->class_count; i++) {
        const char *name = l->classes[i].name;
        if (!sum_up(l, i, final, &sum)) continue;
        fprintf(out, "%s{\"name\": \"%s\", \"clients\": %u, \"busy\": %u, ", i ? ", " : "", name, sum.clients,
                busy_clients(l, name));
        print_counts(out, &sum.counts, total.bytes, seconds);
    }
    fprintf(out, "], \"total\": {\"name\": \"total\", \"clients\": %u, \"busy\": %u, ", l->client_count,
            busy_clients(l, NULL));
    print_counts(out, &total, total.bytes, seconds);
    fputs("}\n", out);
    fflush(out);
}

void load_report_table(struct load *l, FILE *out, bool final, uint64_t from, uint64_t to) {
    static uint32_t drawn;
    static struct sum sum;
    double seconds = (double)(to - from) / 1e6;
    uint64_t all_bytes = 0;
    for (uint32_t i = 0; i < l->class_count; i++)
        all_bytes += final ? l->classes[i].all.bytes : l->classes[i].now.bytes;
    if (drawn && isatty(fileno(out))) fprintf(out, "\033[%uA", drawn);
    drawn = 1;
    fprintf(out, "%-16s %7s %7s %9s %9s %8s %9s %9s %7s  %s\n", "class", "clients", "share", "req/s", "Mbit/s", "503",
            "mean ms", "p95 ms", "errors", final ? "whole run" : "");
    for (uint32_t i = 0; i < l->class_count; i++) {
        const struct load_counts *n = &sum.counts;
        uint64_t errors = 0;
        if (!sum_up(l, i, final, &sum)) continue;
        drawn++;
        for (int e = 0; e < LOAD_ERR_COUNT; e++) errors += n->errors[e];
        fprintf(out, "%-16s %7u %6.1f%% %9.1f %9.2f %8llu %9.1f %9.1f %7llu\n", l->classes[i].name, sum.clients,
                all_bytes ? 100.0 * (double)n->bytes / (double)all_bytes : 0.0,
                seconds > 0 ? (double)n->requests / seconds : 0.0,
                seconds > 0 ? (double)n->bytes * 8e-6 / seconds : 0.0, (unsigned long long)n->status[503],
                lab_hist_mean(&n->latency) / 1e3, (double)lab_hist_quantile(&n->latency, 0.95) / 1e3,
                (unsigned long long)errors);
    }
    fflush(out);
}

void load_report_roll(struct load *l) {
    for (uint32_t i = 0; i < l->class_count; i++) {
        join(&l->classes[i].all, &l->classes[i].now);
        memset(&l->classes[i].now, 0, sizeof l->classes[i].now);
    }
}

void load_report_clear(struct load *l) {
    for (uint32_t i = 0; i < l->class_count; i++) {
        memset(&l->classes[i].all, 0, sizeof l->classes[i].all);
        memset(&l->classes[i].now, 0, sizeof l->classes[i].now);
    }
}
