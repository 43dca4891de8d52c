/* SPDX-License-Identifier: BSD-2-Clause */
/* match_regex.c - PCRE2 with bounds. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>
#include <stdlib.h>

#include "match_regex.h"
#include "policy_impl.h"

#define MAGIC 0x4d524758u

/*
 * For the interpreter, which wants memory for backtracking where there is no JIT; the JIT uses a few hundred bytes of
 * it.
 */
#define STACK_BYTES (96u << 10)

struct match_regex {
    uint32_t magic;
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* An allocator over a piece of the stack, which never takes anything back. */
struct piece {
    unsigned char *at;
    size_t left;
};

static void *match_regex_take(size_t n, void *data) {
    struct piece *piece = data;
    void *p = piece->at;

    n = (n + 15) & ~(size_t)15;
    if (n > piece->left) return NULL;
    piece->at += n;
    piece->left -= n;
    return p;
}

static void match_regex_keep(void *p, void *data) {
    (void)p;
    (void)data;
}

struct match_regex *match_regex_new(const char *pattern, size_t len, int fold, char **error) {
    struct match_regex *m = calloc(1, sizeof *m);
    uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C | (fold ? PCRE2_CASELESS : 0);
    PCRE2_UCHAR reason[128];
    PCRE2_SIZE offset;
    int number;

    if (!m) return NULL;
    m->magic = MAGIC;
    m->code = pcre2_compile((PCRE2_SPTR)pattern, len, options, &number, &offset, NULL);
    if (!m->code) {
        pcre2_get_error_message(number, reason, sizeof reason);
        base_fail(error,
                  "\"%s\" is no regular expression: %s at byte %zu; correct it there (PCRE2 syntax; a literal . ? * + "
                  "( [ \\ is "
                  "written with \\ before it)",
                  base_quote(pattern, len).s, (char *)reason, offset < len ? offset + 1 : len);
        match_regex_free(&m);
        return NULL;
    }
    m->limits = pcre2_match_context_create(NULL);
    if (!m->limits) {
        match_regex_free(&m);
        return NULL;
    }
    pcre2_set_match_limit(m->limits, MATCH_REGEX_STEPS);
    /* Without a JIT (not built in, or executable memory refused) the interpreter does it. */
    (void)pcre2_jit_compile(m->code, PCRE2_JIT_COMPLETE);
    return m;
}

void match_regex_free(struct match_regex **mp) {
    struct match_regex *m = *mp;

    *mp = NULL;
    if (!m) return;
    assert(m->magic == MAGIC);
    pcre2_match_context_free(m->limits);
    pcre2_code_free(m->code);
    m->magic = 0;
    free(m);
}

bool match_regex_find(const struct match_regex *m, const char *text, size_t len) {
    _Alignas(16) unsigned char stack[STACK_BYTES];
    struct piece piece = { stack, sizeof stack };
    pcre2_general_context *memory;
    pcre2_match_data *block;
    int more = len > MATCH_REGEX_TEXT;

    assert(m->magic == MAGIC);
    if (more) len = MATCH_REGEX_TEXT;
    memory = pcre2_general_context_create(match_regex_take, match_regex_keep, &piece);
    block = memory ? pcre2_match_data_create(1, memory) : NULL;
    assert(block);
    return pcre2_match(m->code, (PCRE2_SPTR)text, len, 0, more ? PCRE2_NOTEOL : 0, block, m->limits) >= 0;
}
