/* SPDX-License-Identifier: BSD-2-Clause */
/* Named services: names, declarations, which one a call means, and what is told of what is wrong. */
#include "base/base_error.h"
#include "run_suite.h"
#include "service/service_bind.h"
#include "service/service_listing.h"
#include "service/service_types.h"
#include "service/service_url.h"

#define SCALE                                                                                                          \
    "/unibe/cds/scaleImage file=content(10M) width=int(1..4096) height=int(1..4096) => "                               \
    "/services/scale?w={width}&h={height} fresh=1h doc=\"An image in another size\""
#define JPEG "/scn/toJPEG image=content quality=int(1..100):85 => /services/jpeg?quality={quality}"

/* ---- names ------------------------------------------------------------------------------------------------------- */

#define FIGURE_3 "/unibe/cds/scaleImage/!{\"file\":\"ccnx:/dir/imgs/profile.bmp\",\"height\":\"200\",\"width\":\"300\"}"
#define FIGURE_4                                                                                                       \
    "/scn/toJPEG/!{\"image\":\"/unibe/cds/scaleImage/!{\\\"file\\\":\\\"ccnx:/dir/imgs/profile.bmp\\\","               \
    "\\\"height\\\":\\\"200\\\",\\\"width\\\":\\\"300\\\"}\"}"
#define PAPER_3                                                                                                        \
    "/unibe/cds/scaleImage/! { \"file\" : \"ccnx:/dir/imgs/profile.bmp\",\n \"width\" : \"300\",\n"                    \
    " \"height\" : \"200\" }"
/* As it is printed, but for line breaks. */
#define PAPER_4                                                                                                        \
    "/scn/toJPEG/!{ \xe2\x80\x9cimage\xe2\x80\x9d : \xe2\x80\x9c/unibe/cds/scaleImage/!{ \xe2\x80\x9c"                 \
    "file\xe2\x80\x9d : \xe2\x80\x9c"                                                                                  \
    "ccnx:/dir/imgs/profile.bmp\xe2\x80\x9d,\n\xe2\x80\x9cwidth\xe2\x80\x9d : \xe2\x80\x9c"                            \
    "300\xe2\x80\x9d,\n\xe2\x80\x9cheight\xe2\x80\x9d : \xe2\x80\x9c"                                                  \
    "200\xe2\x80\x9d }\xe2\x80\x9d }"
#define PAPER_4_PLAIN                                                                                                  \
    "/scn/toJPEG/!{ \"image\" : \"/unibe/cds/scaleImage/!{ \"file\" : \"ccnx:/dir/imgs/profile.bmp\","                 \
    " \"width\" : \"300\", \"height\" : \"200\" }\" }"

static const struct {
    const char *text, *is; /* NULL: refused */
    enum service_problem_kind kind;
} calls[] = {
    { "/a/b/!{}", "/a/b/!{}", SERVICE_FINE },
    { "/a/!{\"y\":1,\"x\":2}", "/a/!{\"x\":2,\"y\":1}", SERVICE_FINE },
    { "/a/!  {\"x\": 1.0}", "/a/!{\"x\":1}", SERVICE_FINE },
    { "/a!b/!{}", "/a!b/!{}", SERVICE_FINE },
    { "/\xc3\xa4/!{}", "/\xc3\xa4/!{}", SERVICE_FINE },
    { PAPER_3, FIGURE_3, SERVICE_FINE },
    { FIGURE_4, FIGURE_4, SERVICE_FINE },
    { PAPER_4, NULL, SERVICE_NOT_JSON },
    { "", NULL, SERVICE_NOT_A_CALL },
    { "/", NULL, SERVICE_NOT_A_CALL },
    { "/a/b", NULL, SERVICE_NOT_A_CALL },
    { "/a/b!{}", NULL, SERVICE_NOT_A_CALL },
    { "a/!{}", NULL, SERVICE_NOT_A_CALL },
    { "/!{}", NULL, SERVICE_NOT_A_CALL },
    { "//!{}", NULL, SERVICE_NOT_A_CALL },
    { "/a//b/!{}", NULL, SERVICE_NOT_A_CALL },
    { "/a/../b/!{}", NULL, SERVICE_NOT_A_CALL },
    { "/a/./!{}", NULL, SERVICE_NOT_A_CALL },
    { "/a\nb/!{}", NULL, SERVICE_NOT_A_CALL },
    { "/\xff/!{}", NULL, SERVICE_NOT_A_CALL },
    { "/\xc2\x85/!{}", NULL, SERVICE_NOT_A_CALL },
    { "/a/!", NULL, SERVICE_NOT_JSON },
    { "/a/!x", NULL, SERVICE_NOT_JSON },
    { "/a/![1]", NULL, SERVICE_NOT_JSON },
    { "/a/!1", NULL, SERVICE_NOT_JSON },
    { "/a/!{\"x\":1,\"x\":1}", NULL, SERVICE_NOT_JSON },
};

START_TEST(a_call_is_read) {
    struct service_problem problem = { 0 };
    struct service_call call;
    int rv = service_call_read(calls[_i].text, strlen(calls[_i].text), &call, &problem);

    ck_assert_msg(problem.kind == calls[_i].kind, "%s: %s", calls[_i].text, problem.detail);
    ck_assert_int_eq(rv, calls[_i].is ? 0 : -1);
    if (calls[_i].is) ck_assert_str_eq(call.text, calls[_i].is);
    else ck_assert(problem.detail && *problem.detail && !call.text && !call.arguments);
    service_call_free(&call);
    service_problem_free(&problem);
}
END_TEST

