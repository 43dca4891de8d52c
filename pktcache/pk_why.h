/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_why.h - why packets go as they are.  Every reason, once:  WHY(name, sentence); the number of one is its place, and
 * is told to the peer (PK_ASIDE), so new ones come last.
 */
#ifndef FAIRGATE_PK_WHY_H
#define FAIRGATE_PK_WHY_H

#define PK_WHYS                                                                                                        \
    WHY(NOTHING, "")                                                                                                   \
    WHY(SESSION, "there is no session with the other end")                                                             \
    WHY(SILENT, "nothing is heard of what is sent to the child")                                                       \
    WHY(VERSION,                                                                                                       \
        "the other end speaks another version of the protocol; there is no session until both are of one version")     \
    WHY(DISAGREES,                                                                                                     \
        "the other end has other `queues` or another `fingerprint`; there is no session until both are the same")      \
    WHY(STRANGE, "the parent sends packets that `servers`, `clients` and `ports` of the child do not have; until "     \
                 "they are the same at both ends, packets go as they are")                                             \
    WHY(FOLLOWED, "connections stand still after what went as fingerprints, though the child got it: something on "    \
                  "the link follows TCP and throws away what it holds for invalid "                                    \
                  "(conntrack, ctstate INVALID); let it not look at these connections")                                \
    WHY(DOWN, "the device is down: somebody took it down")                                                             \
    WHY(UNHEARD, "nothing is heard of the parent")                                                                     \
    WHY(LINK, "no device that packets can be taken from leads to the other end now; the log says more")

enum pk_why {
#define WHY(name, sentence) PK_WHY_##name,
    PK_WHYS
#undef WHY
    PK_WHY_COUNT
};

static inline const char *pk_why_sentence(unsigned why) {
    static const char *const sentences[] = {
#define WHY(name, sentence) sentence,
        PK_WHYS
#undef WHY
    };
    return why < PK_WHY_COUNT ? sentences[why] : "the other end has a reason that is not known here";
}

#endif
