/*
 * A request as HTTP/2 has it: fields in place of a head. A build without HTTP/2 has none of this.
 */
#ifndef RV_LOAD_H2_REQUEST_H
#define RV_LOAD_H2_REQUEST_H

#include "load/request.h"

/* Gives a request that was built its fields, which are slices of its octets: names are put in lower case
   there, Host becomes :authority, and what only concerns a connection of HTTP/1 is left out (RFC 9113 section
   8.2.2). RV_ENOMEM. */
rv_error rv_h2_request_make(struct rv_load_request *request, bool is_tls);

#endif
