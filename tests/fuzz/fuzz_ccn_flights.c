/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ccn_flights.c - which calls are in work in which process, in memory that processes share, while one of them
 * writes whatever it likes there.
 *
 * No call touches anything outside or takes a row of another set.  Who asks gets one of the answers there are, and a
 * call that is our own is over when it ends; a row whose holder is nobody is nobody's, whatever else stands in it.
 * Where nobody writes, a call is in work in one process at a time, is so until it ends or its process dies, and who
 * waits is known.
 */
#define FAIRGATE_CCN_CHILD_H /* the process, and those that share the memory, are ours */
#include "fuzz_memory.h"

#include <stdio.h>

#include "mod_ccn/ccn_flights.h"
#include "shm/shm.h"

#define MUST(truth) ((truth) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth), abort()))

enum { OWNERS = 4, KEYS = 16, OPS = 200 };
#define PAGE_BYTES UINT64_C(4096)

static struct {
    struct shm_view view;
    struct ccn_flights *flights;
    uint32_t row;
} ccn_process;
static struct shm_owner owners[OWNERS];
static int locked;

static uint64_t ccn_seat_holder(void) {
    return (uint64_t)ccn_process.row << 32 | (uint32_t)owners[ccn_process.row].pid;
}
static bool ccn_holder_lives(uint64_t holder) {
    uint32_t row = (uint32_t)(holder >> 32);
    return (pid_t)(uint32_t)holder > 0 && row < OWNERS && owners[row].pid == (pid_t)(uint32_t)holder;
}
void shm_lock(const struct shm_view *v) {
    MUST(v == &ccn_process.view && !locked);
    locked = 1;
}
void shm_unlock(const struct shm_view *v) {
    MUST(v == &ccn_process.view && locked);
    locked = 0;
}

#include "mod_ccn/ccn_flights.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool hostile;
static int flies[KEYS]; /* whose it is, by what we have been told: 1 + row, 0: nobody's */
static bool waited[KEYS];

/* Half of them meet in one set, whose rows are not enough for them. */
static void key_of(unsigned i, uint64_t key[2]) {
    key[0] = i < KEYS / 2 ? i * 7919u : 5u + (uint64_t)i * CCN_FLIGHT_SETS;
    key[1] = i + 1;
}

static void set_up(void) {
    uint64_t bytes = (sizeof *P.flights + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    char *reserved = mmap(NULL, bytes + 2 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    MUST(reserved != MAP_FAILED && !mprotect(reserved + PAGE_BYTES, bytes, PROT_READ | PROT_WRITE));
    P.flights = (struct ccn_flights *)(void *)(reserved + PAGE_BYTES + bytes - sizeof *P.flights);
    P.view.owners = owners;
    P.view.size.owners = OWNERS;
}

static void process_dies(uint32_t row) {
    owners[row].pid++;
    for (unsigned i = 0; i < KEYS; i++)
        if (flies[i] == (int)row + 1) flies[i] = 0;
}

static void begin(unsigned i, const uint64_t key[2]) {
    enum ccn_flown flown = ccn_flight_begin(key);

    MUST(flown == CCN_FLIGHT_OURS || flown == CCN_FLIGHT_OTHERS || flown == CCN_FLIGHT_NO_ROOM);
    if (hostile) return;
    MUST((flown == CCN_FLIGHT_OTHERS) == (flies[i] != 0));
    if (flown == CCN_FLIGHT_OURS) flies[i] = (int)P.row + 1;
    waited[i] = flown == CCN_FLIGHT_OTHERS;
}

static void call(uint8_t op, uint8_t which) {
    unsigned i = which % KEYS;
    uint64_t key[2];
    bool is;

    key_of(i, key);
    P.row = which / KEYS % OWNERS;
    switch (op % 5) {
    case 0: begin(i, key); break;
    case 1:
        is = ccn_flight_goes_on(key);
        MUST(hostile || is == (flies[i] != 0));
        break;
    case 2:
        is = ccn_flight_is_waited_for(key);
        if (hostile) break;
        MUST(is == (flies[i] == (int)P.row + 1 && waited[i]));
        if (flies[i] == (int)P.row + 1 && !is) flies[i] = 0;
        break;
    case 3:
        ccn_flight_end(key);
        if (flies[i] == (int)P.row + 1) flies[i] = 0;
        break;
    case 4: process_dies(P.row); break;
    }
    MUST(!locked);
}

/* A row of that key, whoever its holder is said to be. */
static void forge(struct input *in) {
    unsigned i = byte(in) % KEYS;
    uint64_t key[2];

    key_of(i, key);
    P.flights->row[key[0] % CCN_FLIGHT_SETS][byte(in) % CCN_FLIGHT_WAYS] =
        (struct ccn_flight){ { key[0], key[1] }, word(in), word(in) };
}

/* The first byte: whether there is an enemy. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = { data, data + size };
    uint64_t key[2];

    if (!P.flights) set_up();
    memset(P.flights, 0, sizeof *P.flights);
    memset(flies, 0, sizeof flies);
    memset(waited, 0, sizeof waited);
    for (unsigned i = 0; i < OWNERS; i++) owners[i] = (struct shm_owner){ .pid = i ? 1000 + (pid_t)i : 0 };
    owners[OWNERS - 1].pid = 1;
    hostile = byte(&in) & 1;
    owners[0].pid = hostile ? 0 : 1000; /* a row that nobody has */
    for (int ops = 0; in.at < in.end && ops < OPS; ops++) {
        uint8_t op = byte(&in);
        if (hostile && op >= 0xe0) write_over(&in, P.flights, sizeof *P.flights);
        else if (hostile && op >= 0xc0) forge(&in);
        else call(op, byte(&in));
    }
    /* When all processes have died, nothing goes on, whatever was written. */
    for (unsigned i = 0; i < OWNERS; i++) owners[i].pid = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        key_of(i, key);
        MUST(!ccn_flight_goes_on(key));
    }
    return 0;
}
