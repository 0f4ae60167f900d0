/*
 * HTTP dates: seconds to text and back, by arithmetic on the proleptic Gregorian calendar. The C
 * library's calendar is left alone: it would bring in the locale, the environment's time zone and a
 * lock. Owns nothing, allocates nothing, reads no clock.
 */
#include "http/date.h"

#define SECONDS_PER_DAY 86400
#define SECONDS_MAX INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

static const char weekday_names[7][10] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
};

/*
 * A year that begins in March has its leap day at its end, so the days before a month follow from
 * the month alone: 153 days for each five months. Days are counted from 0000-03-01, which is day
 * -719468 of the epoch; 400 years have 146097 days.
 */
static int64_t days_of_civil(int64_t year, int month, int day)
{
    int64_t from_march = (month + 9) % 12;
    if (month <= 2)
        year--;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * from_march + 2) / 5 + day - 1;
    int64_t leap_days = year_of_era / 4 - year_of_era / 100;
    return era * 146097 + year_of_era * 365 + leap_days + day_of_year - 719468;
}

static struct civil civil_of_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    /* Taking away the leap days that lie behind leaves years of 365 days each. */
    int64_t leap_days = day_of_era / 1460 - day_of_era / 36524 + day_of_era / 146096;
    int64_t year_of_era = (day_of_era - leap_days) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int from_march = (int)((5 * day_of_year + 2) / 153);
    int month = from_march < 10 ? from_march + 3 : from_march - 9;
    return (struct civil){.year = era * 400 + year_of_era + (month <= 2),
                          .month = month,
                          .day = (int)(day_of_year - (153 * from_march + 2) / 5) + 1};
}

static int days_in_month(int64_t year, int month)
{
    static const unsigned char days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static void put_two(char *out, int value)
{
    out[0] = (char)('0' + value / 10);
    out[1] = (char)('0' + value % 10);
}

void rv_date_format(char *out, int64_t seconds)
{
    if (seconds < 0)
        seconds = 0;
    if (seconds > SECONDS_MAX)
        seconds = SECONDS_MAX;
    int64_t days = seconds / SECONDS_PER_DAY;
    int second_of_day = (int)(seconds % SECONDS_PER_DAY);
    struct civil civil = civil_of_days(days);

    memcpy(out, "Sun, 06 Nov 1994 08:49:37 GMT", RV_DATE_LENGTH);
    memcpy(out, weekday_names[(days + 4) % 7], 3); /* the epoch was a Thursday */
    put_two(out + 5, civil.day);
    memcpy(out + 8, month_names[civil.month - 1], 3);
    put_two(out + 12, (int)(civil.year / 100));
    put_two(out + 14, (int)(civil.year % 100));
    put_two(out + 17, second_of_day / 3600);
    put_two(out + 20, second_of_day / 60 % 60);
    put_two(out + 23, second_of_day % 60);
}

/* ---- reading: each take_ function shortens the text, or says no ------------------------------ */

static bool take_text(rv_bytes *text, const char *expected, size_t length)
{
    if (text->len < length || memcmp(text->ptr, expected, length) != 0)
        return false;
    text->ptr += length;
    text->len -= length;
    return true;
}

static bool take_char(rv_bytes *text, char expected)
{
    return take_text(text, &expected, 1);
}

static bool take_digits(rv_bytes *text, size_t count, int *value)
{
    int number = 0;
    if (text->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!rv_is_digit(text->ptr[i]))
            return false;
        number = number * 10 + (text->ptr[i] - '0');
    }
    text->ptr += count;
    text->len -= count;
    *value = number;
    return true;
}

static bool take_month(rv_bytes *text, int *month)
{
    for (int i = 0; i < 12; i++) {
        if (take_text(text, month_names[i], 3)) {
            *month = i + 1;
            return true;
        }
    }
    return false;
}

struct time_fields {
    int year; /* two digits in the RFC 850 form */
    int month;
    int day;
    int hour;
    int minute;
    int second;
};

static bool take_time_of_day(rv_bytes *text, struct time_fields *fields)
{
    return take_digits(text, 2, &fields->hour) && take_char(text, ':') &&
           take_digits(text, 2, &fields->minute) && take_char(text, ':') &&
           take_digits(text, 2, &fields->second);
}

/* Behind "Sun": ", 06 Nov 1994 08:49:37 GMT". */
static bool take_imf_fixdate(rv_bytes *text, struct time_fields *fields)
{
    return take_text(text, ", ", 2) && take_digits(text, 2, &fields->day) && take_char(text, ' ') &&
           take_month(text, &fields->month) && take_char(text, ' ') &&
           take_digits(text, 4, &fields->year) && take_char(text, ' ') &&
           take_time_of_day(text, fields) && take_text(text, " GMT", 4);
}

/* Behind "Sunday": ", 06-Nov-94 08:49:37 GMT". */
static bool take_rfc850_date(rv_bytes *text, struct time_fields *fields)
{
    return take_text(text, ", ", 2) && take_digits(text, 2, &fields->day) && take_char(text, '-') &&
           take_month(text, &fields->month) && take_char(text, '-') &&
           take_digits(text, 2, &fields->year) && take_char(text, ' ') &&
           take_time_of_day(text, fields) && take_text(text, " GMT", 4);
}

