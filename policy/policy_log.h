/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_log.h - a line of an access log, as httpd's LogFormat (and Squid's logformat of the same name) describes it.
 *
 * A format is read once into pieces; a line is taken apart in place, in its own bytes: nothing is allocated, and what
 * comes out are spans of the line.  What httpd escaped (\" \\ \n \t \xhh) is put back as it came.
 *
 * INPUT IS HOSTILE: visitors write a good part of each line.  Any bytes, any length; a line that is not of the format
 * is refused with a sentence, never guessed at.
 */
#ifndef FAIRGATE_POLICY_LOG_H
#define FAIRGATE_POLICY_LOG_H

#include <stdbool.h>

#include "policy.h"

#define POLICY_LOG_COMBINED "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\""
#define POLICY_LOG_TIMED    POLICY_LOG_COMBINED " %D"   /* what replay needs */
#define POLICY_LOG_COMMON   "%h %l %u %t \"%r\" %>s %b"

enum { POLICY_LOG_PIECES = 64, POLICY_LOG_FORMAT_MAX = 1024 };

/* What of a line somebody looks at. */
enum policy_log_what {
    POLICY_LOG_SKIP,
    POLICY_LOG_ADDRESS,     /* %h %a %{c}a, */
    POLICY_LOG_PORT,        /* %{remote}p */
    POLICY_LOG_TIME,        /* %t [day/Mon/year:h:m:s zone], */
    POLICY_LOG_SEC, POLICY_LOG_MSEC, POLICY_LOG_USEC, POLICY_LOG_MSEC_FRAC, POLICY_LOG_USEC_FRAC,   /* %{...}t */
    POLICY_LOG_REQUEST,     /* %r */
    POLICY_LOG_METHOD, POLICY_LOG_PATH, POLICY_LOG_QUERY,   /* %m %U %q */
    POLICY_LOG_HOST,        /* %V %v %{Host}i */
    POLICY_LOG_BYTES,       /* %O %B %b */
    POLICY_LOG_TOOK_US, POLICY_LOG_TOOK_MS, POLICY_LOG_TOOK_S,      /* %D %{us}T, %{ms}T, %T %{s}T */
    POLICY_LOG_AGENT, POLICY_LOG_COOKIE     /* %{User-agent}i %{Cookie}i */
};

struct policy_log_piece {
    uint8_t  what;
    uint8_t  at_end;                /* it is the time when the answer was over (%{end:...}t) */
    uint16_t text, len;             /* what stands behind it, in .text */
};

struct policy_log_format {
    struct policy_log_piece piece[POLICY_LOG_PIECES];
    unsigned                n, before;      /* before: bytes of text in front of the first piece */
    char                    text[POLICY_LOG_FORMAT_MAX];
};

/* 0, or -1 and *error. */
int policy_log_format(struct policy_log_format *f, const char *text, char **error);

struct policy_log_line {
    bool               has_address, has_time, time_is_end;
    bool               has_took;        /* to a millisecond or better: %T alone is too coarse */
    unsigned           fine;            /* microseconds that its time is right to: 1, 1000 or 1000000 */
    unsigned           part_fine;       /* of a time whose seconds stand elsewhere, */
    int64_t            part_us;         /* which is put in */
    unsigned           address_len;     /* 4 or 16 */
    unsigned char      address[16];
    uint16_t           port;
    int64_t            time_us;         /* since 1970 */
    uint64_t           bytes, took_us;
    struct policy_text method, target, host, agent, cookie;
    struct policy_text address_text;    /* as it stands there */
};

/* What one line left that helps with the next: set to zeroes at first. */
struct policy_log_memory { char day[16]; int64_t seconds; };

/* Takes apart `n` bytes, which are written over.  NULL, or a sentence's middle: "has no time", static. */
const char *policy_log_read(const struct policy_log_format *f, struct policy_log_memory *m, char *line, size_t n,
                            struct policy_log_line *out);

#endif
