/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_payload.h"

static bool is_genuine(const struct pk_fingerprint_key *key, const void *bytes, uint32_t n,
                       const struct pk_fingerprint *fp) {
    struct pk_fingerprint again;

    if (!key) return true;
    pk_fingerprint_of(key, bytes, n, &again);
    return pk_fingerprint_same(fp, &again);
}

static void note_lacking(struct pk_lacking *lacking, const uint8_t *name) {
    if (lacking->n < PK_TOKENS_MAX) memcpy(lacking->fingerprints + lacking->n++ * PK_TOKEN, name, PK_TOKEN);
}

static bool payload_of_tokens(pk_store_t *store, const struct pk_fingerprint_key *key, const struct pk_record *record,
                              uint8_t *out, struct pk_lacking *lacking) {
    bool all = true;

    for (uint32_t i = 0, at = 0, length; i < record->count; i++, at += length) {
        const uint8_t *name = record->bytes + i * PK_TOKEN;
        struct pk_fingerprint fp;
        length = i + 1 == record->count ? record->n - i * record->segment : record->segment;
        pk_fingerprint_read(&fp, name);
        if (pk_store_get(store, &fp, out + at, length) == length && is_genuine(key, out + at, length, &fp)) continue;
        all = false;
        if (!lacking) break;
        note_lacking(lacking, name);
    }
    return all;
}

static bool payload_of_parts(pk_store_t *store, const struct pk_fingerprint_key *key, const struct pk_record *record,
                             uint8_t *out, struct pk_lacking *lacking) {
    struct pk_part_reader r;
    struct pk_read_part part;
    uint8_t block[PK_BLOCK];
    uint32_t offset, n;
    bool all = true;

    pk_parts_read(&r, record);
    while ((all || lacking) && pk_parts_next(&r, &part)) {
        if (part.kind != PK_PART_SLICES) memcpy(out + part.at, part.bytes, part.n);
        for (uint32_t i = 0, at = part.at; i < part.blocks; i++, at += n) {
            const uint8_t *name = pk_slice(&part, i, &offset, &n);
            struct pk_fingerprint fp;
            pk_fingerprint_read(&fp, name);
            uint32_t length = pk_store_get(store, &fp, block, sizeof block);
            if (length >= offset + n && is_genuine(key, block, length, &fp)) {
                memcpy(out + at, block + offset, n);
                continue;
            }
            all = false;
            if (!lacking) break;
            note_lacking(lacking, name);
        }
    }
    return all;
}

bool pk_payload_of(pk_store_t *store, const struct pk_fingerprint_key *key, const struct pk_record *record,
                   uint8_t *out, struct pk_lacking *lacking) {
    if (lacking) lacking->n = 0;
    return record->kind == PK_TOKENS ? payload_of_tokens(store, key, record, out, lacking)
                                     : payload_of_parts(store, key, record, out, lacking);
}