/* The paper's own form is refused, and who wrote it is told what it should have been. */
static const struct {
    const char *text, *corrected;
} papers[] = {
    { PAPER_4, FIGURE_4 },
    { PAPER_4_PLAIN, FIGURE_4 },
    { "/a/!{\xe2\x80\x9cx\xe2\x80\x9d:1,\xe2\x80\x9cy\xe2\x80\x9d:true}", "/a/!{\"x\":1,\"y\":true}" },
    { "/a/!{\"x\":\"/b/!{\"y\":\"/c/!{\"z\":\"1\"}\"}\"}",
      "/a/!{\"x\":\"/b/!{\\\"y\\\":\\\"/c/!{\\\\\\\"z\\\\\\\":\\\\\\\"1\\\\\\\"}\\\"}\"}" },
    { "/a/!{\"x\":1", NULL },
    { "/a/!{\"x\":1}}", NULL },
    { "/a/!{\"x\":\"/b/!{\"y\":1\"}", NULL },
    { "/a/!{\xe2\x80\x9cx\xe2\x80\x9d:1,\xe2\x80\x9cx\xe2\x80\x9d:2}", NULL },
    { "/a/!{\"x\" \"y\"}", NULL },
    { "/a/!{\xe2\x80\x9cx\xe2\x80\x9d:\xe2\x80\x9c\xff\xe2\x80\x9d}", NULL },
    { "/../!{\xe2\x80\x9cx\xe2\x80\x9d:1}", NULL },
    { "/a/!{\xe2\x80\x9cx:1", NULL },
    { "/a/!{\xe2\x80\x9c", NULL },
};

START_TEST(the_papers_form_is_corrected) {
    struct service_problem problem = { 0 };
    struct service_call call;

    ck_assert_int_eq(service_call_read(papers[_i].text, strlen(papers[_i].text), &call, &problem), -1);
    if (papers[_i].corrected) {
        ck_assert_msg(problem.corrected != NULL, "%s", papers[_i].text);
        ck_assert_str_eq(problem.corrected, papers[_i].corrected);
        ck_assert_int_eq(service_call_read(problem.corrected, strlen(problem.corrected), &call, &problem), 0);
        service_call_free(&call);
    } else {
        ck_assert_msg(!problem.corrected, "%s: %s", papers[_i].text, problem.corrected);
    }
    service_problem_free(&problem);
}
END_TEST

START_TEST(a_call_is_bounded) {
    static char text[2 * SERVICE_CALL_MAX];
    struct service_problem problem = { 0 };
    struct service_call call;

    strcpy(text, "/a/!{\"x\":\"");
    memset(text + strlen(text), 'x', SERVICE_CALL_MAX);
    strcpy(text + SERVICE_CALL_MAX - 2, "\"}");
    ck_assert_int_eq(service_call_read(text, SERVICE_CALL_MAX, &call, &problem), 0);
    service_call_free(&call);
    ck_assert_int_eq(service_call_read(text, SERVICE_CALL_MAX + 1, &call, &problem), -1);
    ck_assert_int_eq(problem.kind, SERVICE_TOO_MUCH);
    memset(text + 1, 'a', SERVICE_NAME_MAX);
    strcpy(text + 1 + SERVICE_NAME_MAX, "/!{}");
    ck_assert_int_eq(service_call_read(text, strlen(text), &call, &problem), -1);
    ck_assert_int_eq(problem.kind, SERVICE_NOT_A_CALL);
    service_problem_free(&problem);
}
END_TEST

/* ---- declarations ------------------------------------------------------------------------------------------------ */

static struct service *declared(const char *text) {
    char *error = NULL;
    struct service *s = service_declare(text, &error);
    ck_assert_msg(s && !error, "%s: %s", text, error);
    return s;
}

START_TEST(what_is_declared) {
    struct service *s = declared(SCALE);

    ck_assert_str_eq(s->name, "/unibe/cds/scaleImage");
    ck_assert_str_eq(s->doc, "An image in another size");
    ck_assert(s->nparams == 3 && s->fresh_s == 3600 && s->timeout_s == 60);
    ck_assert(s->params[0].type == SERVICE_CONTENT && s->params[0].bytes == 10 << 20 && !s->params[0].in_url);
    ck_assert(s->params[1].type == SERVICE_INT && s->params[1].least == 1 && s->params[1].most == 4096);
    ck_assert(s->params[1].in_url && !s->params[1].otherwise);
    ck_assert(s->body == SERVICE_BYTES && s->body_param == 0);
    service_free(&s);
    ck_assert_ptr_null(s);
    s = declared("/a x=text(png|jpeg):png y=number(-1.5..1e3):0.5 z=bool:true => /x/{x}.cgi?y={y}&z={z} timeout=2min");
    ck_assert(s->body == SERVICE_NO_BODY && s->timeout_s == 120 && s->fresh_s == UINT64_MAX && s->nparams == 3);
    ck_assert(json_array_size(s->params[0].choices) == 2 && s->params[1].least == -1.5 && s->params[1].most == 1000);
    ck_assert(json_is_true(s->params[2].otherwise));
    service_free(&s);
    s = declared("/a x=text y=json => /x");
    ck_assert_int_eq(s->body, SERVICE_OBJECT);
    service_free(&s);
    s = declared("/a x=content y=content => /x");
    ck_assert_int_eq(s->body, SERVICE_FORM);
    service_free(&s);
    s = declared("/a x=content y=text => /x");
    ck_assert_int_eq(s->body, SERVICE_FORM);
    service_free(&s);
    s = declared("/a => /x result=1K doc=''");
    ck_assert(s->body == SERVICE_NO_BODY && s->result == 1024 && !*s->doc);
    service_free(&s);
}
END_TEST

