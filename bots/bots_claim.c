/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_claim.h"

#include <string.h>

bool bots_claims(struct bots_claims *all, const struct bots_message *m) {
    *all = (struct bots_claims){ .message = m, .inputs = m->field(m->of, "signature-input") };
    if (!all->inputs.at) return false;
    if (all->inputs.n > BOTS_FIELD_MAX) all->inputs = bots_text("!", 1);
    all->left = all->inputs;
    all->signatures = m->field(m->of, "signature");
    all->agents = m->field(m->of, "signature-agent");
    if (all->signatures.n > BOTS_FIELD_MAX) all->signatures.at = NULL;
    if (all->agents.n > BOTS_FIELD_MAX) all->agents.at = NULL;
    return true;
}

/* ---- what the signer says about it ------------------------------------------------------------------------------- */

struct said {
    struct bots_item created, expires, keyid, alg, tag, nonce;
};

static bool claim_said(const struct bots_item *list, struct said *said) {
    struct bots_text left = list->parameters;
    struct bots_member p;
    const struct {
        const char *name;
        struct bots_item *item;
        enum bots_kind kind;
    } rows[] = {
        { "created", &said->created, BOTS_WHOLE }, { "expires", &said->expires, BOTS_WHOLE },
        { "keyid", &said->keyid, BOTS_STRING },    { "alg", &said->alg, BOTS_STRING },
        { "tag", &said->tag, BOTS_STRING },        { "nonce", &said->nonce, BOTS_STRING },
    };

    memset(said, 0, sizeof *said);
    while (bots_fields_parameter(&left, &p))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            if (!bots_text_is(p.key, rows[i].name)) continue;
            if (p.item.kind != rows[i].kind || rows[i].item->text.at) return false;
            *rows[i].item = p.item;
        }
    return true;
}

static bool claim_says(const struct bots_item *item, const char *word) {
    return item->text.at && bots_text_is(bots_text(item->text.at + 1, item->text.n - 2), word);
}

/* One of ours, whatever else is wrong with it. */
static bool claim_has_our_tag(const struct bots_item *list) {
    struct bots_text left = list->parameters;
    struct bots_member p;

    while (bots_fields_parameter(&left, &p))
        if (bots_text_is(p.key, "tag") && p.item.kind == BOTS_STRING && claim_says(&p.item, "web-bot-auth"))
            return true;
    return false;
}

static bool claim_times(struct bots_claim *c, const struct said *said) {
    if (!said->created.text.at || !said->expires.text.at) return false;
    c->created = said->created.whole;
    c->until = said->expires.whole;
    if (c->created < 0 || c->until < c->created) return false;
    if (c->until - c->created > BOTS_LONGEST) c->until = c->created + BOTS_LONGEST;
    return true;
}

static bool claim_key(struct bots_claim *c, const struct said *said) {
    struct bots_text keyid = said->keyid.text;

    if (!keyid.at || (said->alg.text.at && !claim_says(&said->alg, "ed25519"))) return false;
    return bots_base64(bots_text(keyid.at + 1, keyid.n - 2), true, c->thumbprint, sizeof c->thumbprint) ==
           sizeof c->thumbprint;
}

/* ---- what it covers ---------------------------------------------------------------------------------------------- */

struct covered {
    bool target;                    /* whom the request is for */
    bool agents;                    /* all of Signature-Agent */
    unsigned nkeys;                 /* members of it */
    struct bots_item key, labelled; /* the last of them; the one with the signature's label */
};

static void claim_covers(const struct bots_item *list, struct bots_text label, struct covered *covered) {
    struct bots_text left = bots_fields_inside(list), parameters;
    struct bots_item component;
    struct bots_member p;
    char name[64];

    memset(covered, 0, sizeof *covered);
    while (bots_fields_inner(&left, &component)) {
        bool plain = !component.parameters.n;
        if (plain && (claim_says(&component, "@authority") || claim_says(&component, "@target-uri")))
            covered->target = true;
        if (!claim_says(&component, "signature-agent")) continue;
        covered->agents |= plain;
        parameters = component.parameters;
        while (bots_fields_parameter(&parameters, &p)) {
            int n = bots_text_is(p.key, "key") ? bots_fields_string(&p.item, name, sizeof name) : -1;
            if (n < 0) continue;
            covered->nkeys++;
            covered->key = p.item;
            if (bots_text_same(bots_text(name, (size_t)n), label)) covered->labelled = p.item;
        }
    }
}

/* The item of Signature-Agent that the signature counts for. */
static bool claim_agent_item(const struct bots_claims *all, const struct bots_item *list, struct bots_text label,
                             struct bots_item *agent) {
    struct bots_text field = all->agents;
    struct covered covered;
    struct bots_member m;
    char name[64];
    int n;

    claim_covers(list, label, &covered);
    if (!covered.target || !field.at) return false;
    while (field.n && *field.at == ' ') field.at++, field.n--;
    if (field.n && *field.at == '"') {
        if (!covered.agents || !bots_fields_item(field, agent)) return false;
    } else {
        if (covered.nkeys) {
            const struct bots_item *key = covered.nkeys == 1 ? &covered.key : &covered.labelled;
            n = key->text.at ? bots_fields_string(key, name, sizeof name) : -1;
            if (n < 0) return false;
            label = bots_text(name, (size_t)n);
        } else if (!covered.agents) return false;
        if (bots_fields_find(field, label, &m) != 1) return false;
        *agent = m.item;
    }
    return agent->kind == BOTS_STRING && !agent->parameters.n;
}

static bool claim_agent(const struct bots_claims *all, struct bots_text label, struct bots_claim *c) {
    struct bots_item agent;
    char url[BOTS_AGENT_MAX];
    int n;

    if (!claim_agent_item(all, &c->list, label, &agent)) return false;
    n = bots_fields_string(&agent, url, sizeof url);
    return n > 0 && bots_agent(url, (size_t)n, c->agent);
}

/* ---- the claim --------------------------------------------------------------------------------------------------- */

static bool claim_read(const struct bots_claims *all, const struct bots_member *input, struct bots_claim *c) {
    struct bots_member signature, other;
    struct said said;

    c->list = input->item;
    if (!claim_said(&c->list, &said) || !claim_times(c, &said) || !claim_key(c, &said)) return false;
    c->nonce = said.nonce.text.at ? said.nonce.text : bots_text("", 0);
    if (!claim_agent(all, input->key, c)) return false;
    return all->signatures.at && bots_fields_find(all->inputs, input->key, &other) == 1 &&
           bots_fields_find(all->signatures, input->key, &signature) == 1 &&
           bots_fields_bytes(&signature.item, c->signature, sizeof c->signature) == sizeof c->signature;
}

enum bots_read bots_claim_next(struct bots_claims *all, struct bots_claim *c) {
    struct bots_member input;

    while (all->n < BOTS_CLAIMS_MAX && bots_fields_member(&all->left, &input)) {
        if (input.item.kind != BOTS_LIST || !claim_has_our_tag(&input.item)) continue;
        all->n++;
        return claim_read(all, &input, c) ? BOTS_A_CLAIM : BOTS_BAD_CLAIM;
    }
    if (all->left.at) return BOTS_NO_CLAIM;
    all->left = bots_text("", 0);
    return BOTS_BAD_CLAIM;
}
