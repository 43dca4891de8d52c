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
    if (told)
        told->most.store(most_, std::memory_order_relaxed);
}

void
Fqrs::Seats::tell(Told &there)
{
    told = &there;
    for (auto &n: there.takenBy)
        n.store(0, std::memory_order_relaxed);
    for (uint32_t i = 0; i < rows.size(); ++i)
        there.takenBy[i].store(rows[i].taken, std::memory_order_relaxed);
    there.taken.store(taken_, std::memory_order_relaxed);
    there.most.store(most_, std::memory_order_relaxed);
}

void
Fqrs::Seats::tell(const uint32_t classNumber)
{
    if (!told)
        return;
    told->takenBy[classNumber].store(rows[classNumber].taken, std::memory_order_relaxed);
    told->taken.store(taken_, std::memory_order_relaxed);
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
    tell(classNumber);
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
    tell(classNumber);
}