static const struct {
    const char *text, *says;
} wrong[] = {
    { "", "a service is NAME" },
    { "a => /x", "begins with a slash" },
    { "/a/ => /x", "leave a component empty" },
    { "/a", "=> and the URL" },
    { "/a x=int", "=> and the URL" },
    { "/a =>", "=> and the URL" },
    { "/a x => /x", "a parameter is NAME=TYPE" },
    { "/a 1=int => /x", "a parameter's name is a letter" },
    { "/a x!=int => /x", "a parameter's name is a letter" },
    { "/a x=int x=int => /x", "stands there already" },
    { "/a x=integer => /x", "is no type" },
    { "/a x=int(1) => /x", "LEAST..MOST" },
    { "/a x=int(1..) => /x", "is no bound" },
    { "/a x=int(a..b) => /x", "is no bound" },
    { "/a x=int(1.5..2) => /x", "is no bound" },
    { "/a x=int(1..1e17) => /x", "is no bound" },
    { "/a x=number(1..1e999) => /x", "is no bound" },
    { "/a x=int(2..1) => /x", "above its most" },
    { "/a x=int(1..2 => /x", ") is missing" },
    { "/a x=int(1..2)y => /x", "only :DEFAULT" },
    { "/a x=int(1..2):3 => /x", "from 1 to 2" },
    { "/a x=int:a => /x", "must be an int" },
    { "/a x=bool(1) => /x", "has no bounds" },
    { "/a x=text(a||b) => /x", "is empty" },
    { "/a x=text(0) => /x", "bytes from" },
    { "/a x=text(a|b):c => /x", "one of [\"a\",\"b\"]" },
    { "/a x=content(2G) => /x", "bytes from" },
    { "/a => x", "a path of this server" },
    { "/a => http://x/", "a path of this server" },
    { "/a => //x/", "a path of this server" },
    { "/a x=text => /{x}", "first piece" },
    { "/a => /x#y", "escaped" },
    { "/a => /x?{y}", "no such parameter" },
    { "/a => /x?y={y", "} is missing" },
    { "/a => /x}", "escaped" },
    { "/a x=text => /x?{x}", "behind =" },
    { "/a x=content => /x?y={x}", "can't stand in a URL" },
    { "/a => /x fresh", "behind the URL" },
    { "/a => /x cache=1", "behind the URL" },
    { "/a => /x fresh=a", "seconds" },
    { "/a => /x over=ftp", "http or ndn" },
    { "/a => /x timeout=0", "seconds" },
    { "/a => /x doc=\"a", "has no end" },
    { "/a => /x doc=\xff", "no UTF-8" },
    { "/a 'x=int => /x", "has no end" },
};

START_TEST(a_wrong_declaration_says_why) {
    char *error = NULL;
    struct service *s = service_declare(wrong[_i].text, &error);

    ck_assert_msg(!s && error && strstr(error, wrong[_i].says), "%s: %s", wrong[_i].text, error ? error : "taken");
    free(error);
}
END_TEST

static int add(struct service_table *t, const char *text) {
    struct service *s = declared(text);
    char *error = NULL;
    int rv = service_table_add(t, s, &error);

    ck_assert(!rv == !error);
    if (rv) service_free(&s);
    free(error);
    return rv;
}

START_TEST(no_call_fits_two) {
    struct service_table t = { 0 };
    unsigned first;

    ck_assert_int_eq(add(&t, "/b x=int => /x"), 0);
    ck_assert_int_eq(add(&t, "/a x=int => /x"), 0);
    ck_assert_int_eq(add(&t, "/c x=int => /x"), 0);
    ck_assert_int_eq(add(&t, "/b x=text => /y"), -1);
    ck_assert_int_eq(add(&t, "/b x=int y=int:1 => /y"), -1);
    ck_assert_int_eq(add(&t, "/b y=int => /y"), 0);
    ck_assert_int_eq(add(&t, "/b x=int y=int => /y"), 0);
    ck_assert_int_eq(add(&t, "/b => /y"), 0);
    ck_assert_int_eq(add(&t, "/b z=int:1 => /y"), -1);
    ck_assert(service_table_find(&t, "/b", &first) == 4 && first == 1);
    ck_assert(service_table_find(&t, "/a", &first) == 1 && first == 0);
    ck_assert(service_table_find(&t, "/d", &first) == 0 && service_table_find(&t, "", &first) == 0);
    service_table_free(&t);
    ck_assert(!t.n && !t.all);
}
END_TEST

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static struct service_table all;

static void declare_all(void) {
    static const char *const texts[] = {
        SCALE,
        JPEG,
        "/n least=number(0..1) => /n?x={least}",
        "/t say=text(5) => /t?x={say}",
        "/b is=bool => /b?x={is}",
        "/j what=json(20) => /j",
        "/p name=text => /p/{name}/x",
        "/o => /o",
        "/o a=int => /o?a={a}",
        "/o a=int b=int => /o?a={a}&b={b}",
        "/d from=content:ndn:/x => /d",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) ck_assert_int_eq(add(&all, texts[i]), 0);
}

