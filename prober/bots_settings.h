/* SPDX-License-Identifier: BSD-2-Clause */
/* bots_settings.h - what `fairgate-bots fetch` can be told. */
#ifndef FAIRGATE_BOTS_SETTINGS_H
#define FAIRGATE_BOTS_SETTINGS_H

#include "base/base_settings.h"

struct bots_settings {
#define SETTING BASE_FIELD
#include "bots_settings.def"
#undef SETTING
};

extern const struct base_settings bots_settings_table;

#endif
