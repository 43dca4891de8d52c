/* SPDX-License-Identifier: BSD-2-Clause */
/* The ground floor of core/: heap, size buckets, carving; and who may include whom. */
#include "test_core.h"

#include "base_arena.h"
#include "base_buckets.h"
#include "base_heap.h"

#include <dirent.h>

#define IDS 500u

struct heap_memory {
    struct rs_heap heap;
    struct rs_heap_node node[IDS];
    uint32_t place[IDS];
};

static void clear(struct heap_memory *m) {
    m->heap.capacity = IDS;
    m->heap.node_at = offsetof(struct heap_memory, node);
    m->heap.place_at = offsetof(struct heap_memory, place);
    rs_heap_clear(&m->heap);
}

static void heap_is_sound(const struct rs_heap *h) {
    const char *broken = rs_heap_check(h);
    ck_assert_msg(!broken, "%s", broken ? broken : "");
}

/* Against an array that is searched from end to end. */
START_TEST(heap_gives_the_least) {
    static struct heap_memory m;
    uint64_t key[IDS], seed = 4711 + (uint64_t)_i;
    uint8_t in[IDS] = { 0 };
    clear(&m);
    for (int step = 0; step < 20000; step++) {
        uint32_t id = (uint32_t)(draw(&seed) % IDS);
        uint64_t k = draw(&seed) % (_i ? 50 : UINT64_MAX); /* many equal keys, or hardly any */
        if (!in[id]) rs_heap_push(&m.heap, id, key[id] = k);
        else if (step % 3) rs_heap_rekey(&m.heap, id, key[id] = k);
        else rs_heap_remove(&m.heap, id);
        in[id] = !in[id] || step % 3;
        if (step % 50 == 0) heap_is_sound(&m.heap);
        ck_assert_int_eq(rs_heap_has(&m.heap, id), in[id]);
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < IDS; i++)
            if (in[i] && key[i] < least) least = key[i];
        if (m.heap.count) ck_assert_uint_eq(rs_heap_top(&m.heap).key, least);
    }
    rs_heap_lower(&m.heap, 10);
    heap_is_sound(&m.heap);
    for (uint32_t i = 0; i < IDS; i++)
        if (in[i]) ck_assert_uint_eq(m.node[m.place[i]].key, key[i] > 10 ? key[i] - 10 : 0);
}
END_TEST

START_TEST(heap_check_sees_damage) {
    static struct heap_memory m;
    clear(&m);
    for (uint32_t i = 0; i < 100; i++) rs_heap_push(&m.heap, i, i);
    heap_is_sound(&m.heap);
    m.node[7].key = 1000;
    ck_assert_ptr_nonnull(rs_heap_check(&m.heap));
    m.node[7].key = 7;
    m.place[3] = 4;
    ck_assert_ptr_nonnull(rs_heap_check(&m.heap));
    m.place[3] = 3;
    m.heap.count--;
    ck_assert_ptr_nonnull(rs_heap_check(&m.heap));
    m.heap.count++;
    heap_is_sound(&m.heap);
    m.node[0].key = 2; /* its least child has 1 */
    ck_assert_ptr_nonnull(strstr(rs_heap_check(&m.heap), "order"));
    m.node[0].key = 0;
    m.node[99].id = IDS;
    ck_assert_ptr_nonnull(strstr(rs_heap_check(&m.heap), "unknown"));
    m.node[99].id = 99;
    m.place[IDS - 1] = 5;
    ck_assert_ptr_nonnull(strstr(rs_heap_check(&m.heap), "lost"));
    m.place[IDS - 1] = RS_NIL;
    m.heap.count = IDS + 1;
    ck_assert_ptr_nonnull(strstr(rs_heap_check(&m.heap), "more than there is"));
    m.heap.count = 100;
    heap_is_sound(&m.heap);
}
END_TEST

START_TEST(buckets_grow_by_half_a_doubling) {
    uint32_t was = 0;
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 39; bytes += 1 + bytes / 100) {
        uint32_t b = rs_bucket_of(bytes);
        ck_assert_uint_ge(b, was);
        ck_assert_uint_le(b, was + 1);
        ck_assert_uint_lt(b, RS_BUCKETS);
        was = b;
    }
    ck_assert_uint_eq(rs_bucket_of(95), 0);
    ck_assert_uint_eq(rs_bucket_of(96), 1);
    ck_assert_uint_eq(rs_bucket_of(128), 2);
    ck_assert_uint_eq(rs_bucket_of(192), 3);
    ck_assert_uint_eq(was, RS_BUCKETS - 1);
    ck_assert_uint_eq(rs_bucket_of(RS_BYTES_MAX), RS_BUCKETS - 1);
}
END_TEST

