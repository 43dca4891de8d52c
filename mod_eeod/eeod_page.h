/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eeod_page.h - the content filter: a response's blocks, as boundary buckets in its stream (EEOD paper II-D).
 *
 * It comes behind every filter that changes the content and before httpd's own of ranges, length, header and chunks.  A
 * response whose first brigade is the whole of it and has no mark goes on untouched, and so does a file that is known
 * to have none.
 *
 * THE WORD.  The header `Eeod` tells a packet cache that it may go by the marks, whoever the page is for.  A page's
 * application asks for it with the same header; what stands in it otherwise comes from somebody who was asked by
 * nobody: it is taken out of every response of a server in which the module is at work anywhere, and set anew only
 * where the application asked, its marks are known to be its own (eeod_key.h), this filter has made blocks of the page
 * and seen its first opening mark, all marks so far were in order, the marks stay in, and neither `no-store` nor
 * `private` says otherwise.  Not in answers to HEAD and to ranges.
 *
 * CHUNKS.  The header of a chunk says its size, and what a chunk filter gets at a time is one chunk.  So a chunk never
 * crosses a boundary, the opening mark is a chunk of its own - whose header, the last bytes of the cacheable block
 * before it, then says nothing of the visitor's - and a cacheable block is cut into chunks of EEOD_CHUNK bytes from its
 * beginning, however it comes.
 */
#ifndef FAIRGATE_EEOD_PAGE_H
#define FAIRGATE_EEOD_PAGE_H

#include <httpd.h>
#include <util_filter.h>

#define EEOD_CHUNK 16384

/* The place of this filter, and of what must come directly before it: the last of those that see content. */
#define EEOD_PLACE (AP_FTYPE_PROTOCOL - 1)

void eeod_page_register(void);              /* register_hooks */
void eeod_page_insert(request_rec *r);      /* insert_filter */
/* insert_error_filter: httpd answers itself, and has taken the other filters away */
void eeod_page_insert_error(request_rec *r);

/* post_config: whether filters that encode a body come before ours; a sentence about one that does not, or NULL. */
const char *eeod_page_order(apr_pool_t *p);

#endif
