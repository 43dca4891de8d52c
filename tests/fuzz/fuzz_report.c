/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_report.c - any bytes as the texts of a status page: names of classes, outlets, crawlers.
 *
 * What must hold: JSON is read by another's parser and says as many texts as were written, and of UTF-8 the same text;
 * of Prometheus's text each line is a comment, or one sample whose labels end where they should; no control characters
 * but line ends.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/base_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct written {
    char *text;
    size_t n, room;
};

static void take(void *to, const char *text, size_t bytes) {
    struct written *w = to;

    if (bytes > w->room - w->n) {
        w->room = 2 * (w->n + bytes);
        w->text = realloc(w->text, w->room);
        assert(w->text);
    }
    memcpy(w->text + w->n, text, bytes);
    w->n += bytes;
}

static void as_json(const char *text, double number) {
    struct written w = { NULL, 0, 0 };
    struct base_json j = base_json_into((struct base_sink){ take, &w });
    json_t *all, *same = json_string(text), *value;

    base_json_object(&j, NULL);
    base_json_text(&j, "text", text);
    base_json_array(&j, "more");
    base_json_text(&j, NULL, text);
    base_json_number(&j, NULL, number);
    base_json_end_array(&j);
    base_json_number(&j, text, 1);
    base_json_end_object(&j);
    base_json_done(&j);
    all = json_loadb(w.text, w.n, 0, NULL);
    assert(all);
    value = json_object_get(all, "text");
    assert(json_is_string(value) && json_array_size(json_object_get(all, "more")) == 2);
    /* jansson makes a text of UTF-8 alone. */
    if (same) assert(json_equal(same, value));
    for (size_t i = 0; i + 1 < w.n; i++) assert((unsigned char)w.text[i] >= ' ' && w.text[i] != 0x7f);
    json_decref(all);
    json_decref(same);
    free(w.text);
}

/* Behind {name="...",name="..."}, or NULL. */
static const char *labels_end(const char *p, const char *end) {
    while (p < end && *p != '}') {
        while (p < end && *p != '"') p++;
        for (p++; p < end && *p != '"'; p++)
            if (*p == '\\') p++;
        p++;
        if (p < end && *p == ',') p++;
    }
    return p < end ? p + 1 : NULL;
}

static void as_prometheus(const char *text, double number) {
    struct written w = { NULL, 0, 0 };
    struct base_sink sink = { take, &w };
    struct base_label a = { "one", text }, b = { "two", text }, none = { NULL, NULL };
    unsigned samples = 0;

    base_prometheus_family(sink, "fairgate_", "x", BASE_GAUGE, text);
    base_prometheus_sample(sink, "fairgate_", "x", a, b, number);
    base_prometheus_sample(sink, "fairgate_", "x", a, none, number);
    for (const char *p = w.text, *stop, *end = w.text + w.n; p < end; p = stop + 1) {
        stop = memchr(p, '\n', (size_t)(end - p));
        assert(stop);
        if (*p == '#') continue;
        samples++;
        assert(!strncmp(p, "fairgate_x{one=\"", 16));
        p = labels_end(p + 11, stop);
        assert(p && *p == ' ' && stop > p + 1 && !memchr(p + 1, ' ', (size_t)(stop - p - 1)));
    }
    assert(samples == 2);
    free(w.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    double number = 0;
    char *text;

    if (size < sizeof number) return 0;
    memcpy(&number, data, sizeof number);
    size -= sizeof number;
    text = malloc(size + 1);
    assert(text);
    memcpy(text, data + sizeof number, size);
    text[size] = '\0';
    as_json(text, number);
    as_prometheus(text, number);
    free(text);
    return 0;
}
