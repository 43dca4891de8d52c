/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_SIZES_H
#define SQUID_SRC_FQRS_SIZES_H

#include <cstddef>
#include <cstdint>

class HttpRequest;
class SBuf;

namespace Fqrs
{

/**
 * How large responses were, and so will be: running means of whole ones, header included.
 *
 * A page is known by its URL and by what its client takes of content codings; else by its URL without the values of its
 * query; else by its server and the ending of its path (what its type is nobody knows before it comes), a tunnel by its
 * server and port. One that is asked for only if it has changed is another page: mostly nothing comes. So that no
 * client can fill the table with what pushes others out, it is one of fixed size that keeps what is asked for again and
 * again, and its keys are hashes with a secret. A page is as large for whoever asks for it. But what is only like it is
 * each class's own: else who fetches large ones would make another class's small ones wait.
 *
 * All workers learn in one table (Segment.h): plain words that any number of processes may read and write without a
 * lock (pages/pages_learnt.h).
 */
class Sizes
{
public:
    /// what a request's response is known by; 0 is nothing
    struct Keys {
        uint64_t page = 0;
        uint64_t pattern = 0;
        uint64_t kind = 0;
    };

    /// Of a GET or a CONNECT; others, and requests for parts, bring nothing that another one would.
    static Keys KeysOf(const HttpRequest &);

    static size_t Bytes(); ///< of the table
    void begin(void *aTable) { table = aTable; } ///< zeroes at first; without one nothing is known

    static uint64_t ClassOf(const SBuf &name); ///< for what follows; never 0

    /// Bytes of the response; 0 if they are not known. `ofClass`: by what is like it and was of this class, too; 0: of
    /// none.
    uint64_t expected(const Keys &, uint64_t ofClass) const;

    /// So many bytes had the whole response.
    void learn(const Keys &, uint64_t ofClass, uint64_t bytes);

private:
    uint64_t mean(uint64_t key) const;
    void add(uint64_t key, uint64_t bytes);

    void *table = nullptr;
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_SIZES_H */

