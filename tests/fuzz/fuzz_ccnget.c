/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ccnget.c - any bytes as the name that somebody asks fairgate-ccnget for, or that a redirect leads to.
 *
 * What is read prints as a text that is read as the same name; where it is not, there is a sentence.
 */
#include "ccnget/get_name.h"
#include "fuzz_ndn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char printed[4 * NDN_PACKET_MAX];
    char *text = malloc(size + 1), *error = NULL;
    uint8_t bytes[NDN_PACKET_MAX], same[NDN_PACKET_MAX];
    struct ndn_name name, again;

    MUST(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (get_name_read(text, bytes, &name, &error)) {
        MUST(error);
    } else {
        MUST(!error && ndn_name_print(&name, printed, sizeof printed) < sizeof printed);
        MUST(!get_name_read(printed, same, &again, &error) && ndn_name_equal(&name, &again));
    }
    free(error);
    free(text);
    return 0;
}
