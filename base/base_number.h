/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_number.h - a whole number within bounds, as people write it: digits, and behind them nothing or a multiple
 * of its unit (64M, 90s).
 *
 * A unit is the word that sentences have for what is counted.  Those with multiples are bytes (K, M, G, of 1024),
 * seconds (s, min or m, h, d) and microseconds (us, ms, s), in letters of either case; any other word has none, ""
 * neither.
 */
#ifndef FAIRGATE_BASE_NUMBER_H
#define FAIRGATE_BASE_NUMBER_H

#include <stdint.h>

/*
 * `name`: what the sentence calls it.  0; or -1, *n as it was, and *error: "NAME TEXT: must be a number of UNIT from
 * LEAST to MOST; ... may stand behind it".
 */
int base_number(const char *name, const char *text, const char *unit, uint64_t least, uint64_t most, uint64_t *n,
                char **error);
/* What may stand behind a number of that unit, as "K, M or G"; NULL: nothing. */
const char *base_number_multiples(const char *unit);

#endif
