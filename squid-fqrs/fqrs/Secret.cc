/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fatal.h"
#include "fqrs/Secret.h"

#include <array>
#include <unistd.h>

static std::array<uint64_t, 2>
Drawn()
{
    std::array<uint64_t, 2> words;
    if (getentropy(words.data(), sizeof(words)) != 0)
        fatalf("fqrs: no random numbers: %s", xstrerr(errno));
    return words;
}

const uint64_t *
Fqrs::Secret()
{
    static const auto secret = Drawn();
    return secret.data();
}

