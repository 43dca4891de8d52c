/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_console.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <sys/signalfd.h>

#include "base/base_command.h"
#include "base/base_log.h"
#include "console/console_serve.h"
#include "console/console_told.h"
#include "pk_report.h"

enum { SECOND_US = 1000000, HANGS_US = 1000000, ASKS_AGAIN_US = 5000000 };

struct console {
    const char *control;
    uint64_t not_before; /* the daemon hangs, and would keep whoever looks waiting */
    uint64_t asked;      /* when for `figures`: the daemon, which carries packets, is asked once a second by all */
    char *figures;       /* malloc'ed: for Prometheus */
    struct console_ring ring;
    char *now; /* malloc'ed: what the daemon said last, without connections */
};

static uint64_t console_now_us(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static uint32_t console_add(struct console_column *to, uint32_t n, const char *name, bool counter,
                            const json_t *value) {
    if (n >= CONSOLE_COLUMNS || strlen(name) >= CONSOLE_NAME) return n;
    memset(to + n, 0, sizeof *to);
    strcpy(to[n].name, name);
    to[n].counter = counter;
    to[n].value = json_number_value(value);
    return n + 1;
}

static void console_take(struct console *c, json_t *all) {
    static const char *const gauges[] = { "flows", "store_kept" };
    struct console_column column[CONSOLE_COLUMNS];
    const char *name;
    json_t *value;
    uint32_t n = 0;

    json_object_foreach(json_object_get(all, "counters"), name, value) n = console_add(column, n, name, true, value);
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++)
        n = console_add(column, n, gauges[i], false, json_object_get(all, gauges[i]));
    console_ring_add(&c->ring, console_now_us(), column, n);
    json_object_del(all, "connections");
    free(c->now);
    c->now = json_dumps(all, JSON_COMPACT | JSON_PRESERVE_ORDER);
}

static char *console_ask(struct console *c, const char *format) {
    uint64_t began = console_now_us(), took;
    char *answer;

    if (began < c->not_before) return NULL;
    answer = pk_report_ask(c->control, format, false);
    took = console_now_us() - began;
    if (!answer && took > HANGS_US) c->not_before = began + took + ASKS_AGAIN_US;
    return answer;
}

static void console_second(void *of) {
    struct console *c = of;
    char *answer;
    json_t *all;

    if (!console_ring_due(&c->ring, console_now_us())) return;
    answer = console_ask(c, "json");
    all = answer ? json_loads(answer, 0, NULL) : NULL;
    free(answer);
    if (json_is_object(all)) {
        console_take(c, all);
    } else {
        free(c->now);
        c->now = NULL;
    }
    json_decref(all);
}

static void console_write_now(struct base_sink sink, const void *of) {
    static const char none[] = "{\"at_work\":false,\"why\":\"the daemon does not answer\",\"counters\":{}}";
    const char *text = of ? of : none;

    sink.write(sink.to, text, strlen(text));
}

static void console_told_of(void *of, struct base_sink sink, bool all) {
    const struct console *c = of;
    const struct console_told t = {
        .house = "pktcache", .now = console_write_now, .of = c->now, .ring = &c->ring, .now_us = console_now_us()
    };

    console_tell(sink, &t, all);
}

static bool console_metrics(void *of, struct base_sink sink) {
    struct console *c = of;
    uint64_t now = console_now_us();

    if (!c->asked || now - c->asked >= SECOND_US) {
        free(c->figures);
        c->figures = console_ask(c, "prometheus");
        c->asked = now;
    }
    if (c->figures) sink.write(sink.to, c->figures, strlen(c->figures));
    return c->figures != NULL;
}

int pk_console(const char *listens, const char *control, const char *others, const char *from) {
    struct console *c = calloc(1, sizeof *c);
    const struct console_served served = { others, from, console_second, console_told_of, console_metrics, c };
    char *error = NULL;
    sigset_t set;
    int ends, rv;

    if (!c) return base_failed(NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    ends = signalfd(-1, &set, SFD_CLOEXEC);
    c->control = control;
    base_log(BASE_LOG_NOTICE, "the console is at http://%s/", listens);
    rv = console_serve(listens, &served, ends, &error) ? base_failed(error) : 0;
    close(ends);
    free(c->figures);
    free(c->now);
    free(c);
    return rv;
}
