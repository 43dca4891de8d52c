/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_declare.h - what an administrator publishes: a name, typed parameters, and the URL that does the work.
 *
 *     /unibe/cds/scaleImage file=content(10M) width=int(1..4096) height=int(1..4096) quality=int(1..100):85
 *         => /services/scale?width={width}&height={height}&quality={quality} fresh=1h doc="An image in another size"
 *
 *     NAME  PARAMETER=TYPE[(BOUNDS)][:DEFAULT] ...  =>  URL  [OPTION=VALUE ...]
 *
 *     int(LEAST..MOST)  number(LEAST..MOST)  text(BYTES)  text(ONE|OTHER)  bool  content(BYTES)  json(BYTES)
 *
 * `content` is bytes that are fetched or given; text(BYTES) and json(BYTES) are at most so long.  A parameter with a
 * default may be left out.
 *
 * The URL is a path of this server with {PARAMETER} in it.  What stands there is escaped, and in the path it is one
 * segment: nothing leads out of what is written.  Parameters that are not in the URL make the body:
 *
 *     none               GET
 *     one content        POST of its bytes, under its own media type
 *     several, no content    POST of a JSON object
 *     several            POST of multipart/form-data
 *
 * Options: fresh=TIME (how long a result is fresh that does not say so itself), timeout=TIME, result=BYTES (at most),
 * over=http or over=ndn (who may call it, if not both), doc=SENTENCE.  Words are separated by blanks; quotes hold
 * blanks together.
 *
 * One name may be declared several times: which is meant is decided by the names of the parameters that are given
 * (nextserve paper 3.1, overloading), so no call may fit two of them.
 */
#ifndef FAIRGATE_SERVICE_DECLARE_H
#define FAIRGATE_SERVICE_DECLARE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define SERVICE_PARAMS_MAX 32u

enum service_type { SERVICE_INT, SERVICE_NUMBER, SERVICE_TEXT, SERVICE_BOOL, SERVICE_CONTENT, SERVICE_JSON };
enum service_over { SERVICE_HTTP = 1, SERVICE_NDN = 2, SERVICE_ALL = 3 };
enum service_body { SERVICE_NO_BODY, SERVICE_BYTES, SERVICE_OBJECT, SERVICE_FORM };

struct service_param {
    char             *name;
    enum service_type type;
    bool              bounded;          /* int, number */
    double            least, most;
    uint64_t          bytes;            /* text, content, json: at most */
    json_t           *choices;          /* text: an array, or NULL */
    json_t           *otherwise;        /* its default; NULL: it must be given */
    bool              in_url;
};

struct service_piece {                  /* of the URL */
    char    *text;                      /* as it is written; NULL: a parameter's value */
    unsigned param;
    bool     in_path;
};

struct service {
    char                *name;
    struct service_param params[SERVICE_PARAMS_MAX];
    unsigned             nparams;
    struct service_piece *pieces;
    unsigned             npieces;
    enum service_body    body;
    unsigned             body_param;    /* SERVICE_BYTES */
    uint64_t             fresh_s, timeout_s, result;    /* fresh_s UINT64_MAX: not said */
    enum service_over    over;          /* ways by which it is called */
    char                *doc;           /* or NULL */
    void                *of;            /* the host's own */
};

/* NULL, and *error (base/base_error.h). */
struct service *service_declare(const char *text, char **error);
void            service_free(struct service **s);
/* The place of that parameter; nparams: there is none. */
unsigned        service_param_of(const struct service *s, const char *name);
const char     *service_type_word(enum service_type type);

/* ---- all that are declared, ordered by name ---------------------------------------------------------------------- */

struct service_table {                  /* zeroed: empty */
    struct service **all;
    unsigned         n;
};

/* The table owns it from now on; 0, or -1 and *error: then it stays the caller's. */
int      service_table_add(struct service_table *t, struct service *s, char **error);
/* Those of that name: how many, from *first on. */
unsigned service_table_find(const struct service_table *t, const char *name, unsigned *first);
void     service_table_free(struct service_table *t);

#endif
