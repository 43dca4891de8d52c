/* SPDX-License-Identifier: GPL-2.0-or-later */

/* DEBUG: section 96    Fair-Queuing Request Scheduling */

#include "squid.h"
#include "fqrs/Seats.h"

#include <algorithm>

void
Fqrs::Seats::configure(const uint32_t most, const std::vector<Share> &shares)
{
    uint64_t weights = 0;
    for (const auto &s: shares)
        weights += s.weight;
    for (auto &r: rows)
        r.reserved = 0;
    for (const auto &s: shares)
        rowOf(s.classNumber).reserved = static_cast<uint32_t>(uint64_t(most / 4) * s.weight / weights);
    most_ = most;
    spoken = 0;
    for (const auto &r: rows)
        spoken += std::max(r.taken, r.reserved);
}

Fqrs::Seats::Row &
Fqrs::Seats::rowOf(const uint32_t classNumber)
{
    if (rows.size() <= classNumber)
        rows.resize(classNumber + 1);
    return rows[classNumber];
}

bool
Fqrs::Seats::room(const Row &row, const bool second) const
{
    const auto open = [second](const uint32_t n) { return second ? n : n - (n + 7) / 8; };
    return row.taken < open(row.reserved) || spoken < open(most_);
}

bool
Fqrs::Seats::force(const uint32_t classNumber, const uint32_t n)
{
    auto &row = rowOf(classNumber);
    auto had = true;
    for (uint32_t i = 0; i < n; ++i) {
        had = room(row, false) && had;
        if (row.taken >= row.reserved)
            ++spoken;
        ++row.taken;
    }
    taken_ += n;
    return had;
}

bool
Fqrs::Seats::enter(const uint32_t classNumber)
{
    return force(classNumber, 1) || (give(classNumber, 1), false);
}

bool
Fqrs::Seats::take(const uint32_t classNumber)
{
    const auto had = room(rowOf(classNumber), true);
    if (had)
        force(classNumber, 1);
    return had;
}

void
Fqrs::Seats::give(const uint32_t classNumber, const uint32_t n)
{
    auto &row = rowOf(classNumber);
    assert(row.taken >= n);
    for (uint32_t i = 0; i < n; ++i) {
        --row.taken;
        if (row.taken >= row.reserved)
            --spoken;
    }
    taken_ -= n;
}

