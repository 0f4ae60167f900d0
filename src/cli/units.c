/*
 * Numbers as people write them (units.h). They are read exactly: the digits as one whole number, the
 * place of the point beside it, so that 0.1k is 100 and nothing is ever rounded.
 */
#include "cli/units.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 24 /* with the largest unit, 3.6e9, the product still fits into 128 bits */

typedef unsigned __int128 wide_number;

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit count_units[] = {{"", 1},        {"k", 1000},       {"K", 1000},
                                          {"M", 1000000}, {"G", 1000000000}, {NULL, 0}};

static const struct unit byte_units[] = {{"", 1},
                                         {"B", 1},
                                         {"k", 1000},
                                         {"K", 1000},
                                         {"kB", 1000},
                                         {"KB", 1000},
                                         {"M", 1000000},
                                         {"MB", 1000000},
                                         {"G", 1000000000},
                                         {"GB", 1000000000},
                                         {"KiB", UINT64_C(1) << 10},
                                         {"MiB", UINT64_C(1) << 20},
                                         {"GiB", UINT64_C(1) << 30},
                                         {NULL, 0}};

static const struct unit duration_units[] = {{"", 1000000},   {"us", 1},
                                             {"ms", 1000},    {"s", 1000000},
                                             {"m", 60000000}, {"h", UINT64_C(3600000000)},
                                             {NULL, 0}};

static const struct unit period_units[] = {{"", 1}, {"/s", 1}, {"/m", 60}, {"/h", 3600}, {NULL, 0}};

/* digits / 10^places */
struct decimal {
    wide_number digits;
    unsigned places;
};

/* Reads the number and leaves `*text` behind it. */
static bool read_decimal(const char **text, struct decimal *decimal)
{
    unsigned count = 0;
    bool behind_point = false;
    decimal->digits = 0;
    decimal->places = 0;
    for (;; (*text)++) {
        if (**text == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (**text < '0' || **text > '9')
            return count > 0;
        if (++count > DIGITS_MAX)
            return false;
        decimal->digits = decimal->digits * 10 + (unsigned)(**text - '0');
        decimal->places += behind_point;
    }
}

static const struct unit *find_unit(const struct unit *units, const char *name, size_t length)
{
    for (; units->name != NULL; units++)
        if (strlen(units->name) == length && memcmp(units->name, name, length) == 0)
            return units;
    return NULL;
}

static bool read_whole(const char *text, const struct unit *units, uint64_t *value)
{
    struct decimal decimal;
    if (!read_decimal(&text, &decimal))
        return false;
    const struct unit *unit = find_unit(units, text, strlen(text));
    if (unit == NULL)
        return false;
    wide_number product = decimal.digits * unit->factor;
    for (; decimal.places > 0; decimal.places--) {
        if (product % 10 != 0)
            return false;
        product /= 10;
    }
    if (product > UINT64_MAX)
        return false;
    *value = (uint64_t)product;
    return true;
}

bool rv_units_count(const char *text, uint64_t *count)
{
    return read_whole(text, count_units, count);
}

bool rv_units_bytes(const char *text, uint64_t *bytes)
{
    return read_whole(text, byte_units, bytes);
}

bool rv_units_duration_us(const char *text, uint64_t *us)
{
    return read_whole(text, duration_units, us);
}

bool rv_units_rate(const char *text, double *per_second)
{
    struct decimal decimal;
    if (!read_decimal(&text, &decimal))
        return false;
    size_t length = strcspn(text, "/");
    const struct unit *unit = find_unit(count_units, text, length);
    const struct unit *period = find_unit(period_units, text + length, strlen(text + length));
    if (unit == NULL || period == NULL)
        return false;
    double value = (double)(decimal.digits * unit->factor);
    for (; decimal.places > 0; decimal.places--)
        value /= 10;
    *per_second = value / (double)period->factor;
    return true;
}

bool rv_units_list(const char *text, bool (*each)(const char *item, void *ctx), void *ctx)
{
    char *copy = strdup(text);
    char *rest = copy;
    bool good = copy != NULL;
    while (good && rest != NULL) {
        const char *item = strsep(&rest, ",");
        good = *item != '\0' && each(item, ctx);
    }
    free(copy);
    return good;
}
