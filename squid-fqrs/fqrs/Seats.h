/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_SEATS_H
#define SQUID_SRC_FQRS_SEATS_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace Fqrs
{

/**
 * Squid's descriptors, and whose they are. A scheduled request has a seat for its client's connection from when its
 * class is known, and a second one, for a server's, from its release; both to its end. A tunnel has two all the time,
 * who joins another's fetch one while it waits.
 *
 * A quarter of the seats is reserved for the classes, by weight; the others are for whoever comes. So one class,
 * however many clients it has, leaves the others their reserve, and Squid enough descriptors to take their connections.
 *
 * Descriptors are a process's own: each worker has seats for those of its clients, and tells the others only how many
 * are taken.
 *
 * An eighth of a class's reserve, and of all, is for second seats only: who was let in to wait finds one when it is his
 * turn, while no more than that are released.
 */
class Seats
{
public:
    enum { ClassesMax = 16384 };

    /// what others read; zeroes at first
    struct alignas(64) Told {
        std::atomic<uint32_t> taken, most;
        std::atomic<uint32_t> takenBy[ClassesMax]; ///< by class number
    };

    struct Share {
        uint32_t classNumber;
        uint32_t weight;
    };

    /// From now on so many seats, a quarter of them reserved for these classes; who has one keeps it.
    void configure(uint32_t most, const std::vector<Share> &);

    /// From now on it is told there, where somebody else may have told of his before.
    void tell(Told &);

    bool enter(uint32_t classNumber); ///< one, of who comes; false: no more for this class
    bool take(uint32_t classNumber); ///< a second one; false: no more for this class
    bool force(uint32_t classNumber, uint32_t n); ///< takes them in any case; false: for who comes some were too many
    void give(uint32_t classNumber, uint32_t n);

private:
    struct Row {
        uint32_t taken = 0;
        uint32_t reserved = 0;
    };

    Row &rowOf(uint32_t classNumber);
    bool room(const Row &, bool second) const;

    void tell(uint32_t classNumber);

    Told *told = nullptr;
    std::vector<Row> rows; ///< by class number
    uint32_t most_ = 0;
    uint32_t taken_ = 0;
    uint32_t spoken = 0; ///< taken, or reserved: the sum over the classes of whichever is more
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_SEATS_H */

