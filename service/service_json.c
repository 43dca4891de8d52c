/* SPDX-License-Identifier: BSD-2-Clause */
#include "service_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_error.h"
#include "service_text.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* How deep brackets stand in each other, before a parser that calls itself sees them. */
static unsigned json_depth(const char *text, size_t n) {
    unsigned deep = 0, most = 0;
    bool quoted = false;

    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\') i++;
        else if (text[i] == '"') quoted = !quoted;
        else if (quoted) continue;
        else if (text[i] == '{' || text[i] == '[') {
            if (++deep > most) most = deep;
        } else if ((text[i] == '}' || text[i] == ']') && deep) deep--;
    }
    return most;
}

/*
 * A real that is written without an exponent and is no smaller than the largest whole number would be read back as a
 * whole number that is too large: it is refused as that is, or a canonical text would not be read again.
 */
static bool number_is_exact(const json_t *value) {
    double n;

    if (json_is_integer(value)) {
        json_int_t whole = json_integer_value(value);
        return whole >= -SERVICE_JSON_WHOLE && whole <= SERVICE_JSON_WHOLE;
    }
    if (!json_is_real(value)) return true;
    n = fabs(json_real_value(value));
    return isfinite(n) && (n <= (double)SERVICE_JSON_WHOLE || n >= SERVICE_JSON_EXPONENT);
}

/* NULL, or the first number in it that a double can't hold. */
static const json_t *number_too_large(const json_t *value) {
    const json_t *found = NULL, *in;
    const char *key;
    size_t i;

    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, in) if (!found) found = number_too_large(in);
        return found;
    }
    if (!json_is_array(value)) return number_is_exact(value) ? NULL : value;
    json_array_foreach(value, i, in) if (!found) found = number_too_large(in);
    return found;
}

json_t *service_json_read(const char *text, size_t n, char **error) {
    json_error_t wrong;
    json_t *value;

    if (json_depth(text, n) > SERVICE_JSON_DEEP) {
        base_fail(error, "arrays and objects stand in each other more than %u deep", SERVICE_JSON_DEEP);
        return NULL;
    }
    value = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &wrong);
    if (!value) {
        base_fail(error, "%s, at byte %d", wrong.text, wrong.position);
        return NULL;
    }
    if (number_too_large(value)) {
        json_decref(value);
        base_fail(error, "a whole number must be from -(2^53 - 1) to 2^53 - 1; a larger one can be a text");
        return NULL;
    }
    return value;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/*
 * ECMAScript's Number::toString: the fewest digits that are read as the same double, and where the point stands in
 * them.
 */
void service_json_number(double n, char out[32]) {
    char digits[32], text[32];
    int exponent, count = 0;

    if (n == 0) { /* and -0 */
        strcpy(out, "0");
        return;
    }
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, n);
        if (strtod(text, NULL) == n) break;
    }
    for (const char *p = text; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') digits[count++] = *p;
    while (count > 1 && digits[count - 1] == '0') count--;
    exponent = atoi(strchr(text, 'e') + 1) + 1; /* of 0.DIGITS */
    if (n < 0) *out++ = '-';
    if (count <= exponent && exponent <= 21) {
        sprintf(out, "%.*s%.*s", count, digits, exponent - count, "000000000000000000000");
    } else if (0 < exponent && exponent <= 21) {
        sprintf(out, "%.*s.%.*s", exponent, digits, count - exponent, digits + exponent);
    } else if (-6 < exponent && exponent <= 0) {
        sprintf(out, "0.%.*s%.*s", -exponent, "000000", count, digits);
    } else {
        sprintf(out, "%c%s%.*se%c%d", digits[0], count > 1 ? "." : "", count - 1, digits + 1, exponent > 0 ? '+' : '-',
                abs(exponent - 1));
    }
}

static const char *short_escape(char c) {
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
    }
}

static void put_string(struct service_text *t, const char *s, size_t n) {
    service_text_put(t, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        const char *escape = short_escape(s[i]);

        if (escape) service_text_put(t, escape, 2);
        else if ((unsigned char)s[i] < 0x20) service_text_print(t, "\\u%04x", s[i]);
        else service_text_put(t, s + i, 1);
    }
    service_text_put(t, "\"", 1);
}

/*
 * Keys by their UTF-16 code units.  UTF-8 has the same order but for what needs two of them (four bytes, from F0):
 * their first is from D800 to DBFF, below E000 to FFFF (three bytes, from EE).
 */
static int compare_keys(const void *a, const void *b) {
    const unsigned char *p = *(const unsigned char *const *)a, *q = *(const unsigned char *const *)b;

    while (*p && *p == *q) p++, q++;
    if (*p >= 0xee && *q >= 0xee && (*p >= 0xf0) != (*q >= 0xf0)) return *p >= 0xf0 ? -1 : 1;
    return *p < *q ? -1 : *p > *q;
}

static void put_value(struct service_text *t, const json_t *value);

static void put_object(struct service_text *t, const json_t *object) {
    json_t *all = (json_t *)(uintptr_t)object; /* looking at it is no const call there */
    const char **keys = calloc(json_object_size(object) + 1, sizeof *keys);
    size_t n = 0;

    if (!keys) {
        t->failed = true;
        return;
    }
    for (void *i = json_object_iter(all); i; i = json_object_iter_next(all, i)) keys[n++] = json_object_iter_key(i);
    qsort(keys, n, sizeof *keys, compare_keys);
    service_text_put(t, "{", 1);
    for (size_t i = 0; i < n; i++) {
        if (i) service_text_put(t, ",", 1);
        put_string(t, keys[i], strlen(keys[i]));
        service_text_put(t, ":", 1);
        put_value(t, json_object_get(object, keys[i]));
    }
    service_text_put(t, "}", 1);
    free(keys);
}

static void put_value(struct service_text *t, const json_t *value) {
    char number[32];
    json_t *in;
    size_t i;

    switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(t, value); break;
    case JSON_ARRAY:
        service_text_put(t, "[", 1);
        json_array_foreach(value, i, in) {
            if (i) service_text_put(t, ",", 1);
            put_value(t, in);
        }
        service_text_put(t, "]", 1);
        break;
    case JSON_STRING: put_string(t, json_string_value(value), json_string_length(value)); break;
    case JSON_INTEGER: service_text_print(t, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL:
        service_json_number(json_real_value(value), number);
        service_text_put(t, number, strlen(number));
        break;
    case JSON_TRUE: service_text_put(t, "true", 4); break;
    case JSON_FALSE: service_text_put(t, "false", 5); break;
    case JSON_NULL: service_text_put(t, "null", 4); break;
    }
}

char *service_json_canonical(const json_t *value, size_t *n) {
    struct service_text t = { 0 };

    put_value(&t, value);
    return service_text_take(&t, n);
}
