/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ndn_seal.c - a sealed segment on its way, in which somebody changes bytes, or cuts it; any bytes as the head of
 * a page that was opened, and as a Data's key.
 *
 * What opens is what was sealed, to the byte; a head that is right is written again as one that says the same.
 */
#include "fuzz_ndn.h"
#include "ndn/ndn_seal.h"

#define LAST (UINT64_MAX - 1)

static struct ndn_seal_pair caller;
static struct ndn_seal *sealer, *opener;
static uint64_t next; /* segment */

static void make_seals(void) {
    uint8_t digest[NDN_DIGEST] = { 1 }, told[NDN_SEAL_KEY];

    if (sealer) return;
    MUST(ndn_seal_draw(&caller));
    sealer = ndn_seal_new(caller.open, digest, told);
    opener = ndn_seal_of(&caller, told, digest);
    MUST(sealer && opener);
}

/* One byte says how many edits follow, each of a place and a byte; another one by how many the end is cut. */
static void on_its_way(const uint8_t *data, size_t size) {
    static const uint8_t name[] = "\x08\x01"
                                  "a";
    struct ndn_span page = { name, 3 }, came;
    uint8_t sealed[NDN_PACKET_MAX + NDN_SEAL_TAG], out[NDN_PACKET_MAX];
    size_t edits, cut, n;
    bool same;

    if (size < 2) return;
    edits = (size_t)(*data++ % 4) * 3;
    cut = *data++ % 32;
    size -= 2;
    if (edits > size) edits = size - size % 3;
    n = size - edits;
    if (n > NDN_PACKET_MAX) return;
    MUST(ndn_seal_put(sealer, page, LAST, (struct ndn_span){ data + edits, n }, sealed));
    n += NDN_SEAL_TAG;
    if (cut > n) cut = n;
    came = fuzz_copy(sealed, n - cut);
    for (size_t i = 0; i < edits && came.n; i += 3)
        ((uint8_t *)(uintptr_t)came.at)[(size_t)(data[i] << 8 | data[i + 1]) % came.n] ^= data[i + 2];
    same = !cut && !memcmp(came.at, sealed, n);
    MUST(ndn_seal_take(opener, page, next, LAST, came, out) == same);
    if (same) MUST(n == NDN_SEAL_TAG || !memcmp(out, data + edits, n - NDN_SEAL_TAG));
    MUST(!ndn_seal_take(opener, page, next + 1, LAST, came, out));
    MUST(!ndn_seal_take(opener, page, next, LAST - 1, came, out));
    MUST(!ndn_seal_take(opener, (struct ndn_span){ name, 2 }, next, LAST, came, out));
    fuzz_free(came);
    next++;
}

static void any_head(const uint8_t *data, size_t size) {
    struct ndn_span whole = fuzz_copy(data, size), in = whole, again;
    struct ndn_seal_head h, same;
    uint8_t bytes[2048];
    struct ndn_out o = ndn_out_into(bytes, sizeof bytes);

    if (!ndn_seal_head_read(&in, &h)) {
        MUST(fuzz_within(in, whole) && fuzz_within(h.media_type, whole) && fuzz_within(h.location, whole));
        MUST(fuzz_within(h.encoding, whole) && h.encoding.n <= NDN_ENCODING_MAX);
        MUST(in.at + in.n == whole.at + whole.n && in.n < whole.n);
        MUST(h.media_type.n <= NDN_MEDIA_TYPE_MAX && h.location.n <= NDN_LOCATION_MAX);
        ndn_seal_head_put(&o, &h);
        MUST(!o.full && o.n == ndn_seal_head_size(&h));
        again = (struct ndn_span){ bytes, o.n };
        MUST(!ndn_seal_head_read(&again, &same) && !again.n && same.status == h.status);
        MUST(fuzz_equal(same.media_type, h.media_type) && fuzz_equal(same.location, h.location));
        MUST(fuzz_equal(same.encoding, h.encoding));
    } else {
        MUST(in.at == whole.at && in.n == whole.n);
    }
    fuzz_free(whole);
}

static void any_key(const uint8_t *data, size_t size) {
    const uint8_t digest[NDN_DIGEST] = { 1 };
    uint8_t key[NDN_SEAL_KEY] = { 0 }, out[NDN_SEAL_TAG], told[NDN_SEAL_KEY];
    const struct ndn_span none = { out, 0 }, sealed = { out, sizeof out };
    struct ndn_seal *s;

    memcpy(key, data, size < sizeof key ? size : sizeof key);
    s = ndn_seal_of(&caller, key, digest);
    if (s) MUST(!ndn_seal_put(s, none, 0, none, out));
    ndn_seal_free(&s);
    s = ndn_seal_new(key, digest, told);
    if (s) MUST(ndn_seal_put(s, none, 0, none, out) && !ndn_seal_take(s, none, 0, 0, sealed, told));
    ndn_seal_free(&s);
}

/* The first byte says what is done; keys cost a hundred times what the others do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    make_seals();
    if (*data >= 0xfe) any_key(data + 1, size - 1);
    else if (*data & 1) any_head(data + 1, size - 1);
    else on_its_way(data + 1, size - 1);
    return 0;
}
