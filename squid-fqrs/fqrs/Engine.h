/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_ENGINE_H
#define SQUID_SRC_FQRS_ENGINE_H

/* C lets a function and a struct have one name, and the engine's header does so. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "fqrs/core/rs.h"
#include "fqrs/core/rs_link.h"
#pragma GCC diagnostic pop

#endif /* SQUID_SRC_FQRS_ENGINE_H */

