/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_settings.h"

static const struct base_setting rows[] = {
#define SETTING(...) BASE_ROW(struct bots_settings, __VA_ARGS__),
#include "bots_settings.def"
#undef SETTING
};

const struct base_settings bots_settings_table = { "--", rows, sizeof rows / sizeof *rows, NULL };
