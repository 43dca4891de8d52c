/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures as programs read them: what is written is JSON and the text format of Prometheus, whatever stands in it;
 * names are legal and there once.
 */
#include <ctype.h>
#include <jansson.h>
#include <math.h>

#include "core/rs_figures.h"
#include "test_core.h"

struct text {
    size_t n, calls;
    char at[1 << 16];
};

static void add(void *to, const char *bytes, size_t n) {
    struct text *t = to;
    ck_assert_uint_lt(t->n + n, sizeof t->at);
    memcpy(t->at + t->n, bytes, n);
    t->at[t->n += n] = 0;
    t->calls++;
}

static struct text text;
static struct base_sink sink(void) {
    text.n = text.calls = 0;
    text.at[0] = 0;
    return (struct base_sink){ add, &text };
}

static json_t *read_json(void) {
    json_error_t why;
    json_t *j = json_loads(text.at, JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(j != NULL, "%s at %d: %s", why.text, why.position, text.at);
    return j;
}

START_TEST(json_holds_whatever_it_is_given) {
    struct base_json j = base_json_into(sink());
    char all[256], longer[3000];

    for (int i = 0; i < 127; i++) all[i] = (char)(i + 1);
    all[127] = 0;
    memset(longer, '"', sizeof longer);
    longer[sizeof longer - 1] = 0;
    base_json_object(&j, NULL);
    base_json_text(&j, all, all);
    base_json_text(&j, "long", longer);
    base_json_text(&j, "none", NULL);
    base_json_array(&j, "list");
    base_json_whole(&j, NULL, UINT64_MAX >> 1);
    base_json_number(&j, NULL, 0.5);
    base_json_number(&j, NULL, -123456789012.0);
    base_json_number(&j, NULL, NAN);
    base_json_number(&j, NULL, INFINITY);
    base_json_number(&j, NULL, 1234567890123456.0);
    base_json_array(&j, NULL);
    base_json_end_array(&j);
    base_json_truth(&j, NULL, true);
    base_json_end_array(&j);
    base_json_object(&j, "empty");
    base_json_end_object(&j);
    base_json_truth(&j, "last", false);
    base_json_end_object(&j);
    base_json_done(&j);

    json_t *read = read_json(), *list = json_object_get(read, "list");
    ck_assert_str_eq(json_string_value(json_object_get(read, all)), all);
    ck_assert_str_eq(json_string_value(json_object_get(read, "long")), longer);
    ck_assert(json_is_null(json_object_get(read, "none")));
    ck_assert_uint_eq(json_array_size(list), 8);
    ck_assert_int_eq(json_integer_value(json_array_get(list, 0)), INT64_MAX);
    ck_assert_double_eq(json_real_value(json_array_get(list, 1)), 0.5);
    ck_assert_int_eq(json_integer_value(json_array_get(list, 2)), -123456789012);
    ck_assert(json_is_null(json_array_get(list, 3)) && json_is_null(json_array_get(list, 4)));
    ck_assert_int_eq(json_integer_value(json_array_get(list, 5)), 1234567890123456);
    ck_assert(json_is_false(json_object_get(read, "last")));
    json_decref(read);
}
END_TEST

START_TEST(json_is_utf_8_whatever_it_is_given) {
    static const struct {
        const char *text, *read;
    } all[] = {
        { "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xb1", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xb1" },
        { "\xff", "\xef\xbf\xbd" },
        { "a\xe4z", "a\xef\xbf\xbdz" },
        { "\xc3", "\xef\xbf\xbd" },
        { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong */
        { "\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "\xf0\x80\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* beyond U+10FFFF */
    };
    struct base_json j = base_json_into(sink());

    base_json_array(&j, NULL);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) base_json_text(&j, NULL, all[i].text);
    base_json_end_array(&j);
    base_json_done(&j);
    json_t *read = read_json();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_str_eq(json_string_value(json_array_get(read, i)), all[i].read);
    json_decref(read);
}
END_TEST

/* JSON lets U+007F to U+009F stand, and a terminal obeys them. */
START_TEST(json_has_no_control_character) {
    static const char all[] = "\x1b \x7f \xc2\x80 \xc2\x9b \xc2\x9f \xc2\xa0";
    struct base_json j = base_json_into(sink());

    base_json_object(&j, NULL);
    base_json_text(&j, all, all);
    base_json_end_object(&j);
    base_json_done(&j);
    ck_assert_ptr_nonnull(strstr(text.at, ":\"\\u001b \\u007f \\u0080 \\u009b \\u009f \xc2\xa0\""));
    json_t *read = read_json();
    ck_assert_str_eq(json_string_value(json_object_get(read, all)), all);
    json_decref(read);
}
END_TEST

START_TEST(as_deep_as_it_goes) {
    struct base_json j = base_json_into(sink());

    for (int i = 0; i < BASE_JSON_DEEP; i++) base_json_array(&j, NULL);
    for (int i = 0; i < BASE_JSON_DEEP; i++) base_json_end_array(&j);
    base_json_done(&j);
    json_decref(read_json());
}
END_TEST

START_TEST(prometheus_holds_whatever_it_is_given) {
    base_prometheus_family(sink(), "p_", "n_total", BASE_COUNTER, "a \\ and\na line");
    ck_assert_str_eq(text.at, "# HELP p_n_total a \\\\ and\\na line\n# TYPE p_n_total counter\n");
    base_prometheus_sample(sink(), "p_", "n", (struct base_label){ "a", "x\"y\\z\n" }, (struct base_label){ "b", "" },
                           2.5);
    ck_assert_str_eq(text.at, "p_n{a=\"x\\\"y\\\\z\\n\",b=\"\"} 2.5\n");
    ck_assert_uint_eq(text.calls, 1);
    base_prometheus_sample(sink(), "p_", "n", (struct base_label){ "a", "\xc3\xa4\xff" },
                           (struct base_label){ NULL, NULL }, 1e15);
    ck_assert_str_eq(text.at, "p_n{a=\"\xc3\xa4\xef\xbf\xbd\"} 1000000000000000\n");
    base_prometheus_sample(sink(), "p_", "n", (struct base_label){ NULL, NULL }, (struct base_label){ NULL, NULL },
                           NAN);
    ck_assert_str_eq(text.at, "p_n NaN\n");
    base_prometheus_sample(sink(), "p_", "n", (struct base_label){ NULL, NULL }, (struct base_label){ NULL, NULL },
                           -INFINITY);
    ck_assert_str_eq(text.at, "p_n -Inf\n");
}
END_TEST

/* A busy engine with two classes, as a host looks at it; one class has a name that no policy would let in. */
static struct rs_figures_class classes[2];
static struct rs_figures look_at(struct world *w, enum rs_at at) {
    static const struct base_figure own[] = { { "held", "held", "Those held.", "old_held", 3, BASE_GAUGE },
                                              { "is", "is", "Whether it is.", NULL, 1, BASE_TRUTH } };
    struct rs_figures f = {
        .at = at, .on = true, .classes = classes, .nclasses = 2, .own = own, .nown = 2, .own_prefix = "fairgate_own_"
    };

    rs_stats(w->e, &f.all);
    for (uint32_t i = 0; i < 2; i++) {
        f.whys_by_class = at == RS_AT_SQUID ? UINT32_MAX : 1u << RS_WHY_CLASS_FULL;
        classes[i] = (struct rs_figures_class){ .wait_s = 30 + i, .descriptors = at == RS_AT_SQUID ? i : NAN };
        rs_class_stats(w->e, i, &classes[i].s);
        for (int why = 0; why < RS_WHYS; why++) f.refused[why] += classes[i].refused[why] = 10 * i + (uint64_t)why;
    }
    return f;
}

static void open_busy(struct world *w) {
    open_world(w, RS_SCHED_DRR, RS_GATE_WINDOW, 1, (const uint32_t[]){ 3, 1 }, 2, 8);
    rs_ticket_t t;
    rs_time_t again;
    for (int i = 0; i < 3; i++) ck_assert_int_eq(rs_submit(w->e, 0, (uint32_t)i % 2, 0, 1000, 1, 0, &t), RS_OK);
    t = rs_pick(w->e, 2000000, &again);
    rs_progress(w->e, 2000000, t, 500);
    rs_finish(w->e, 2500000, t);
    rs_pick(w->e, 2500000, &again);
}

static double number(const json_t *o, const char *key) {
    const json_t *n = json_object_get(o, key);
    ck_assert_msg(json_is_number(n), "%s is missing", key);
    return json_number_value(n);
}

START_TEST(a_look_as_json) {
    struct world w;
    open_busy(&w);
    for (int at = RS_AT_HTTPD; at <= RS_AT_SQUID; at++) {
        struct rs_figures f = look_at(&w, (enum rs_at)at);
        memcpy(classes[1].s.settings.name, "a\"b\\", 5);
        rs_figures_json(sink(), &f);
        json_t *read = read_json(), *one = json_array_get(json_object_get(read, "classes"), 0),
               *two = json_array_get(json_object_get(read, "classes"), 1);
        ck_assert_str_eq(json_string_value(json_object_get(read, "state")), "on");
        ck_assert_str_eq(json_string_value(json_object_get(read, "scheduler")), "drr");
        ck_assert_double_eq(number(read, "held"), 3);
        ck_assert(json_is_true(json_object_get(read, "is")));
        ck_assert_double_eq(number(read, "bytes"), 500);
        ck_assert_double_eq(number(read, "timed_out"), 5 + 15);
        ck_assert_double_eq(number(read, "refused"), 0 + 1 + 2 + 3 + 4 + 10 + 11 + 12 + 13 + 14);
        ck_assert_double_eq(number(json_object_get(read, "refused_by"), "no-descriptor"), 4 + 14);
        ck_assert_str_eq(json_string_value(json_object_get(two, "name")), "a\"b\\");
        ck_assert_double_eq(number(one, "weight"), 3);
        ck_assert_double_eq(number(one, "share"), 1);
        ck_assert_double_eq(number(one, "done") + number(two, "done"), 1);
        ck_assert_double_eq(number(one, "service_ms_mean"), 500);
        ck_assert_double_eq(number(one, "wait_ms_max") >= 2000, 1);
        ck_assert_double_eq(number(two, "wait_limit_s"), 31);
        ck_assert_double_eq(number(two, "refused"), 10 + 11 + 12 + 13 + 14);
        ck_assert_double_eq(number(json_object_get(two, "refused_by"), "class-full"), 10);
        /* What a host does not know of each class is not 0. */
        ck_assert_uint_eq(json_object_size(json_object_get(two, "refused_by")), at == RS_AT_SQUID ? RS_WHYS : 1);
        ck_assert_uint_eq(json_object_size(json_object_get(read, "refused_by")), RS_WHYS);
        /* What the version before said. */
        ck_assert_int_eq(json_object_get(one, "slot_ms_mean") != NULL, at == RS_AT_SQUID);
        ck_assert_int_eq(json_object_get(read, "order") != NULL, at == RS_AT_SQUID);
        ck_assert_int_eq(json_object_get(one, "descriptors") != NULL, at == RS_AT_SQUID);
        json_decref(read);
    }
    close_world(&w);
}
END_TEST

/*
 * Takes the text apart line by line: a family has one HELP and one TYPE before its samples, once; counters and only
 * they end in _total.
 */
static void judge_prometheus(char *all, bool judge_names) {
    char family[128] = "", *lines = all, *line;
    static char seen[256][128];
    size_t nseen = 0;

    while ((line = strsep(&lines, "\n")) && *line) {
        char name[128] = "", word[16] = "", kind[16] = "";
        if (sscanf(line, "# %15s %127s %15s", word, name, kind) >= 2) {
            if (!strcmp(word, "HELP")) {
                for (size_t i = 0; i < nseen; i++) ck_assert_msg(strcmp(seen[i], name), "%s is there twice", name);
                ck_assert_uint_lt(nseen, 256);
                strcpy(seen[nseen++], name);
                strcpy(family, name);
                for (const char *c = name; *c; c++) ck_assert_msg(islower((unsigned char)*c) || *c == '_', "%s", name);
            } else {
                bool total = strlen(name) > 6 && !strcmp(name + strlen(name) - 6, "_total");
                ck_assert_str_eq(word, "TYPE");
                ck_assert_str_eq(name, family);
                if (judge_names) ck_assert_msg(total == !strcmp(kind, "counter"), "%s is a %s", name, kind);
            }
            continue;
        }
        size_t n = strcspn(line, "{ ");
        ck_assert_msg(n == strlen(family) && !strncmp(line, family, n), "%s stands below %s", line, family);
    }
    ck_assert_uint_gt(nseen, 15);
}

START_TEST(a_look_for_prometheus) {
    struct world w;
    open_busy(&w);
    for (int at = RS_AT_HTTPD; at <= RS_AT_SQUID; at++) {
        struct rs_figures f = look_at(&w, (enum rs_at)at);
        rs_figures_prometheus(sink(), &f);
        ck_assert(strstr(text.at, "fairgate_state{state=\"on\"} 1\n"));
        ck_assert(strstr(text.at, "fairgate_class_weight{class=\"c0\"} 3\n"));
        ck_assert(strstr(text.at, "fairgate_class_refused_total{class=\"c1\",reason=\"class-full\"} 10\n"));
        ck_assert_int_eq(strstr(text.at, "fairgate_class_refused_total{class=\"c1\",reason=\"too-long\"} 15\n") != NULL,
                         at == RS_AT_SQUID);
        ck_assert(strstr(text.at, "fairgate_refused_total{reason=\"class-full\"} 10\n"));
        ck_assert(strstr(text.at, "fairgate_class_service_seconds_total{class=\"c0\"} 0.5\n"));
        ck_assert(strstr(text.at, "fairgate_own_held 3\n") && strstr(text.at, "old_held 3\n"));
        ck_assert_int_eq(strstr(text.at, "fairgate_class_descriptors{class=\"c1\"} 1\n") != NULL, at == RS_AT_SQUID);
        ck_assert(strstr(text.at, at == RS_AT_SQUID ? "squid_fqrs_slot_seconds_total{class=\"c0\"} 0.5\n"
                                                    : "fairgate_qos_service_seconds_total{class=\"c0\"} 0.5\n"));
        judge_prometheus(text.at, true);
    }
    close_world(&w);
}
END_TEST

/* Rules that were written for the version before find their names at the host that had them, and nowhere else. */
START_TEST(every_old_name_goes_on_at_its_host) {
    static const struct {
        enum rs_at at;
        const char *name;
    } olds[] = {
#define RS_FIGURE(id, name, kind, json, value, sentence)
#define RS_WAS(host, name, json, id) { host, name },
#include "rs_figures.def"
#undef RS_FIGURE
#undef RS_WAS
    };
    struct world w;
    open_busy(&w);
    for (int at = RS_AT_HTTPD; at <= RS_AT_SQUID; at++) {
        struct rs_figures f = look_at(&w, (enum rs_at)at);
        rs_figures_prometheus(sink(), &f);
        for (size_t i = 0; i < sizeof olds / sizeof *olds; i++) {
            char sample[128];
            if (!olds[i].name) continue;
            snprintf(sample, sizeof sample, "\n%s{class=\"c0\"} ", olds[i].name);
            ck_assert_msg((strstr(text.at, sample) != NULL) == ((int)olds[i].at == at), "%s", olds[i].name);
        }
    }
    close_world(&w);
}
END_TEST

/* Each figure of the engine has its own number, by every name that it has. */
START_TEST(each_figure_of_the_engine_under_its_name) {
    struct rs_figures_class c = { .s = { .settings = { .name = "one", .weight = 1 }, .counts = { .bytes = 90 } },
                                  .descriptors = NAN };
    static const struct base_figure own = { "held", "held", "Those held.", NULL, 3, BASE_GAUGE };
    struct rs_figures f = {
        .on = true, .classes = &c, .nclasses = 1, .own = &own, .nown = 1, .own_prefix = "fairgate_own_"
    };
    static const struct {
        const char *key;
        int value;
    } numbers[] = {
        { "window", 101 },    { "rate", 102 },      { "queued", 103 },    { "outstanding", 104 }, { "parked", 105 },
        { "submitted", 106 }, { "released", 107 },  { "timed_out", 108 }, { "cancelled", 109 },   { "done", 110 },
        { "aborted", 111 },   { "reclaimed", 112 }, { "rebuilds", 113 },  { "bytes", 90 },
    };

    f.all = (struct rs_stats){ .window = 101, .queued = 103, .outstanding = 104, .parked = 105, .rebuilds = 113 };
    f.all.settings = (struct rs_settings){ .sched = RS_SCHED_RFQ, .gate = RS_GATE_BYTES, .rate = 102 };
    f.all.counts = (struct rs_counts){
        .submitted = 106, .released = 107, .cancelled = 109, .done = 110, .aborted = 111, .reclaimed = 112
    };
    f.refused[RS_WHY_TOO_LONG] = 108;
    for (int at = RS_AT_HTTPD; at <= RS_AT_SQUID; at++) {
        f.at = (enum rs_at)at;
        rs_figures_json(sink(), &f);
        json_t *read = read_json();
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            ck_assert_msg(number(read, numbers[i].key) == numbers[i].value, "%s is %g", numbers[i].key,
                          number(read, numbers[i].key));
        ck_assert_str_eq(json_string_value(json_object_get(read, "gate")), "bytes");
        ck_assert_double_eq(number(json_object_get(read, "refused_by"), "too-long"), 108);
        if (at == RS_AT_SQUID) {
            ck_assert_double_eq(number(read, "waited_too_long"), 108);
            ck_assert_str_eq(json_string_value(json_object_get(read, "order")), "rfq");
            ck_assert(json_is_true(json_object_get(read, "on")));
        }
        json_decref(read);

        rs_figures_prometheus(sink(), &f);
        ck_assert(strstr(text.at, "\nfairgate_window 101\n"));
        ck_assert(strstr(text.at, "\nfairgate_link_bytes_per_second 102\n"));
        ck_assert(strstr(text.at, "\nfairgate_rebuilds_total 113\n"));
        ck_assert(strstr(text.at, "\nfairgate_refused_total{reason=\"too-long\"} 108\n"));
        ck_assert(strstr(text.at, at == RS_AT_SQUID ? "\nsquid_fqrs_window 101\n" : "\nfairgate_qos_window 101\n"));
        ck_assert(strstr(text.at, at == RS_AT_SQUID ? "\nsquid_fqrs_waited_too_long_total 108\n"
                                                    : "\nfairgate_qos_timed_out_total 108\n"));
        ck_assert(strstr(text.at, at == RS_AT_SQUID ? "\nsquid_fqrs_on 1\n"
                                                    : "\nfairgate_qos_unserved_total{reason=\"too-long\"} 108\n"));
        ck_assert(
            strstr(text.at, at == RS_AT_SQUID ? "\nsquid_fqrs_on 1\n" : "\nfairgate_qos_state{state=\"on\"} 1\n"));
        ck_assert_int_eq(strstr(text.at, "fairgate_class_descriptors") != NULL, 0);
        judge_prometheus(text.at, true);
    }
    ck_assert_ptr_null(strstr(text.at, "fairgate_outlet_"));
    f.on = false;
    rs_figures_prometheus(sink(), &f);
    ck_assert(strstr(text.at, "fairgate_state{state=\"off\"} 1\n"));
    ck_assert_double_eq(rs_figures_share(&c, 0), 0);
    ck_assert_double_eq(rs_figures_share(&c, 360), 0.25);
    ck_assert_double_eq(rs_figures_mean_ms(77, 0), 0);
    ck_assert_double_eq(rs_figures_mean_ms(6000, 4), 1.5);
}
END_TEST

START_TEST(a_row_of_each_outlet) {
    struct rs_figures_class c = { .s = { .settings = { .name = "one", .weight = 1 } } };
    const struct rs_outlet_stats outlets[2] = {
        { .settings = { .gate = RS_GATE_AUTO }, .window = 8, .queued = 1, .outstanding = 2, .parked = 3 },
        { .settings = { .name = "http://a\"/", .gate = RS_GATE_WINDOW }, .window = 4, .refused = 5, .retired = 1 },
    };
    struct rs_figures f = {
        .on = true, .classes = &c, .nclasses = 1, .outlets = outlets, .noutlets = 2, .own_prefix = "fairgate_own_"
    };
    json_t *read, *row;

    rs_figures_json(sink(), &f);
    read = read_json();
    row = json_array_get(json_object_get(read, "outlets"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(row, "name")), "server");
    ck_assert_str_eq(json_string_value(json_object_get(row, "gate")), "auto");
    ck_assert(json_is_false(json_object_get(row, "retired")));
    ck_assert(number(row, "window") == 8 && number(row, "queued") == 1 && number(row, "outstanding") == 2 &&
              number(row, "parked") == 3 && number(row, "refused") == 0);
    row = json_array_get(json_object_get(read, "outlets"), 1);
    ck_assert_str_eq(json_string_value(json_object_get(row, "name")), "http://a\"/");
    ck_assert(json_is_true(json_object_get(row, "retired")));
    ck_assert(number(row, "window") == 4 && number(row, "refused") == 5);
    json_decref(read);
    rs_figures_prometheus(sink(), &f);
    ck_assert(strstr(text.at, "\nfairgate_outlet_window{outlet=\"server\"} 8\n"));
    ck_assert(strstr(text.at, "\nfairgate_outlet_refused_total{outlet=\"http://a\\\"/\"} 5\n"));
    judge_prometheus(text.at, true);
}
END_TEST

START_TEST(nothing_is_scheduled) {
    rs_figures_none_json(sink(), RS_AT_HTTPD, "off", "QosEngine is \"off\"");
    json_t *read = read_json();
    ck_assert_str_eq(json_string_value(json_object_get(read, "why")), "QosEngine is \"off\"");
    ck_assert_str_eq(json_string_value(json_object_get(read, "state")), "off");
    ck_assert_uint_eq(json_array_size(json_object_get(read, "classes")), 0);
    json_decref(read);
    rs_figures_none_prometheus(sink(), RS_AT_SQUID, "off");
    ck_assert(strstr(text.at, "fairgate_state{state=\"off\"} 1\n"));
}
END_TEST

int main(void) {
    Suite *s = suite_create("figures");
    TCase *c = tcase_create("figures");
    suite_add_tcase(s, c);
    tcase_add_test(c, json_holds_whatever_it_is_given);
    tcase_add_test(c, json_is_utf_8_whatever_it_is_given);
    tcase_add_test(c, json_has_no_control_character);
    tcase_add_test(c, as_deep_as_it_goes);
    tcase_add_test(c, prometheus_holds_whatever_it_is_given);
    tcase_add_test(c, a_look_as_json);
    tcase_add_test(c, a_look_for_prometheus);
    tcase_add_test(c, every_old_name_goes_on_at_its_host);
    tcase_add_test(c, each_figure_of_the_engine_under_its_name);
    tcase_add_test(c, a_row_of_each_outlet);
    tcase_add_test(c, nothing_is_scheduled);
    return run_suite(s);
}
