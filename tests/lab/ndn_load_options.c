/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_load_options.c - the command line of fairgate-ndn-load, and its list of names. */
#include "ndn_load.h"

#include "ndn/ndn_name.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX    1000000u
#define CLIENTS_MAX 1000000
#define FACES_MAX   10000

static void __attribute__((noreturn, format(printf, 1, 2))) nload_wrong(const char *format, ...) {
    va_list v;
    va_start(v, format);
    fputs("fairgate-ndn-load: ", stderr);
    vfprintf(stderr, format, v);
    fputs("\n(--help lists what there is)\n", stderr);
    va_end(v);
    exit(2);
}

/* Options with a number: where it goes, its bounds, its usual value, and its sentence in --help. */
enum number { REAL, WHOLE32, WHOLE64, MS };
static const struct option_row {
    const char *name;
    enum number number;
    size_t field;
    double least, most, usual;
    const char *says;
} number_rows[] = {
#define AT(f) offsetof(struct nload, f)
    { "clients", WHOLE32, AT(client_count), 1, CLIENTS_MAX, 1, "that ask: all the time, or in each spike" },
    { "faces", WHOLE32, AT(face_count), 0, FACES_MAX, 0, "TCP connections that they share in turn; 0: one each" },
    { "seconds", REAL, AT(seconds), 0.01, 86400, 10, "length of the measurement, at most" },
    { "warmup", REAL, AT(warmup), 0, 86400, 0, "seconds before it, not counted; of a closed loop" },
    { "spread", REAL, AT(spread), 0, 86400, 0, "seconds within which clients begin, or a spike's come" },
    { "think", MS, AT(think_us), 0, 86400000, 0, "ms between a page and the next; of a closed loop" },
    { "requests", WHOLE64, AT(requests), 0, 1e15, 0, "of each client of a closed loop; 0: no end" },
    { "spikes", WHOLE32, AT(spikes), 1, 1000, 6, "of intermittent load" },
    { "turns", WHOLE32, AT(turns), 1, 1000, 3, "of alternating load, each high and then low" },
    { "between", REAL, AT(between), 0, 86400, 10, "seconds from spike to spike; of each high and each low" },
    { "rate", REAL, AT(rate), 0, 1e6, 0, "requests/s of alternating load while it is high" },
    { "low-rate", REAL, AT(low_rate), 0, 1e6, 0, "requests/s while it is low, and beside spikes" },
    { "window-size", WHOLE32, AT(window.window), 1, NDN_WINDOW_MAX, 512,
      "fixed: how many segments at one time; others: the most" },
    { "tries", WHOLE32, AT(window.tries), 1, NDN_TRIES_MAX, 10, "of one segment" },
    { "wait", MS, AT(window.first_wait), 1, 3600000, 4000, "ms until a page's first Interest counts as lost" },
    { "lifetime", WHOLE64, AT(lifetime_ms), 1, 3600000, NDN_LIFETIME_USUAL_MS, "ms of an Interest" },
    { "serial", WHOLE64, AT(serial), 0, 9e9, 0, "the first number for " NLOAD_TAG },
    { "seed", WHOLE64, AT(seed), 0, 9e15, 1, "of what is drawn" },
#undef AT
};
#define ROWS (sizeof number_rows / sizeof number_rows[0])

static const char *const load_names[] = { "closed", "spike", "intermittent", "alternating" };
static const char *const window_names[NDN_WINDOW_KINDS] = { "fixed", "hint", "aimd", "cubic" };

static void help(void) {
    printf("fairgate-ndn-load [options] HOST:PORT\n"
           "Clients of a named-data network; one JSON document at the end, on standard output.\n\n"
           "  --name NAME          a page's name; " NLOAD_TAG " in it is a new number each time\n"
           "  --names FILE         lines of WEIGHT KIND NAME: one is drawn by weight for each request, and figures\n"
           "                       are told for each kind\n"
           "  --own                client i always asks for the i-th of them\n"
           "  --even               requests of alternating load come at equal distances, not at random\n"
           "  --load NAME          closed (usual), spike, intermittent, alternating\n"
           "  --window KIND        hint (usual), fixed, aimd, cubic\n"
           "  --each               every page in the document, too\n"
           "  --realtime           before all else on this CPU, as if the clients had machines of their own\n\n");
    for (size_t i = 0; i < ROWS; i++)
        printf("  --%-11s N      %s (%g)\n", number_rows[i].name, number_rows[i].says, number_rows[i].usual);
    exit(0);
}

static void set_number(struct nload *l, const struct option_row *row, double v) {
    char *field = (char *)l + row->field;
    switch (row->number) {
    case REAL: *(double *)(void *)field = v; break;
    case WHOLE32: *(uint32_t *)(void *)field = (uint32_t)v; break;
    case WHOLE64: *(uint64_t *)(void *)field = (uint64_t)v; break;
    case MS: *(uint64_t *)(void *)field = (uint64_t)(v * 1000); break;
    }
}

static void take_number(struct nload *l, const struct option_row *row, const char *text) {
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || errno || !(v >= row->least) || v > row->most)
        nload_wrong("--%s: \"%s\" is not a number from %g to %.0f", row->name, text, row->least, row->most);
    set_number(l, row, v);
}

static int one_of(const char *const *names, int n, const char *option, const char *text) {
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], text)) return i;
    nload_wrong("%s: there is no \"%s\"", option, text);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static uint32_t kind_of(struct nload *l, const char *name) {
    for (uint32_t i = 0; i < l->kind_count; i++)
        if (!strcmp(l->kinds[i], name)) return i;
    if (l->kind_count == NLOAD_KINDS_MAX) nload_wrong("more than %u kinds of pages", NLOAD_KINDS_MAX);
    l->kinds[l->kind_count] = nload_need(strdup(name));
    return l->kind_count++;
}

