/*
 * Source addresses (target.h). A connection is told apart by four numbers, and a client that has
 * but one address has no more than some 28 000 ports to put into them: a range of addresses
 * multiplies that. The whole of 127.0.0.0/8 answers to the loopback interface.
 */
#include "load/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX (UINT64_C(1) << 32)

typedef unsigned __int128 address_number; /* of an address, in the order of its octets */

static rv_error bad(char *why, const char *text, const char *reason)
{
    snprintf(why, RV_TARGET_WHY_MAX, "\"%.100s\": %s", text, reason);
    return RV_EINVAL;
}

static unsigned bits_of(const struct rv_endpoint *endpoint)
{
    return endpoint->sockaddr.ss_family == AF_INET6 ? 128 : 32;
}

static unsigned char *octets_of(struct rv_endpoint *endpoint)
{
    if (endpoint->sockaddr.ss_family == AF_INET6)
        return ((struct sockaddr_in6 *)&endpoint->sockaddr)->sin6_addr.s6_addr;
    return (unsigned char *)&((struct sockaddr_in *)&endpoint->sockaddr)->sin_addr;
}

static address_number get_number(const struct rv_endpoint *endpoint)
{
    struct rv_endpoint copy = *endpoint;
    const unsigned char *octets = octets_of(&copy);
    address_number number = 0;
    for (unsigned i = 0; i < bits_of(endpoint) / 8; i++)
        number = number << 8 | octets[i];
    return number;
}

static void set_number(struct rv_endpoint *endpoint, address_number number)
{
    unsigned char *octets = octets_of(endpoint);
    for (unsigned i = bits_of(endpoint) / 8; i-- > 0; number >>= 8)
        octets[i] = (unsigned char)number;
}

static bool parse_address(const char *text, size_t length, struct rv_endpoint *endpoint)
{
    char copy[INET6_ADDRSTRLEN];
    memset(endpoint, 0, sizeof *endpoint);
    struct sockaddr_in *v4 = (struct sockaddr_in *)&endpoint->sockaddr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&endpoint->sockaddr;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET, copy, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        endpoint->length = sizeof *v4;
        return true;
    }
    memset(endpoint, 0, sizeof *endpoint);
    if (inet_pton(AF_INET6, copy, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        endpoint->length = sizeof *v6;
        return true;
    }
    return false;
}

/* The addresses of a network without the first and the last one, which no host of it has; RFC
   3021 gives both of a /31 to hosts. */
static rv_error parse_network(const char *text, const char *slash, struct rv_source_range *range,
                              char *why)
{
    uint64_t prefix;
    unsigned bits = bits_of(&range->first);
    if (!rv_bytes_to_u64(rv_str(slash + 1), &prefix) || prefix > bits)
        return bad(why, text,
                   bits == 32 ? "a prefix length from 0 to 32 must follow the slash"
                              : "a prefix length from 0 to 128 must follow the slash");
    unsigned host_bits = bits - (unsigned)prefix;
    address_number mask =
        host_bits == 128 ? ~(address_number)0 : ((address_number)1 << host_bits) - 1;
    address_number first = get_number(&range->first);
    if (host_bits == 0) {
        range->count = 1;
        return 0;
    }
    first = (first & ~mask) + (host_bits > 1 ? 1 : 0);
    address_number count = host_bits > 1 ? mask - 1 : 2;
    set_number(&range->first, first);
    range->count = count > COUNT_MAX ? COUNT_MAX : (uint64_t)count;
    return 0;
}

static rv_error parse_run(const char *text, const char *dash, struct rv_source_range *range,
                          char *why)
{
    struct rv_endpoint last;
    if (!parse_address(dash + 1, strlen(dash + 1), &last))
        return bad(why, text, "what follows the dash is no IP address");
    if (last.sockaddr.ss_family != range->first.sockaddr.ss_family)
        return bad(why, text, "both ends must be IPv4 addresses, or both IPv6");
    address_number from = get_number(&range->first);
    address_number to = get_number(&last);
    if (to < from)
        return bad(why, text, "the second address lies before the first");
    if (to - from >= COUNT_MAX)
        return bad(why, text, "a range may have at most 4294967296 addresses");
    range->count = (uint64_t)(to - from) + 1;
    return 0;
}

rv_error rv_source_parse(const char *text, struct rv_source_range *range, char *why)
{
    struct rv_source_range parsed = {.count = 1};
    size_t length = strcspn(text, "/-");
    if (!parse_address(text, length, &parsed.first))
        return bad(why, text,
                   "not an IP address, a network such as 127.0.0.0/8, or a range such as "
                   "127.0.0.2-127.0.0.9");
    rv_error error = 0;
    if (text[length] == '/')
        error = parse_network(text, text + length, &parsed, why);
    else if (text[length] == '-')
        error = parse_run(text, text + length, &parsed, why);
    if (error == 0)
        *range = parsed;
    return error;
}

struct rv_endpoint rv_source_nth(const struct rv_source_range *range, uint64_t n)
{
    struct rv_endpoint nth = range->first;
    if (nth.length > 0 && range->count > 1)
        set_number(&nth, get_number(&range->first) + n % range->count);
    return nth;
}