/* Behind "Sun": " Nov  6 08:49:37 1994". */
static bool take_asctime_date(rv_bytes *text, struct time_fields *fields)
{
    if (!take_char(text, ' ') || !take_month(text, &fields->month) || !take_char(text, ' '))
        return false;
    size_t day_digits = take_char(text, ' ') ? 1 : 2;
    return take_digits(text, day_digits, &fields->day) && take_char(text, ' ') &&
           take_time_of_day(text, fields) && take_char(text, ' ') &&
           take_digits(text, 4, &fields->year);
}

static bool seconds_of_fields(const struct time_fields *fields, int64_t year, int64_t *seconds)
{
    if (fields->day < 1 || fields->day > days_in_month(year, fields->month))
        return false;
    *seconds = days_of_civil(year, fields->month, fields->day) * SECONDS_PER_DAY +
               fields->hour * 3600 + fields->minute * 60 + fields->second;
    return true;
}

/* The latest year with these two digits that is not more than 50 years ahead of `now`. */
static int64_t full_year(const struct time_fields *fields, int64_t now)
{
    /* A clock that is set to a year of more than four digits would only overflow below. */
    if (now < 0)
        now = 0;
    if (now > SECONDS_MAX)
        now = SECONDS_MAX;
    struct civil today = civil_of_days(now / SECONDS_PER_DAY);
    int64_t last_year = today.year + 50;
    int64_t year = last_year - (last_year - fields->year) % 100;
    if (year < last_year)
        return year;
    int64_t seconds;
    int64_t limit_day = days_of_civil(last_year, today.month, today.day);
    int64_t limit = limit_day * SECONDS_PER_DAY + now % SECONDS_PER_DAY;
    bool ahead = seconds_of_fields(fields, year, &seconds) && seconds > limit;
    return ahead ? year - 100 : year;
}

/* RFC 9110 section 5.6.7: case-sensitive, no space more or less. The name of the day must be one,
   but need not be the right one: clients are wrong about it, and it carries nothing that the date
   does not say itself. Second 60 is a leap second: the same instant as the next minute's first. */
bool rv_date_parse(rv_bytes text, int64_t now, int64_t *seconds)
{
    int weekday = 0;
    while (weekday < 7 && !take_text(&text, weekday_names[weekday], 3))
        weekday++;
    if (weekday == 7)
        return false;

    struct time_fields fields;
    const char *rest_of_name = weekday_names[weekday] + 3;
    int64_t year;
    if (take_text(&text, rest_of_name, strlen(rest_of_name))) {
        if (!take_rfc850_date(&text, &fields))
            return false;
        year = full_year(&fields, now);
    } else if (text.len > 0 && text.ptr[0] == ',' ? take_imf_fixdate(&text, &fields)
                                                  : take_asctime_date(&text, &fields)) {
        year = fields.year;
    } else {
        return false;
    }
    if (text.len > 0 || fields.hour > 23 || fields.minute > 59 || fields.second > 60)
        return false;
    return seconds_of_fields(&fields, year, seconds);
}

/* ---- RFC 3339 ------------------------------------------------------------------------------------- */

/* What follows the time: a fraction, which is cut off, and "Z" or an offset in minutes. */
static bool take_offset(rv_bytes *text, int *minutes)
{
    int hour, minute, digit;
    if (take_char(text, '.')) {
        if (!take_digits(text, 1, &digit))
            return false;
        while (take_digits(text, 1, &digit))
            ;
    }
    *minutes = 0;
    if (take_char(text, 'Z') || take_char(text, 'z'))
        return true;
    bool west = take_char(text, '-');
    if (!west && !take_char(text, '+'))
        return false;
    if (!take_digits(text, 2, &hour))
        return false;
    take_char(text, ':');
    if (!take_digits(text, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *minutes = (west ? -1 : 1) * (hour * 60 + minute);
    return true;
}

bool rv_date_parse_3339(rv_bytes text, int64_t *seconds)
{
    struct time_fields fields = {0};
    int offset_minutes = 0;
    int64_t found;
    if (!take_digits(&text, 4, &fields.year) || !take_char(&text, '-') ||
        !take_digits(&text, 2, &fields.month) || !take_char(&text, '-') ||
        !take_digits(&text, 2, &fields.day) || fields.month < 1 || fields.month > 12)
        return false;
    if (text.len > 0 && (!(take_char(&text, 'T') || take_char(&text, 't')) ||
                         !take_time_of_day(&text, &fields) || !take_offset(&text, &offset_minutes)))
        return false;
    /* A second of 60 is a leap second (section 5.6): it counts as the next one. */
    if (text.len > 0 || fields.hour > 23 || fields.minute > 59 || fields.second > 60 ||
        !seconds_of_fields(&fields, fields.year, &found))
        return false;
    *seconds = found - INT64_C(60) * offset_minutes;
    return true;
}