static void forget_all(void) { service_table_free(&all); }

static const struct {
    const char *call, *key; /* or which parameter is wrong */
    enum service_problem_kind kind;
} binds[] = {
    { FIGURE_3, "/unibe/cds/scaleImage/!{\"file\":\"ndn:/dir/imgs/profile.bmp\",\"height\":200,\"width\":300}",
      SERVICE_FINE },
    { "/scn/toJPEG/!{\"image\":\"x\"}", "/scn/toJPEG/!{\"image\":\"x\",\"quality\":85}", SERVICE_FINE },
    { "/scn/toJPEG/!{\"image\":\"x\",\"quality\":\"85\"}", "/scn/toJPEG/!{\"image\":\"x\",\"quality\":85}",
      SERVICE_FINE },
    { "/scn/toJPEG/!{\"image\":\"/a/! { \\\"y\\\":1, \\\"x\\\":2 }\"}",
      "/scn/toJPEG/!{\"image\":\"/a/!{\\\"x\\\":2,\\\"y\\\":1}\",\"quality\":85}", SERVICE_FINE },
    { "/scn/toJPEG/!{\"image\":\"x\",\"quality\":\"/q/!{}\"}", "/scn/toJPEG/!{\"image\":\"x\",\"quality\":\"/q/!{}\"}",
      SERVICE_FINE },
    { "/scn/toJPEG/!{\"image\":\"HTTP://h/x\"}", "/scn/toJPEG/!{\"image\":\"HTTP://h/x\",\"quality\":85}",
      SERVICE_FINE },
    { "/n/!{\"least\":0.5}", "/n/!{\"least\":0.5}", SERVICE_FINE },
    { "/n/!{\"least\":\"1e-1\"}", "/n/!{\"least\":0.1}", SERVICE_FINE },
    { "/n/!{\"least\":1.5}", "least", SERVICE_OUT_OF_BOUNDS },
    { "/n/!{\"least\":\"0x1\"}", "least", SERVICE_WRONG_TYPE },
    { "/n/!{\"least\":\" 1\"}", "least", SERVICE_WRONG_TYPE },
    { "/n/!{\"least\":\"\"}", "least", SERVICE_WRONG_TYPE },
    { "/n/!{\"least\":null}", "least", SERVICE_WRONG_TYPE },
    { "/n/!{\"least\":true}", "least", SERVICE_WRONG_TYPE },
    { "/n/!{\"least\":[1]}", "least", SERVICE_WRONG_TYPE },
    { "/t/!{\"say\":\"/a/!{}\"}", "say", SERVICE_OUT_OF_BOUNDS }, /* six bytes, and never run */
    { "/t/!{\"say\":\"/!{}\"}", "/t/!{\"say\":\"/!{}\"}", SERVICE_FINE },
    { "/t/!{\"say\":\"a:b\"}", "/t/!{\"say\":\"a:b\"}", SERVICE_FINE },
    { "/t/!{\"say\":5}", "say", SERVICE_WRONG_TYPE },
    { "/b/!{\"is\":\"true\"}", "/b/!{\"is\":true}", SERVICE_FINE },
    { "/b/!{\"is\":false}", "/b/!{\"is\":false}", SERVICE_FINE },
    { "/b/!{\"is\":1}", "is", SERVICE_WRONG_TYPE },
    { "/b/!{\"is\":\"TRUE\"}", "is", SERVICE_WRONG_TYPE },
    { "/j/!{\"what\":{\"b\":1,\"a\":\"/x/!{}\"}}", "/j/!{\"what\":{\"a\":\"/x/!{}\",\"b\":1}}", SERVICE_FINE },
    { "/j/!{\"what\":\"a text\"}", "/j/!{\"what\":\"a text\"}", SERVICE_FINE },
    { "/j/!{\"what\":[1,2,3,4,5,6,7,8,9,10]}", "what", SERVICE_OUT_OF_BOUNDS },
    { "/o/!{}", "/o/!{}", SERVICE_FINE },
    { "/o/!{\"a\":1}", "/o/!{\"a\":1}", SERVICE_FINE },
    { "/o/!{\"b\":1,\"a\":1}", "/o/!{\"a\":1,\"b\":1}", SERVICE_FINE },
    { "/o/!{\"b\":1}", "a", SERVICE_MISSING },
    { "/o/!{\"b\":1,\"a\":1,\"c\":1}", "c", SERVICE_UNKNOWN_NAME },
    { "/d/!{}", "/d/!{\"from\":\"ndn:/x\"}", SERVICE_FINE },
    { "/scn/toJPEG/!{}", "image", SERVICE_MISSING },
    { "/scn/toJPEG/!{\"image\":\"x\",\"qality\":1}", "qality", SERVICE_UNKNOWN_NAME },
    { "/scn/toJPEG/!{\"image\":\"x\",\"quality\":0}", "quality", SERVICE_OUT_OF_BOUNDS },
    { "/scn/toJPEG/!{\"image\":\"x\",\"quality\":1.5}", "quality", SERVICE_WRONG_TYPE },
    { "/scn/toJPEG/!{\"image\":{}}", "image", SERVICE_WRONG_TYPE },
    { "/scn/toJPEG/!{\"image\":\"file:/etc/passwd\"}", "image", SERVICE_NOT_ALLOWED },
    { "/scn/toJPEG/!{\"image\":\"gopher://h/\"}", "image", SERVICE_NOT_ALLOWED },
    { "/scn/toJPEG/!{\"image\":\"/a/!{\"}", "image", SERVICE_NOT_JSON },
    { "/none/!{}", NULL, SERVICE_NO_SERVICE },
};

