/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_aside.h"

#include <string.h>

void get_aside_put(struct get_aside *a, const void *bytes, size_t n) {
    if (n > a->most - a->n) {
        n = a->most - a->n;
        a->cut = true;
    }
    if (n) memcpy(a->bytes + a->n, bytes, n);
    a->n += n;
}
