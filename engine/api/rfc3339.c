/* rfc3339.c: see rfc3339.h. */
#include "rfc3339.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Exactly `digits` decimal digits within low..high. */
static bool number(const char **text, int digits, int low, int high, int *out)
{
	int value = 0;
	for (int i = 0; i < digits; i++, (*text)++) {
		if (!isdigit((unsigned char)**text))
			return false;
		value = value * 10 + (**text - '0');
	}
	*out = value;
	return value >= low && value <= high;
}

static bool literal(const char **text, const char *either)
{
	if (!**text || !strchr(either, **text))
		return false;
	(*text)++;
	return true;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar; years begin in March. */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
	       day_of_year - 719468;
}

static bool fraction(const char **text, int32_t *nanoseconds)
{
	*nanoseconds = 0;
	if (**text != '.')
		return true;
	(*text)++;
	int32_t unit = 100000000;
	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text); (*text)++, unit /= 10)
		*nanoseconds += (**text - '0') * unit;
	return true;
}

static bool zone(const char **text, int64_t *offset_s)
{
	*offset_s = 0;
	if (literal(text, "Zz"))
		return true;
	int sign = **text == '-' ? -1 : 1, hours, minutes;
	if (!literal(text, "+-") || !number(text, 2, 0, 23, &hours) || !literal(text, ":") ||
		!number(text, 2, 0, 59, &minutes))
		return false;
	*offset_s = (int64_t)sign * (hours * (int64_t)3600 + minutes * (int64_t)60);
	return true;
}

bool sbx_time_parse(const char *text, int64_t *seconds, int32_t *nanoseconds)
{
	int year, month, day, hour, minute, second;
	int64_t offset_s;
	if (!number(&text, 4, 0, 9999, &year) || !literal(&text, "-") ||
		!number(&text, 2, 1, 12, &month) || !literal(&text, "-") ||
		!number(&text, 2, 1, 31, &day) || !literal(&text, "Tt ") ||
		!number(&text, 2, 0, 23, &hour) || !literal(&text, ":") ||
		!number(&text, 2, 0, 59, &minute) || !literal(&text, ":") ||
		!number(&text, 2, 0, 60, &second) || !fraction(&text, nanoseconds) ||
		!zone(&text, &offset_s) || *text)
		return false;
	*seconds = days_from_civil(year, month, day) * 86400 + hour * (int64_t)3600 +
		   minute * (int64_t)60 + second - offset_s;
	return true;
}

int64_t sbx_time_parse_ns(const char *text)
{
	int64_t seconds, total;
	int32_t nanoseconds;
	if (!text || !sbx_time_parse(text, &seconds, &nanoseconds) ||
		__builtin_mul_overflow(seconds, (int64_t)1000000000, &total) ||
		__builtin_add_overflow(total, nanoseconds, &total))
		return 0;
	return total;
}