/* The name's bytes, and where its number goes: it is parsed with letters in that place which it has nowhere else. */
static void add_name(struct nload *l, double weight, const char *kind, const char *text) {
    static const char mark[] = "~~~~~~~~~~";
    char marked[4 * NLOAD_NAME_MAX], *error = NULL;
    const char *tag = strstr(text, NLOAD_TAG);
    struct nload_page *p;
    struct ndn_name name;
    struct ndn_out out;

    _Static_assert(sizeof mark - 1 == NLOAD_TAG_WIDTH, "a digit for each");
    if (l->page_count == LIST_MAX) nload_wrong("more than %u names", LIST_MAX);
    if ((l->page_count & (l->page_count - 1)) == 0) {
        size_t room = l->page_count ? 2 * (size_t)l->page_count : 1;
        l->pages = nload_need(realloc(l->pages, room * sizeof l->pages[0]));
    }
    if (strlen(text) > sizeof marked - sizeof mark) nload_wrong("%s: too long", text);
    if (tag) snprintf(marked, sizeof marked, "%.*s%s%s", (int)(tag - text), text, mark, tag + strlen(NLOAD_TAG));
    else strcpy(marked, text);
    p = &l->pages[l->page_count];
    *p = (struct nload_page){ .kind = kind_of(l, kind), .upto = weight };
    if (l->page_count) p->upto += p[-1].upto;
    l->page_count++;
    out = ndn_out_into(p->name, sizeof p->name - 64); /* a version and a segment follow */
    if (ndn_name_parse(marked, &out, &name, &error)) nload_wrong("%s: %s", text, error ? error : "out of memory");
    if (!name.n) nload_wrong("%s: a name needs a component", text);
    p->n = name.bytes.n;
    if (tag) p->tag_at = (size_t)((uint8_t *)nload_need(memmem(p->name, p->n, mark, sizeof mark - 1)) - p->name);
}

static void read_names(struct nload *l, const char *file) {
    FILE *f = fopen(file, "r");
    char *line = NULL, *at, *kind, *name, *end;
    size_t room = 0;
    ssize_t n;
    double weight;

    if (!f) nload_wrong("--names %s: %s", file, strerror(errno));
    while ((n = getline(&line, &room, f)) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!line[0] || line[0] == '#') continue;
        weight = strtod(line, &at);
        kind = at + strspn(at, " ");
        end = kind + strcspn(kind, " ");
        name = end + strspn(end, " ");
        if (at == line || !(weight > 0) || weight > 1e12 || kind == at || end == kind || !*name)
            nload_wrong("--names %s: \"%s\" is not WEIGHT KIND NAME", file, line);
        *end = '\0';
        add_name(l, weight, kind, name);
    }
    free(line);
    fclose(f);
}

static void find_address(struct nload *l, const char *text) {
    const char *colon = strrchr(text, ':');
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    char *host;
    int failed;

    if (!colon || colon == text) nload_wrong("\"%s\" is not HOST:PORT", text);
    host = nload_need(strndup(text, (size_t)(colon - text)));
    failed = getaddrinfo(host, colon + 1, &hints, &found);
    if (failed) nload_wrong("%s: %s", text, gai_strerror(failed));
    memcpy(&l->address, found->ai_addr, found->ai_addrlen);
    l->address_n = found->ai_addrlen;
    l->address_text = text;
    freeaddrinfo(found);
    free(host);
}

void nload_options(struct nload *l, int argc, char **argv) {
    enum { NAME = 1000, NAMES, OWN, EVEN, LOAD, WINDOW, EACH, REALTIME, HELP, FIRST_ROW = 2000 };
    struct option options[ROWS + 10] = { { "name", 1, NULL, NAME }, { "names", 1, NULL, NAMES },
                                         { "own", 0, NULL, OWN },   { "even", 0, NULL, EVEN },
                                         { "load", 1, NULL, LOAD }, { "window", 1, NULL, WINDOW },
                                         { "each", 0, NULL, EACH }, { "realtime", 0, NULL, REALTIME },
                                         { "help", 0, NULL, HELP } };

    l->window.kind = NDN_WINDOW_HINT;
    for (size_t i = 0; i < ROWS; i++) {
        options[9 + i] = (struct option){ number_rows[i].name, 1, NULL, FIRST_ROW + (int)i };
        set_number(l, &number_rows[i], number_rows[i].usual);
    }
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        switch (o) {
        case NAME: add_name(l, 1, "all", optarg); break;
        case NAMES: read_names(l, optarg); break;
        case OWN: l->own = true; break;
        case EVEN: l->even = true; break;
        case LOAD: l->kind = (enum nload_kind)one_of(load_names, 4, "--load", optarg); break;
        case WINDOW:
            l->window.kind = (enum ndn_window_kind)one_of(window_names, NDN_WINDOW_KINDS, "--window", optarg);
            break;
        case EACH: l->each = true; break;
        case REALTIME: l->realtime = true; break;
        case HELP: help(); break;
        default:
            if (o < FIRST_ROW) nload_wrong("an option that there is not");
            take_number(l, &number_rows[o - FIRST_ROW], optarg);
        }
    }
    if (optind != argc - 1) nload_wrong("say where to: one HOST:PORT after the options");
    if (!l->page_count) nload_wrong("say what to ask for: --name or --names");
    if (!l->face_count) l->face_count = l->client_count;
    if (l->face_count > FACES_MAX) nload_wrong("more than %d faces: let clients share them", FACES_MAX);
    find_address(l, argv[optind]);
}