START_TEST(a_call_means_a_service) {
    struct service_problem problem = { 0 };
    struct service_bound bound;
    struct service_call call;
    int rv;

    ck_assert_int_eq(service_call_read(binds[_i].call, strlen(binds[_i].call), &call, &problem), 0);
    rv = service_bind(&all, SERVICE_HTTP, &call, &bound, &problem);
    ck_assert_msg(problem.kind == binds[_i].kind, "%s: %s", binds[_i].call, problem.detail);
    ck_assert_int_eq(rv, binds[_i].kind ? -1 : 0);
    if (!rv) {
        ck_assert_str_eq(bound.key, binds[_i].key);
        service_bound_free(&bound);
    } else {
        ck_assert(!bound.key && problem.detail);
        ck_assert_str_eq(problem.service, call.service);
        if (binds[_i].key) ck_assert_str_eq(problem.parameter, binds[_i].key);
        else ck_assert_ptr_null(problem.parameter);
    }
    service_call_free(&call);
    service_problem_free(&problem);
}
END_TEST

/* What is not called that way is not there, and another way it is. */
START_TEST(a_call_comes_its_way) {
    static const char *const over[] = { "", "http", "ndn" };

    for (unsigned declared_over = 1; declared_over <= 2; declared_over++) {
        struct service_table t = { 0 };
        char text[64];

        snprintf(text, sizeof text, "/w => /x over=%s", over[declared_over]);
        ck_assert_int_eq(add(&t, text), 0);
        for (unsigned way = SERVICE_HTTP; way <= SERVICE_NDN; way++) {
            struct service_problem problem = { 0 };
            struct service_bound bound;
            struct service_call call;
            char *list;

            ck_assert_int_eq(service_call_read("/w/!{}", 6, &call, &problem), 0);
            ck_assert_int_eq(service_bind(&t, way, &call, &bound, &problem), way == declared_over ? 0 : -1);
            if (way == declared_over) service_bound_free(&bound);
            else ck_assert_int_eq(problem.kind, SERVICE_NO_SERVICE);
            list = service_listing(&t, way, NULL);
            ck_assert_int_eq(strstr(list, "/w") != NULL, way == declared_over);
            free(list);
            service_call_free(&call);
            service_problem_free(&problem);
        }
        char *document = service_openapi(&t, "/ccn", "x", NULL);
        ck_assert_int_eq(strstr(document, "/ccn/w") != NULL, declared_over == SERVICE_HTTP);
        free(document);
        service_table_free(&t);
    }
}
END_TEST

/* A call as deep as `deep`, each in the one before it. */
static char *nested(unsigned deep) {
    char *text = strdup("x");
    struct service_problem problem = { 0 };

    for (unsigned i = 0; i < deep; i++) {
        json_t *arguments = json_pack("{s:s}", "image", text);
        struct service_call call;
        ck_assert_int_eq(service_call_of("/scn/toJPEG", 11, arguments, &call, &problem), 0);
        json_decref(arguments);
        free(text);
        text = strdup(call.text);
        service_call_free(&call);
    }
    return text;
}

START_TEST(depth_is_bounded) {
    for (unsigned deep = SERVICE_CALLS_DEEP - 1; deep <= SERVICE_CALLS_DEEP + 1; deep++) {
        struct service_problem problem = { 0 };
        struct service_bound bound;
        struct service_call call;
        char *text = nested(deep);

        ck_assert_int_eq(service_call_read(text, strlen(text), &call, &problem), 0);
        ck_assert_int_eq(service_bind(&all, SERVICE_HTTP, &call, &bound, &problem),
                         deep <= SERVICE_CALLS_DEEP ? 0 : -1);
        if (deep <= SERVICE_CALLS_DEEP) service_bound_free(&bound);
        else ck_assert_int_eq(problem.kind, SERVICE_TOO_DEEP);
        service_problem_free(&problem);
        service_call_free(&call);
        free(text);
    }
}
END_TEST

START_TEST(a_call_holds_so_many) {
    struct service_problem problem = { 0 };
    struct service_bound bound;
    struct service_call call;
    char inner[8192] = "/x/!{", *text;
    json_t *arguments;

    for (unsigned i = 0; i < SERVICE_CALLS_MAX - 1; i++)
        sprintf(inner + strlen(inner), "%s\"p%u\":\"/y/!{}\"", i ? "," : "", i);
    strcat(inner, "}");
    arguments = json_pack("{s:s}", "image", inner);
    ck_assert_int_eq(service_call_of("/scn/toJPEG", 11, arguments, &call, &problem), 0);
    text = strdup(call.text);
    ck_assert_int_eq(service_bind(&all, SERVICE_HTTP, &call, &bound, &problem), -1);
    ck_assert_int_eq(problem.kind, SERVICE_TOO_DEEP);
    ck_assert_str_eq(problem.parameter, "image");
    free(text);
    json_decref(arguments);
    service_call_free(&call);
    service_problem_free(&problem);
}
END_TEST

