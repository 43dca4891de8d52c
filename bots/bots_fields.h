/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bots/bots_fields.h - structured fields (RFC 9651), as far as signatures of HTTP messages need them: dictionaries of
 * items and inner lists.
 *
 * They are strangers' bytes, read in place: what is read is spans of them.  Nothing allocates; a field is gone through
 * once, from left to right.  What is not as the grammar has it is refused as a whole.  Departures, all on the strict
 * side: a key that is looked for may stand there once only (the RFC lets the last one win); dates and display strings
 * are not known; decimals are read and can't be written.
 */
#ifndef FAIRGATE_BOTS_FIELDS_H
#define FAIRGATE_BOTS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bots_text { const char *at; size_t n; };         /* at == NULL: none */

enum bots_kind { BOTS_WHOLE, BOTS_DECIMAL, BOTS_STRING, BOTS_TOKEN, BOTS_BYTES, BOTS_TRUE, BOTS_FALSE, BOTS_LIST };

struct bots_item {
    enum bots_kind   kind;
    struct bots_text text;              /* as it was written: a string with its quotes, a list with its brackets */
    int64_t          whole;             /* BOTS_WHOLE: its value */
    struct bots_text parameters;        /* as they were written, each with its semicolon; n 0: none */
};

struct bots_member {                    /* of a dictionary; or a parameter, whose item has none */
    struct bots_text key;
    struct bots_item item;
};

static inline struct bots_text bots_text(const char *s, size_t n) { return (struct bots_text){ s, n }; }
bool bots_text_is(struct bots_text text, const char *word);
bool bots_text_same(struct bots_text a, struct bots_text b);

/*
 * The next member of a dictionary: takes it from `left`.  false: there is none left (left->at is not NULL), or what
 * follows is none (left->at is NULL from then on).
 */
bool bots_fields_member(struct bots_text *left, struct bots_member *m);
/* 1; 0: there is no such member; -1: the field is wrong somewhere, or it stands there twice. */
int  bots_fields_find(struct bots_text dictionary, struct bots_text key, struct bots_member *m);
/* An item that is all of a field; false if it is none. */
bool bots_fields_item(struct bots_text field, struct bots_item *item);

/* The next of those of an item that was read, from a copy of its parameters. */
bool bots_fields_parameter(struct bots_text *left, struct bots_member *p);
/* The next item of a list that was read: `left` is at first the list's text without its brackets. */
bool bots_fields_inner(struct bots_text *left, struct bots_item *item);
static inline struct bots_text bots_fields_inside(const struct bots_item *list) {
    return bots_text(list->text.at + 1, list->text.n - 2);
}

/* What a string says, without quotes and escapes: bytes in `out`, no NUL; -1 if it is none, or larger than `room`. */
int  bots_fields_string(const struct bots_item *item, char *out, size_t room);
/* Bytes of BOTS_BYTES, in the one form that base64 has for them; -1 if it is none, or larger than `room`. */
int  bots_fields_bytes(const struct bots_item *item, uint8_t *out, size_t room);
/* base64 of either alphabet: with padding and + and /, or url: without and with - and _.  As above. */
int  bots_base64(struct bots_text text, bool url, uint8_t *out, size_t room);

/*
 * The item or list with its parameters, as it is to be written (RFC 9651, 4.1): bytes in `out`; -1 if there is not the
 * room, or it can't be written.
 */
int  bots_fields_write(const struct bots_item *item, char *out, size_t room);

#endif
