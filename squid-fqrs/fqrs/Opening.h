/* SPDX-License-Identifier: GPL-2.0-or-later */

#ifndef SQUID_SRC_FQRS_OPENING_H
#define SQUID_SRC_FQRS_OPENING_H

namespace Fqrs
{

/// What is to be done to a connection that Squid opens: before its handshake, which offers a first receive window, and
/// as soon as it is open. All of it stands here, since not all programs that open connections have a scheduler.
class Opening
{
public:
    typedef void Hook(int fd);

    static void Begins(const int fd) { Call(hooks().begins, fd); }
    static void Done(const int fd) { Call(hooks().done, fd); }

    /// From now on these are called; nil for none.
    static void Use(Hook *begins, Hook *done) { hooks() = {begins, done}; }

private:
    struct Hooks {
        Hook *begins;
        Hook *done;
    };

    static Hooks &hooks() {
        static Hooks theHooks = {nullptr, nullptr};
        return theHooks;
    }

    static void Call(Hook *hook, const int fd) {
        if (hook)
            hook(fd);
    }
};

} // namespace Fqrs

#endif /* SQUID_SRC_FQRS_OPENING_H */

