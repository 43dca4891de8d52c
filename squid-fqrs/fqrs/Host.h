/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_HOST_H
#define SQUID_SRC_FQRS_HOST_H

/* what has different names in Squid 5 and 6 */

#if __has_include("debug/Stream.h")
#include "debug/Stream.h"
#else
#include "Debug.h"
#endif

#endif /* SQUID_SRC_FQRS_HOST_H */

