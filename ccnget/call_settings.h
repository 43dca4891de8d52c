/* SPDX-License-Identifier: BSD-2-Clause */
/* call_settings.h - the options of fairgate-ccncall, as call_settings.def declares them. */
#ifndef FAIRGATE_CALL_SETTINGS_H
#define FAIRGATE_CALL_SETTINGS_H

#include "base/base_settings.h"

struct call_settings {
#define SETTING BASE_FIELD
#include "call_settings.def"
#undef SETTING
};

extern const struct base_settings call_settings_table;

/* Whether they go together, and fields of HTTP are some.  0, or -1 and *error (base_error.h). */
int call_settings_check(const struct call_settings *s, char **error);

#endif
