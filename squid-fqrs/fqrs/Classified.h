/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_CLASSIFIED_H
#define SQUID_SRC_FQRS_CLASSIFIED_H

#include <cstdint>

namespace Fqrs
{

/// who asked for a request's class
class Classified
{
public:
    /// `position` is one of TheConfig's classes, or Classification::NotScheduled. The Classification is to be deleted.
    virtual void classified(uint32_t position) = 0;

protected:
    ~Classified() = default;
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_CLASSIFIED_H */

