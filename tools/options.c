/* options.c: a subcommand's options by its table, the common ones, and operands. See tool.h. */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void sbx_list_add(struct sbx_list *list, const char *item)
{
	list->items = sbx_realloc_array(list->items, list->count + 2, sizeof(*list->items));
	list->items[list->count++] = item;
	list->items[list->count] = NULL;
}

void sbx_list_finish(struct sbx_list *list)
{
	free(list->items);
	*list = (struct sbx_list){ 0 };
}

/* Decimal, scaled: exact where strtod would not be. What is beyond the last place rounds up, so
 * that a little is never nothing. */
static bool scaled(const char *text, int places, int64_t *out)
{
	char whole[32];
	const char *point = strchr(text, '.');
	size_t length = point ? (size_t)(point - text) : strlen(text);
	long long units, value = 0;
	bool rest = false;
	if (length >= sizeof(whole))
		return false;
	memcpy(whole, text, length);
	whole[length] = '\0';
	if (!sbx_text_to_int64(length ? whole : "0", &units) || (!length && !point))
		return false;
	int64_t factor = 1;
	for (int i = 0; i < places; i++)
		factor *= 10;
	if (units > INT64_MAX / factor - 1)
		return false;
	value = units * factor;
	for (const char *digit = point ? point + 1 : ""; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return false;
		factor /= 10;
		value += (*digit - '0') * factor;
		rest |= !factor && *digit != '0';
	}
	if (point && !point[1])
		return false;
	*out = value + rest;
	return true;
}

static int set(const struct sbx_tool *tool, const struct sbx_option *option, const char *value,
	struct sbx_error *err)
{
	static const char *const wants[] = { [SBX_OPTION_LINES] = "a whole number",
		[SBX_OPTION_COUNT] = "a whole number above zero",
		[SBX_OPTION_BYTES] = "a size above zero, such as 512m",
		[SBX_OPTION_SECONDS] = "a time above zero with its unit, such as 90s, 15m or 24h",
		[SBX_OPTION_MS] = "seconds above zero, such as 2.5",
		[SBX_OPTION_CPUS] = "a number of CPUs above zero, such as 0.5" };
	long long number = 0;
	int64_t scaled_number = 0;
	bool good = true;
	switch (option->type) {
	case SBX_OPTION_FLAG:
		*(bool *)option->target = true;
		return 0;
	case SBX_OPTION_TEXT:
		*(const char **)option->target = value;
		return 0;
	case SBX_OPTION_LIST:
		sbx_list_add(option->target, value);
		return 0;
	case SBX_OPTION_LINES:
	case SBX_OPTION_COUNT:
		good = sbx_text_to_int64(value, &number);
		break;
	case SBX_OPTION_BYTES:
		good = sbx_text_to_bytes(value, &number);
		break;
	case SBX_OPTION_SECONDS:
		/* A bare number could be meant as days: of an age that is for removing by. */
		good = sbx_text_to_seconds(value, &number) && !isdigit(value[strlen(value) - 1]);
		break;
	case SBX_OPTION_MS:
		good = scaled(value, 3, &scaled_number);
		number = scaled_number;
		break;
	case SBX_OPTION_CPUS:
		good = scaled(value, 9, &scaled_number);
		number = scaled_number;
		break;
	}
	/* Nought of a bound would be read as none by one command and as the default by another. */
	if (!good || (!number && option->type != SBX_OPTION_LINES))
		return sbx_fail(err, EINVAL, "--%s wants %s, not '%s' (sbxfs help %s)",
			option->name, wants[option->type], value, tool->command->name);
	*(int64_t *)option->target = number;
	return 0;
}

static const struct sbx_option *by_name(
	const struct sbx_option *options, const char *name, size_t length)
{
	for (; options->name; options++) {
		if (strlen(options->name) == length && memcmp(options->name, name, length) == 0)
			return options;
	}
	return NULL;
}

static const struct sbx_option *by_letter(const struct sbx_option *options, char letter)
{
	for (; options->name; options++) {
		if (options->letter && options->letter == letter)
			return options;
	}
	return NULL;
}

/* One option word at argv[*at]; its value may be the next word. */
static int parse_option(struct sbx_tool *tool, int argc, char **argv, int *at,
	const struct sbx_option *own, const struct sbx_option *common, struct sbx_error *err)
{
	const char *word = argv[*at];
	const char *name = word[1] == '-' ? word + 2 : word + 1;
	bool is_long = word[1] == '-';
	const char *equals = is_long ? strchr(name, '=') : NULL;
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct sbx_option *option =
		is_long ? by_name(own, name, length) : by_letter(own, *name);
	if (!option)
		option = is_long ? by_name(common, name, length) : by_letter(common, *name);
	if (!option)
		return sbx_fail(err, EINVAL, "unknown option %s (sbxfs help %s)", word,
			tool->command->name);
	const char *value = equals ? equals + 1 : NULL;
	if (!is_long && name[1])
		value = name + 1;
	if (option->type == SBX_OPTION_FLAG) {
		if (value)
			return sbx_fail(err, EINVAL, "--%s takes no value", option->name);
		return set(tool, option, NULL, err);
	}
	if (!value) {
		if (*at + 1 >= argc)
			return sbx_fail(err, EINVAL, "--%s wants a value (sbxfs help %s)",
				option->name, tool->command->name);
		value = argv[++*at];
	}
	return set(tool, option, value, err);
}

int sbx_tool_parse_words(struct sbx_tool *tool, int argc, char **argv,
	const struct sbx_option *options, struct sbx_error *err)
{
	const struct sbx_option common[] = {
		{ "engine", 0, SBX_OPTION_TEXT, &tool->engine_choice },
		{ "config", 0, SBX_OPTION_TEXT, &tool->config_path },
		{ "json", 0, SBX_OPTION_FLAG, &tool->json },
		{ "verbose", 'v', SBX_OPTION_FLAG, &tool->verbose },
		{ "quiet", 'q', SBX_OPTION_FLAG, &tool->quiet },
		{ "help", 'h', SBX_OPTION_FLAG, &tool->help },
		{ "insecure", 0, SBX_OPTION_FLAG, &tool->insecure },
		{ "no-notice", 0, SBX_OPTION_FLAG, &tool->no_notice },
		{ 0 },
	};
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			tool->rest = (const char *const *)argv + i + 1;
			break;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			int rc = parse_option(tool, argc, argv, &i, options, common, err);
			if (rc < 0)
				return rc;
		} else {
			sbx_list_add(&tool->operands, argv[i]);
		}
	}
	return 0;
}

int sbx_tool_operands(const struct sbx_tool *tool, size_t least, size_t most, struct sbx_error *err)
{
	const struct sbx_tool_command *command = tool->command;
	if (tool->operands.count < least)
		return sbx_fail(err, EINVAL, "too few words; usage: sbxfs %s %s", command->name,
			command->usage);
	if (tool->operands.count > most)
		return sbx_fail(err, EINVAL, "'%s' is one word too many; usage: sbxfs %s %s",
			tool->operands.items[most], command->name, command->usage);
	return 0;
}
