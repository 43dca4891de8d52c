/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn/ndn_name.h - names: components back to back, and how people write them (NDN packet format 0.3, "Name"; naming
 * conventions, revision 3).
 *
 * A name is a view of bytes that belong to somebody else: the value of a Name element, which ndn_name_read has found
 * right, or a beginning of it.
 *
 * AS TEXT.  /example/site/a%20b/54=%00%01 or /example/site/v=1/seg=0: generic components without a type, others as
 * TYPE=VALUE; what is not one of A-Z a-z 0-9 - . _ ~ is escaped, and a component of nothing but dots has three more.
 * The conventions' words are written for components that hold a number in its shortest form: seg=, off=, v=, t=, seq=;
 * sha256digest= and params-sha256= before 64 hexadecimal digits.  "ndn:" or "ccnx:" may stand before the first slash.
 */
#ifndef FAIRGATE_NDN_NAME_H
#define FAIRGATE_NDN_NAME_H

#include "ndn_tlv.h"

#define NDN_DIGEST         32u          /* bytes of one, SHA-256; of a component that is one, too */
#define NDN_COMPONENTS_MAX 128u         /* of a name; one with more is refused */

struct ndn_name {
    struct ndn_span bytes;              /* of its components */
    unsigned        n;                  /* how many these are */
};

/* `value`: of a Name element.  False: it holds what is no component (types 1 to 65,535; digests have 32 bytes). */
bool ndn_name_read(struct ndn_span value, struct ndn_name *name);
bool ndn_name_at(const struct ndn_name *name, unsigned i, struct ndn_element *component);   /* false: not so many */
struct ndn_name ndn_name_first(const struct ndn_name *name, unsigned n);    /* its first n components, or all */
bool ndn_name_equal(const struct ndn_name *a, const struct ndn_name *b);
bool ndn_name_begins(const struct ndn_name *name, const struct ndn_name *with);
/* `element`: a component and nothing else.  False: it is none. */
bool ndn_component_read(struct ndn_span element, struct ndn_element *component);
/*
 * The number in a component of that type: false if it is of another, or holds none in its shortest form, which is how
 * the conventions write them: a longer form would be the same number and another name.
 */
bool ndn_component_number(const struct ndn_element *component, uint32_t type, uint64_t *n);
bool ndn_component_is(const struct ndn_element *component, uint32_t type, const char *text);

/*
 * Reads a name as people write it; its bytes are put behind what `out` holds.  0, or -1 and *error (base_error.h), and
 * `out` is as it was.
 *
 * Unescaped bytes stand for themselves, but for "/", "%", "=" behind anything but a type, "?", "#", blanks and control
 * characters.  "/" alone is the name of no component.
 */
int ndn_name_parse(const char *text, struct ndn_out *out, struct ndn_name *name, char **error);
/* Writes it for people, cut short at `room`, with a NUL; the length that it has whole.  room may be 0. */
size_t ndn_name_print(const struct ndn_name *name, char *out, size_t room);

/* A component is an element like others. */
static inline void ndn_put_component(struct ndn_out *o, uint32_t type, const void *value, size_t n) {
    ndn_put_element(o, type, value, n);
}
static inline void ndn_put_component_number(struct ndn_out *o, uint32_t type, uint64_t n) {
    ndn_put_number(o, type, n);
}
static inline size_t ndn_component_number_size(uint32_t type, uint64_t n) { return ndn_number_size(type, n); }

#endif
