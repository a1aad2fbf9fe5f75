/* tar_number.c: see tar_number.h. */
#include "tar_number.h"

static bool base256(const unsigned char *field, size_t size, int64_t *out)
{
	if (field[0] != 0x80) /* 0xff begins a negative number; other bits have no meaning */
		return false;
	uint64_t value = 0;
	for (size_t i = 1; i < size; i++) {
		if (value >> 55) /* the next byte would reach the sign bit */
			return false;
		value = value << 8 | field[i];
	}
	*out = (int64_t)value;
	return true;
}

bool sbx_tar_field(const unsigned char *field, size_t size, int64_t *out)
{
	if (field[0] & 0x80)
		return base256(field, size, out);
	size_t i = 0;
	while (i < size && field[i] == ' ')
		i++;
	int64_t value = 0;
	size_t first = i;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
		if (value > INT64_MAX >> 3)
			return false;
		value = value << 3 | (field[i] - '0');
	}
	if (i == first)
		return false;
	for (; i < size; i++) {
		if (field[i] != ' ' && field[i] != '\0')
			return false;
	}
	*out = value;
	return true;
}

bool sbx_tar_decimal(const char *text, size_t size, int64_t *out)
{
	int64_t value = 0;
	if (!size)
		return false;
	for (size_t i = 0; i < size; i++) {
		int digit = text[i] - '0';
		if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

static bool fraction(const char *text, size_t size, int32_t *ns)
{
	int32_t value = 0, unit = 100000000;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value += (text[i] - '0') * unit; /* digits beyond the ninth add nothing */
		unit /= 10;
	}
	*ns = value;
	return size > 0;
}

bool sbx_tar_time(const char *text, size_t size, int64_t *seconds, int32_t *ns)
{
	bool negative = size && text[0] == '-';
	size_t start = negative, dot = start;
	while (dot < size && text[dot] != '.')
		dot++;
	int64_t whole;
	int32_t part = -1;
	if (!sbx_tar_decimal(text + start, dot - start, &whole))
		return false;
	if (dot < size && !fraction(text + dot + 1, size - dot - 1, &part))
		return false;
	if (negative) {
		whole = -whole;
		if (part > 0) {
			whole--;
			part = 1000000000 - part;
		}
	}
	*seconds = whole;
	*ns = part;
	return true;
}
