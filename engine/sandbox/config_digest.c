/* config_digest.c: see config_digest.h. */
#include "config_digest.h"

#include "seccomp.h"
#include "spec.h"

#include "../base/alloc.h"
#include "../base/buffer.h"

#include <string.h>

#define PART_HEX 16

/* Length-prefixed, so that no two lists have one digest. Sorted where order means nothing. */
static void add_part(struct sbx_buffer *out, const char *name, char **texts, size_t count)
{
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *prefix = sbx_printf("%zu:", strlen(texts[i]));
		sbx_sha256_update(&state, prefix, strlen(prefix));
		sbx_sha256_update(&state, texts[i], strlen(texts[i]));
	}
	sbx_sha256_final(&state, hex);
	/* No limit is set on this buffer: appending cannot fail. */
	(void)sbx_buffer_printf(out, "%s%s=%.*s", out->size ? " " : "", name, PART_HEX, hex);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_sorted(struct sbx_buffer *out, const char *name, char **texts, size_t count)
{
	if (count)
		qsort(texts, count, sizeof(*texts), by_text);
	add_part(out, name, texts, count);
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

static char **copy(const char *const *texts, size_t count)
{
	char **copies = sbx_alloc_array(count, sizeof(*copies));
	for (size_t i = 0; i < count; i++)
		copies[i] = sbx_strdup(texts[i]);
	return copies;
}

static void add_plain_parts(const struct sbx_spec *spec, struct sbx_buffer *out)
{
	const char *user[] = { spec->user ? spec->user : "" };
	add_sorted(out, "user", copy(user, 1), 1);
	add_sorted(out, "env", copy(spec->env, spec->env_count), spec->env_count);
	size_t argc = 0;
	while (spec->argv && spec->argv[argc])
		argc++;
	char **argv = copy(spec->argv, argc);
	add_part(out, "argv", argv, argc);
	for (size_t i = 0; i < argc; i++)
		free(argv[i]);
	free(argv);
	char **labels = sbx_alloc_array(spec->label_count, sizeof(*labels));
	for (size_t i = 0; i < spec->label_count; i++)
		labels[i] = sbx_printf("%s=%s", spec->labels[i].key, spec->labels[i].value);
	add_sorted(out, "labels", labels, spec->label_count);
	char **caps = sbx_alloc_array(spec->cap_add_count, sizeof(*caps));
	for (size_t i = 0; i < spec->cap_add_count; i++)
		caps[i] = sbx_capability_name(spec->cap_add[i]);
	add_sorted(out, "caps", caps, spec->cap_add_count);
}

int sbx_config_digest(const struct sbx_spec *spec, char **out, struct sbx_error *err)
{
	struct sbx_buffer text = { 0 };
	add_plain_parts(spec, &text);
	char **options = sbx_alloc_array(spec->security_opt_count, sizeof(*options));
	int rc = 0;
	for (size_t i = 0; i < spec->security_opt_count; i++) {
		rc = sbx_security_opt_content(spec->security_opts[i], &options[i], err);
		if (rc < 0) {
			options[i] = sbx_strdup("");
			break;
		}
	}
	for (size_t i = 0; i < spec->security_opt_count; i++)
		options[i] = options[i] ? options[i] : sbx_strdup("");
	add_sorted(&text, "security", options, spec->security_opt_count);
	if (rc == 0)
		*out = sbx_strdup(sbx_buffer_text(&text));
	sbx_buffer_finish(&text);
	return rc;
}

/* The value of name in "name=value name=value", or "" with length 0. */
static const char *part_value(const char *text, const char *name, size_t name_size, size_t *size)
{
	while (*text) {
		size_t word = strcspn(text, " ");
		if (word > name_size && text[name_size] == '=' &&
			memcmp(text, name, name_size) == 0) {
			*size = word - name_size - 1;
			return text + name_size + 1;
		}
		text += word;
		text += strspn(text, " ");
	}
	*size = 0;
	return text;
}

/* What a part of the label is called on the command line. */
static void add_option(struct sbx_buffer *names, const char *part, size_t size)
{
	static const struct {
		const char *part, *option;
	} rows[] = { { "user", "--user" }, { "env", "--env" }, { "argv", "the command" },
		{ "labels", "--label" }, { "caps", "--cap-add" },
		{ "security", "--security-opt" } };
	(void)sbx_buffer_printf(names, "%s", names->size ? ", " : ""); /* no limit: cannot fail */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strlen(rows[i].part) == size && memcmp(rows[i].part, part, size) == 0) {
			(void)sbx_buffer_printf(names, "%s", rows[i].option); /* as above */
			return;
		}
	}
	(void)sbx_buffer_printf(names, "%.*s", (int)size, part); /* as above */
}

char *sbx_config_difference(const char *asked, const char *labelled)
{
	struct sbx_buffer names = { 0 };
	for (const char *word = asked; *word; word += strspn(word, " ")) {
		size_t name = strcspn(word, "= "), a_size, b_size;
		const char *a = part_value(asked, word, name, &a_size);
		const char *b = part_value(labelled, word, name, &b_size);
		if (a_size != b_size || memcmp(a, b, a_size) != 0)
			add_option(&names, word, name);
		word += strcspn(word, " ");
	}
	char *out = names.size ? sbx_strdup(sbx_buffer_text(&names)) : NULL;
	sbx_buffer_finish(&names);
	return out;
}
