/*
 * Status codes and their reason phrases, from one list. Knows what a code is called, not what a
 * server does about it.
 */
#include "http/status.h"

/* RFC 9110 section 15 and RFC 6585; the others name their document. 306 and 418 are reserved and
   have no phrase. */
#define RV_STATUSES(X)                                                                             \
    X(100, "Continue")                                                                             \
    X(101, "Switching Protocols")                                                                  \
    X(102, "Processing")  /* RFC 2518 */                                                           \
    X(103, "Early Hints") /* RFC 8297 */                                                           \
    X(200, "OK")                                                                                   \
    X(201, "Created")                                                                              \
    X(202, "Accepted")                                                                             \
    X(203, "Non-Authoritative Information")                                                        \
    X(204, "No Content")                                                                           \
    X(205, "Reset Content")                                                                        \
    X(206, "Partial Content")                                                                      \
    X(207, "Multi-Status")     /* RFC 4918 */                                                      \
    X(208, "Already Reported") /* RFC 5842 */                                                      \
    X(226, "IM Used")          /* RFC 3229 */                                                      \
    X(300, "Multiple Choices")                                                                     \
    X(301, "Moved Permanently")                                                                    \
    X(302, "Found")                                                                                \
    X(303, "See Other")                                                                            \
    X(304, "Not Modified")                                                                         \
    X(305, "Use Proxy")                                                                            \
    X(307, "Temporary Redirect")                                                                   \
    X(308, "Permanent Redirect")                                                                   \
    X(400, "Bad Request")                                                                          \
    X(401, "Unauthorized")                                                                         \
    X(402, "Payment Required")                                                                     \
    X(403, "Forbidden")                                                                            \
    X(404, "Not Found")                                                                            \
    X(405, "Method Not Allowed")                                                                   \
    X(406, "Not Acceptable")                                                                       \
    X(407, "Proxy Authentication Required")                                                        \
    X(408, "Request Timeout")                                                                      \
    X(409, "Conflict")                                                                             \
    X(410, "Gone")                                                                                 \
    X(411, "Length Required")                                                                      \
    X(412, "Precondition Failed")                                                                  \
    X(413, "Content Too Large")                                                                    \
    X(414, "URI Too Long")                                                                         \
    X(415, "Unsupported Media Type")                                                               \
    X(416, "Range Not Satisfiable")                                                                \
    X(417, "Expectation Failed")                                                                   \
    X(421, "Misdirected Request")                                                                  \
    X(422, "Unprocessable Content")                                                                \
    X(423, "Locked")            /* RFC 4918 */                                                     \
    X(424, "Failed Dependency") /* RFC 4918 */                                                     \
    X(425, "Too Early")         /* RFC 8470 */                                                     \
    X(426, "Upgrade Required")                                                                     \
    X(428, "Precondition Required")                                                                \
    X(429, "Too Many Requests")                                                                    \
    X(431, "Request Header Fields Too Large")                                                      \
    X(451, "Unavailable For Legal Reasons") /* RFC 7725 */                                         \
    X(500, "Internal Server Error")                                                                \
    X(501, "Not Implemented")                                                                      \
    X(502, "Bad Gateway")                                                                          \
    X(503, "Service Unavailable")                                                                  \
    X(504, "Gateway Timeout")                                                                      \
    X(505, "HTTP Version Not Supported")                                                           \
    X(506, "Variant Also Negotiates") /* RFC 2295 */                                               \
    X(507, "Insufficient Storage")    /* RFC 4918 */                                               \
    X(508, "Loop Detected")           /* RFC 5842 */                                               \
    X(511, "Network Authentication Required")

rv_bytes rv_status_reason(int status)
{
    switch (status) {
#define RV_STATUS_CASE(code, phrase)                                                               \
    case code:                                                                                     \
        return RV_LIT(phrase);
        RV_STATUSES(RV_STATUS_CASE)
#undef RV_STATUS_CASE
    default:
        return RV_LIT("Unknown");
    }
}
