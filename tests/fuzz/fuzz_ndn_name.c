/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_name.c - any bytes as a name, and as the text of one.
 *
 * What is read as a name prints as a text that is read as the same name.  A text that is read is a name; where it is
 * not, there is a sentence and nothing was written.  A name's beginnings are names, and it begins with them.
 */
#include "fuzz_ndn.h"

static void check_beginnings(const struct ndn_name *name) {
    struct ndn_element c;
    const uint8_t *at = name->bytes.at;

    for (unsigned i = 0; i <= name->n; i++) {
        struct ndn_name first = ndn_name_first(name, i), again;
        MUST(first.n == i && ndn_name_begins(name, &first) && first.bytes.at + first.bytes.n == at);
        MUST(ndn_name_read(first.bytes, &again) && again.n == i);
        MUST(ndn_name_equal(name, &first) == (i == name->n));
        MUST(ndn_name_at(name, i, &c) == (i < name->n));
        if (i < name->n) {
            uint64_t n;
            struct ndn_element same;
            MUST(c.whole.at == at && ndn_component_read(c.whole, &same) && same.type == c.type);
            MUST(!ndn_component_number(&c, c.type, &n) || ndn_number_size(c.type, n) == c.whole.n);
            at += c.whole.n;
        }
    }
}

static void as_bytes(const uint8_t *data, size_t size) {
    struct ndn_span bytes = fuzz_copy(data, size);
    struct ndn_name name;

    if (ndn_name_read(bytes, &name)) {
        MUST(name.n <= NDN_COMPONENTS_MAX && fuzz_equal(name.bytes, bytes));
        fuzz_name_text(&name);
        check_beginnings(&name);
    }
    fuzz_free(bytes);
}

/* `room`: of what it is put into, behind one byte that stays. */
static void as_text(const uint8_t *data, size_t size, size_t room) {
    char *text = malloc(size + 1), *error = NULL;
    uint8_t *bytes = malloc(1 + room);
    struct ndn_out out = { bytes, 1, 1 + room, false };
    struct ndn_name name, again;

    MUST(text && bytes);
    memcpy(text, data, size);
    text[size] = 0;
    *bytes = 77;
    if (ndn_name_parse(text, &out, &name, &error)) {
        MUST(error && out.n == 1 && !out.full);
    } else {
        MUST(!error && name.bytes.at == bytes + 1 && out.n == 1 + name.bytes.n && out.n <= 1 + room);
        MUST(ndn_name_read(name.bytes, &again) && again.n == name.n);
        fuzz_name_text(&name);
    }
    MUST(*bytes == 77);
    free(error);
    free(text);
    free(bytes);
}

/* The first byte: how much room there is, in parts of what is enough. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    as_bytes(data + 1, size - 1);
    as_text(data + 1, size - 1, *data & 1 ? 10 * size : size * (*data >> 1) / 32);
    return 0;
}
