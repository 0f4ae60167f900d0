/*
 * What tests of compressed responses have in common: text that compresses as a page does, and what a
 * client makes of the last answer (tested.h).
 */
#ifndef RV_TESTS_COMPRESSED_H
#define RV_TESTS_COMPRESSED_H

#include "support/decode.h"

/* So many octets of text, and a NUL behind them; to be freed. */
char *compressible_text(size_t length);

/* A request with this Accept-Encoding. */
void accepts(const char *method, const char *path, const char *codings);

/* The last answer has this coding ("identity": none), and its content is that. */
void expect_decoded(const char *coding, const char *content);
void expect_decoded_octets(const char *coding, rv_bytes content);

/* It has one Vary, which says Accept-Encoding and nothing else. */
void expect_varies(void);

/* These octets are of that coding, and are this content: the whole, or its beginning. */
void assert_decodes(enum rv_coding coding, rv_bytes octets, rv_bytes content, bool whole);

#endif
