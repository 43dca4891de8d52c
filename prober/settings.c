/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

static const struct base_setting rows[] = {
#define SETTING(...) BASE_ROW(struct settings, __VA_ARGS__),
#include "settings.def"
#undef SETTING
};

const struct base_settings settings_table = { "--", rows, sizeof rows / sizeof *rows, NULL };
