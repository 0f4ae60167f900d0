/*
 * Values with parameters, as in Content-Type and Content-Disposition: `text/html; charset="utf-8"` is
 * a value and one parameter (RFC 9110 sections 5.6.6 and 8.3.1). Works from one view into the caller's
 * memory; allocates nothing.
 */
#ifndef RV_HTTP_PARAMETERS_H
#define RV_HTTP_PARAMETERS_H

#include "base/bytes.h"

/* What stands before the first ";", trimmed; `*parameters` is the rest, for rv_parameter_next. */
rv_bytes rv_parameters_split(rv_bytes field, rv_bytes *parameters);

struct rv_parameter {
    rv_bytes name;
    rv_bytes value; /* between the quotes when it has some, then perhaps with backslashes */
    bool is_quoted;
};

enum rv_parameter_result {
    RV_PARAMETER,      /* `*parameter` is the next one */
    RV_PARAMETER_END,  /* there are no more */
    RV_PARAMETER_ERROR /* no "=", no name, a quote without its twin, something behind a value */
};

/*
 * Shortens `*parameters`. Empty parameters ("; ;") are passed over. A value without quotes is taken
 * up to the next ";" or blank, as long as it has no quote and no control: `boundary=----=_1` and
 * `filename=a/b` are no tokens, but they are sent.
 */
enum rv_parameter_result rv_parameter_next(rv_bytes *parameters, struct rv_parameter *parameter);

/* The first parameter of that name, any case. RV_PARAMETER_END: there is none. RV_PARAMETER_ERROR:
   something before it is malformed, or there are two of them: which one counts is anybody's guess. */
enum rv_parameter_result rv_parameter_find(rv_bytes parameters, rv_bytes name,
                                           struct rv_parameter *parameter);

/* The value without the backslashes of its quoted-pairs, into `out` (room for value.len). Returns the
   length. */
size_t rv_parameter_decode(const struct rv_parameter *parameter, char *out);

/* The charset of a Content-Type field, without quotes; absent where it has none, or one that nobody
   could have meant. */
rv_bytes rv_charset_of(rv_bytes content_type);

#endif
