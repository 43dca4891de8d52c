/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.h - the options of `fairgate-prober crawl`, as settings.def declares them. */
#ifndef FAIRGATE_SETTINGS_H
#define FAIRGATE_SETTINGS_H

#include "base/base_settings.h"

struct settings {
#define SETTING BASE_FIELD
#include "settings.def"
#undef SETTING
};

extern const struct base_settings settings_table;

#endif