/* ---- URLs -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *call, *url; /* NULL: it must not stand there */
} urls[] = {
    { FIGURE_3, "/services/scale?w=300&h=200" },
    { "/n/!{\"least\":0.5}", "/n?x=0.5" },
    { "/b/!{\"is\":\"false\"}", "/b?x=false" },
    { "/t/!{\"say\":\"a&b=c\"}", "/t?x=a%26b%3Dc" },
    { "/t/!{\"say\":\"`id`\"}", "/t?x=%60id%60" },
    { "/t/!{\"say\":\"$(a)\"}", "/t?x=%24%28a%29" },
    { "/t/!{\"say\":\"\"}", "/t?x=" },
    { "/t/!{\"say\":\"\\n\\r\"}", "/t?x=%0A%0D" },
    { "/p/!{\"name\":\"a b\"}", "/p/a%20b/x" },
    { "/p/!{\"name\":\"%2e%2e\"}", "/p/%252e%252e/x" },
    { "/p/!{\"name\":\"\"}", NULL },
    { "/p/!{\"name\":\".\"}", NULL },
    { "/p/!{\"name\":\"..\"}", NULL },
    { "/p/!{\"name\":\".htaccess\"}", NULL },
    { "/p/!{\"name\":\"a/b\"}", NULL },
    { "/p/!{\"name\":\"a\\\\b\"}", NULL },
    { "/p/!{\"name\":\"a;b\"}", NULL },
};

START_TEST(what_the_url_is) {
    struct service_problem problem = { 0 };
    json_t *values[SERVICE_PARAMS_MAX];
    struct service_bound bound;
    struct service_call call;
    char *url;

    ck_assert_int_eq(service_call_read(urls[_i].call, strlen(urls[_i].call), &call, &problem), 0);
    ck_assert_int_eq(service_bind(&all, SERVICE_HTTP, &call, &bound, &problem), 0);
    for (unsigned i = 0; i < SERVICE_PARAMS_MAX; i++) values[i] = bound.values[i].literal;
    url = service_url_of(bound.service, values, &problem);
    if (urls[_i].url) ck_assert_str_eq(url, urls[_i].url);
    else ck_assert(!url && problem.kind == SERVICE_OUT_OF_BOUNDS && !strcmp(problem.parameter, "name"));
    free(url);
    service_bound_free(&bound);
    service_call_free(&call);
    service_problem_free(&problem);
}
END_TEST

/* ---- values that come as bytes ----------------------------------------------------------------------------------- */