START_TEST(parts_begin_at_multiples_of_64) {
    uint64_t used = 10, first = rs_carve(&used, 3, 5), second = rs_carve(&used, 1, 64);
    ck_assert_uint_eq(first, 64);
    ck_assert_uint_eq(second, 128);
    ck_assert_uint_eq(used, 192);
}
END_TEST

/* ---- floors ------------------------------------------------------------------------------------------------------ */

/* What a file may include, by the beginning of its own name; the longest beginning counts. */
static const struct floor {
    const char *of, *may[12];
} floors[] = {
    { "base_", { "base_", "rs.h" } },
    { "class_", { "class_keys.h", "class_queue.h", "class_rests.h", "base_", "rs.h" } },
    { "sched", { "sched.h", "sched_heads.h", "base_", "rs.h" } },
    { "gate", { "gate.h", "base_", "rs.h" } },
    { "rs_figures", { "rs_figures", "rs_paper.h", "base/base_report.h", "rs.h" } },
    { "rs_", { "rs_", "class_", "sched.h", "gate.h", "base_", "rs.h" } },
    { "rs.h", { NULL } },
};
static const char *const system_headers[] = { "<stddef.h>", "<stdint.h>",  "<string.h>", "<assert.h>",
                                              "<limits.h>", "<stdbool.h>", "<math.h>" };

static int may_include(const char *file, const char *what) {
    if (what[0] == '<') {
        for (size_t i = 0; i < sizeof system_headers / sizeof *system_headers; i++)
            if (!strcmp(what, system_headers[i])) return 1;
        return 0;
    }
    for (size_t f = 0; f < sizeof floors / sizeof *floors; f++) {
        if (strncmp(file, floors[f].of, strlen(floors[f].of))) continue;
        for (size_t i = 0; i < 12 && floors[f].may[i]; i++)
            if (!strncmp(what, floors[f].may[i], strlen(floors[f].may[i]))) return 1;
        return 0;
    }
    return 0;
}

START_TEST(the_table_of_floors_tells_apart) {
    ck_assert(may_include("sched_drr.c", "base_heap.h"));
    ck_assert(!may_include("sched_drr.c", "gate.h"));
    ck_assert(!may_include("sched_drr.c", "class_queue.h"));
    ck_assert(!may_include("base_heap.c", "sched.h"));
    ck_assert(!may_include("rs_life.c", "<stdio.h>"));
    ck_assert(!may_include("gate_auto.c", "<time.h>"));
    ck_assert(may_include("rs_life.c", "<string.h>"));
}
END_TEST

START_TEST(includes_point_down) {
    char path[4096], line[512], what[256];
    int files = 0, includes = 0;
    DIR *d = opendir(TOP_SRCDIR "/core");
    ck_assert_ptr_nonnull(d);
    for (struct dirent *f; (f = readdir(d));) {
        size_t n = strlen(f->d_name);
        if (n < 3 || (strcmp(f->d_name + n - 2, ".c") && strcmp(f->d_name + n - 2, ".h"))) continue;
        snprintf(path, sizeof path, TOP_SRCDIR "/core/%s", f->d_name);
        FILE *in = fopen(path, "r");
        ck_assert_ptr_nonnull(in);
        files++;
        while (fgets(line, sizeof line, in)) {
            if (sscanf(line, " # include \"%255[^\"]\"", what) != 1 && sscanf(line, " # include %255[^ \n]", what) != 1)
                continue;
            includes++;
            ck_assert_msg(may_include(f->d_name, what), "core/%s must not include %s", f->d_name, what);
        }
        fclose(in);
    }
    closedir(d);
    ck_assert_int_gt(files, 20);
    ck_assert_int_gt(includes, 2 * 20);
}
END_TEST

int main(void) {
    Suite *s = suite_create("core: base");
    TCase *c = tcase_create("base");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, heap_gives_the_least, 0, 2);
    tcase_add_test(c, heap_check_sees_damage);
    tcase_add_test(c, buckets_grow_by_half_a_doubling);
    tcase_add_test(c, parts_begin_at_multiples_of_64);
    tcase_add_test(c, the_table_of_floors_tells_apart);
    tcase_add_test(c, includes_point_down);
    suite_add_tcase(s, c);
    return run_suite(s);
}