START_TEST(a_result_becomes_a_value) {
    static const struct {
        enum service_type type;
        const char *bytes, *is;
    } rows[] = {
        { SERVICE_INT, "12\n", "12" },        { SERVICE_INT, " 12 ", "12" },
        { SERVICE_INT, "twelve", NULL },      { SERVICE_INT, "", NULL },
        { SERVICE_INT, "1e400", NULL },       { SERVICE_NUMBER, "0.5", "0.5" },
        { SERVICE_BOOL, "true\r\n", "true" }, { SERVICE_BOOL, "yes", NULL },
        { SERVICE_TEXT, "a\n", "\"a\\n\"" },  { SERVICE_TEXT, "\xff", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct service_param p = { .name = (char *)"p", .type = rows[i].type, .bytes = 10 };
        struct service_problem problem = { 0 };
        json_t *v = service_literal_of(&p, rows[i].bytes, strlen(rows[i].bytes), &problem);
        char *text = v ? service_json_canonical(v, NULL) : NULL;

        ck_assert(!v == !rows[i].is && !v == (problem.kind == SERVICE_WRONG_TYPE));
        if (v) ck_assert_str_eq(text, rows[i].is);
        else ck_assert_str_eq(problem.parameter, "p");
        free(text);
        json_decref(v);
        service_problem_free(&problem);
    }
}
END_TEST

START_TEST(content_in_a_uri) {
    static const struct {
        const char *uri, *bytes, *type; /* NULL: it is wrong */
    } rows[] = {
        { "data:,a%20b", "a b", "text/plain;charset=utf-8" },
        { "data:,", "", "text/plain;charset=utf-8" },
        { "data:image/png;base64,aGVsbG8=", "hello", "image/png" },
        { "data:;base64,aGVsbG8h", "hello!", "text/plain;charset=utf-8" },
        { "DATA:a/b;Base64,aGk%3D", "hi\0", "a/b" },
        { "data:a/b", NULL, NULL },
        { "data:,%", NULL, NULL },
        { "data:,%0", NULL, NULL },
        { "data:,%zz", NULL, NULL },
        { "data:;base64,a", NULL, NULL },
        { "data:;base64,aGk", NULL, NULL },
        { "data:;base64,a===", NULL, NULL },
        { "data:;base64,a=Gk", NULL, NULL },
        { "data:;base64,aG k", NULL, NULL },
        { "data:a/b\r\nX: y,z", NULL, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct service_problem problem = { 0 };
        char *bytes, *type;
        size_t n;
        int rv = service_data_read(rows[i].uri, &bytes, &n, &type, &problem);

        ck_assert_msg(rv == (rows[i].bytes ? 0 : -1), "%s", rows[i].uri);
        if (!rv) {
            ck_assert(n == strlen(rows[i].bytes) && !memcmp(bytes, rows[i].bytes, n));
            ck_assert_str_eq(type, rows[i].type);
        } else {
            ck_assert(!bytes && !type && problem.kind == SERVICE_WRONG_TYPE);
        }
        free(bytes);
        free(type);
        service_problem_free(&problem);
    }
}
END_TEST

/* ---- what is told ------------------------------------------------------------------------------------------------ */

START_TEST(a_problem_is_an_object) {
    struct service_problem problem = { 0 };
    struct service_bound bound;
    struct service_call call;
    char *text;

    ck_assert_int_eq(service_call_read("/scn/toJPEG/!{\"image\":\"/a/!{\"}", 30, &call, &problem), 0);
    ck_assert_int_eq(service_bind(&all, SERVICE_HTTP, &call, &bound, &problem), -1);
    text = service_problem_text(&problem, NULL);
    ck_assert_msg(strstr(text, "\"parameter\":\"image\",\"service\":\"/scn/toJPEG\",\"status\":400,") &&
                      strstr(text, "\"type\":\"urn:fairgate:problem:not-json\"") &&
                      strstr(text, "\"within\":{\"detail\":") && strstr(text, "\"service\":\"/a\""),
                  "%s", text);
    free(text);
    service_call_free(&call);
    service_problem_free(&problem);
    ck_assert_int_eq(service_problem_status(SERVICE_NO_SERVICE), 404);
}
END_TEST

#define A99 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* What a service says of a call that it rejects: one line, cut between characters, of its own refusals alone. */
static const struct {
    int status;
    const char *type, *content, *says; /* NULL: it is no such answer */
} rejections[] = {
    { 404, "text/plain", "No such page.\n", "its status is 404: No such page." },
    { 422, "Text/Plain; charset=utf-8", " two\r\n\t lines ", "its status is 422: two lines" },
    { 400, "text/plain", "\x1b[2Jz\xc3\xbcrich", "its status is 400: [2Jz\xc3\xbcrich" },
    { 400, "text/plain",
      "\xfc"
      "ber \xc2\x9b",
      "its status is 400: ?ber ??" },
    { 499, "text/plain", A99 A99 "\xc3\xbc", "its status is 499: " A99 A99 "\xc3\xbc" },
    { 499, "text/plain", A99 A99 "b\xc3\xbc", "its status is 499: " A99 A99 "b" },
    { 499, "text/plain", A99 A99 " b rest", "its status is 499: " A99 A99 " b" },
    { 409, "application/problem+json", "{\"title\":\"x\",\"detail\":\"taken\\nalready\"}",
      "its status is 409: taken already" },
    { 409, "application/problem+json;charset=utf-8", "{\"title\":\"x\"}", NULL },
    { 409, "application/problem+json", "{\"detail\":5}", NULL },
    { 409, "application/problem+json", "[\"detail\"]", NULL },
    { 409, "application/problem+json", "{", NULL },
    { 404, "text/html", "<p>Not Found", NULL },
    { 404, "text/plainer", "no", NULL },
    { 404, "", "no", NULL },
    { 404, "text/plain", " \n", NULL },
    { 404, "text/plain", "", NULL },
    { 401, "text/plain", "no", NULL },
    { 403, "text/plain", "no", NULL },
    { 407, "text/plain", "no", NULL },
    { 408, "text/plain", "no", NULL },
    { 429, "text/plain", "no", NULL },
    { 399, "text/plain", "no", NULL },
    { 500, "text/plain", "no", NULL },
};

START_TEST(what_a_service_rejects) {
    struct service_problem problem = { 0 };
    const char *content = rejections[_i].content;
    bool is = service_rejects(&problem, rejections[_i].status, rejections[_i].type, content, strlen(content));

    ck_assert_int_eq(is, rejections[_i].says != NULL);
    ck_assert_int_eq(problem.kind, is ? SERVICE_REJECTED : SERVICE_FINE);
    if (is) ck_assert_str_eq(problem.detail, rejections[_i].says);
    else ck_assert_ptr_null(problem.detail);
    service_problem_free(&problem);
}
END_TEST

/* What must not be called that way is refused in other calls as well, at once: their results may be kept. */
START_TEST(an_inner_call_comes_its_way) {
    static const struct {
        const char *call;
        bool may; /* over NDN */
    } inner[] = {
        { "/f/!{\"of\":\"/web/!{}\"}", false },
        { "/f/!{\"of\":\"/f/!{\\\"of\\\":\\\"/web/!{}\\\"}\"}", false },
        { "/f/!{\"of\":\"/both/!{}\"}", true },
        { "/f/!{\"of\":\"/s/!{\\\"say\\\":\\\"/web/!{}\\\"}\"}", true },   /* a text */
        { "/f/!{\"of\":\"/away/!{\\\"of\\\":\\\"/web/!{}\\\"}\"}", true }, /* of another host, which is asked there */
        { "/s/!{\"say\":\"/web/!{}\"}", true },
        { "/h/!{}", false }, /* a default */
        { "/f/!{\"of\":\"/h/!{}\"}", false },
        { "/f/!{\"of\":\"/h/!{\\\"of\\\":\\\"x\\\"}\"}", true },
    };
    struct service_table t = { 0 };

    ck_assert(!add(&t, "/f of=content => /f") && !add(&t, "/s say=text => /s?say={say}"));
    ck_assert(!add(&t, "/h of=content:/web/!{} => /h"));
    ck_assert(!add(&t, "/web => /w over=http") && !add(&t, "/both => /b"));
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        for (unsigned way = SERVICE_HTTP; way <= SERVICE_NDN; way++) {
            struct service_problem problem = { 0 };
            struct service_bound bound;
            struct service_call call;
            bool may = way == SERVICE_HTTP || inner[i].may;

            ck_assert_int_eq(service_call_read(inner[i].call, strlen(inner[i].call), &call, &problem), 0);
            ck_assert_msg(service_bind(&t, way, &call, &bound, &problem) == (may ? 0 : -1), "%s", inner[i].call);
            if (may) {
                service_bound_free(&bound);
            } else {
                ck_assert_int_eq(problem.kind, SERVICE_NOT_THERE);
                ck_assert_str_eq(problem.parameter, "of");
                ck_assert_str_eq(json_string_value(json_object_get(problem.within, "type")),
                                 "urn:fairgate:problem:no-such-service");
            }
            service_call_free(&call);
            service_problem_free(&problem);
        }
    service_table_free(&t);
}
END_TEST

START_TEST(what_is_published) {
    static const char entry[] =
        "{\"call\":\"/unibe/cds/scaleImage/!{\\\"file\\\":content,\\\"width\\\":int,\\\"height\\\":int}\","
        "\"doc\":\"An image in another size\",\"fresh_seconds\":3600,\"name\":\"/unibe/cds/scaleImage\","
        "\"parameters\":[{\"maxLength\":10485760,\"name\":\"file\",\"required\":true,\"type\":\"content\"},"
        "{\"maximum\":4096,\"minimum\":1,\"name\":\"width\",\"required\":true,\"type\":\"int\"},";
    size_t n;
    char *text = service_listing(&all, SERVICE_HTTP, &n), *error = NULL;
    json_t *read = service_json_read(text, n, &error), *at;
    const char *path;

    ck_assert_msg(strstr(text, entry), "%s", text);
    ck_assert_ptr_null(strstr(text, "/services/"));
    ck_assert_uint_eq(json_array_size(json_object_get(read, "services")), all.n);
    json_decref(read);
    free(text);
    text = service_openapi(&all, "/ccn", "Services", &n);
    read = service_json_read(text, n, &error);
    ck_assert_ptr_null(strstr(text, "/services/"));
    ck_assert_uint_eq(json_object_size(json_object_get(read, "paths")), 9);
    ck_assert_msg(strstr(text, "\"/ccn/o\":{\"post\":{\"operationId\":\"o\",\"requestBody\":{\"content\":"
                               "{\"application/json\":{\"schema\":{\"oneOf\":[{"),
                  "%s", text);
    /* Headers of OpenAPI have a schema each: a validator refused the document. */
    json_object_foreach(json_object_get(read, "paths"), path, at) {
        json_t *of = json_object_get(at, "post"), *header;
        const char *name;

        of = json_object_get(json_object_get(json_object_get(of, "responses"), "202"), "headers");
        ck_assert_uint_eq(json_object_size(of), 2);
        json_object_foreach(of, name, header) ck_assert_msg(json_object_get(header, "schema"), "%s: %s", path, name);
    }
    ck_assert(strstr(text, "\"quality\":{\"default\":85,\"maximum\":100,\"minimum\":1,\"type\":\"integer\"}"));
    json_decref(read);
    free(text);
}
END_TEST

/* What is said of a path is what is said of that which is called there. */
START_TEST(what_a_path_says) {
    struct service_table t = { 0 };
    char *text;

    ck_assert(!add(&t, "/s a=int => /x over=ndn doc=\"by name\"") && !add(&t, "/s b=int => /x doc=\"either way\""));
    text = service_openapi(&t, "/ccn", "x", NULL);
    ck_assert(strstr(text, "\"summary\":\"either way\"") && !strstr(text, "by name"));
    free(text);
    service_table_free(&t);
}
END_TEST

int main(void) {
    Suite *s = suite_create("service");
    TCase *c = tcase_create("names"), *d = tcase_create("declarations"), *b = tcase_create("calls");

    tcase_add_loop_test(c, a_call_is_read, 0, sizeof calls / sizeof *calls);
    tcase_add_loop_test(c, the_papers_form_is_corrected, 0, sizeof papers / sizeof *papers);
    tcase_add_test(c, a_call_is_bounded);
    tcase_add_test(d, what_is_declared);
    tcase_add_loop_test(d, a_wrong_declaration_says_why, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(d, no_call_fits_two);
    tcase_add_checked_fixture(b, declare_all, forget_all);
    tcase_add_loop_test(b, a_call_means_a_service, 0, sizeof binds / sizeof *binds);
    tcase_add_test(b, a_call_comes_its_way);
    tcase_add_test(b, depth_is_bounded);
    tcase_add_test(b, a_call_holds_so_many);
    tcase_add_loop_test(b, what_the_url_is, 0, sizeof urls / sizeof *urls);
    tcase_add_test(b, a_result_becomes_a_value);
    tcase_add_test(b, content_in_a_uri);
    tcase_add_test(b, a_problem_is_an_object);
    tcase_add_loop_test(b, what_a_service_rejects, 0, sizeof rejections / sizeof *rejections);
    tcase_add_test(b, an_inner_call_comes_its_way);
    tcase_add_test(b, what_a_path_says);
    tcase_add_test(b, what_is_published);
    suite_add_tcase(s, c);
    suite_add_tcase(s, d);
    suite_add_tcase(s, b);
    return run_suite(s);
}
