/*
 * fuzz_declaration.c: what labels declare. Lines: work dir, in dir, Config.User, the outputs label.
 * Outputs that are accepted lie in the work dir, apart from each other and from in/, and come back
 * the same from the label that create would write.
 */
#include "files/guest_path.h"
#include "fuzz.h"
#include "sandbox/labels.h"
#include "sandbox/outputs.h"
#include "sandbox/user_answer.h"

#include <sbx/guest_path.h>
#include <sbx/sandbox.h>
#include <stdio.h>

static void are_apart(const struct sbx_output *outputs, size_t count, const char *in_dir)
{
	struct sbx_error err = SBX_ERROR_INIT;
	for (size_t i = 0; i < count; i++) {
		promise(sbx_guest_path_check(outputs[i].path, true, &err) == 0);
		promise(!in_dir || !sbx_guest_path_within(outputs[i].path, in_dir));
		promise(!in_dir || !sbx_guest_path_within(in_dir, outputs[i].path));
		for (size_t k = 0; k < count; k++)
			promise(i == k || !sbx_guest_path_within(outputs[i].path, outputs[k].path));
	}
}

static void print_and_parse(const struct sbx_output *outputs, size_t count)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char **texts = NULL;
	size_t back = 0;
	cleanup_free char *label = sbx_labels_outputs_print(outputs, count);
	if (strlen(label) > 65536)
		return;
	promise(sbx_labels_outputs(label, &texts, &back, &err) == 0 && back == count);
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(outputs[i].path);
		promise(strncmp(texts[i], outputs[i].path, size) == 0);
		promise(strcmp(texts[i] + size, outputs[i].directory ? "/" : "") == 0);
	}
	sbx_texts_free(texts, back);
}

static void declare(const char *workdir, const char *in_dir, const char *label)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char **texts = NULL;
	size_t count = 0, parsed = 0;
	struct sbx_output *outputs = NULL;
	if (sbx_labels_outputs(label, &texts, &count, &err) < 0)
		return;
	if (sbx_outputs_parse(workdir, in_dir, (const char *const *)texts, count, &outputs, &parsed,
		    &err) == 0) {
		are_apart(outputs, parsed, in_dir);
		print_and_parse(outputs, parsed);
		sbx_outputs_free(outputs, parsed);
	}
	sbx_texts_free(texts, count);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *workdir_text = next_text(&data, &size);
	cleanup_free char *in_text = next_text(&data, &size);
	cleanup_free char *user = next_text(&data, &size);
	cleanup_free char *label = sbx_strndup((const char *)data, size);
	cleanup_free char *workdir = NULL, *in_dir = NULL;
	struct sbx_user_answer answer;
	sbx_user_answer_begin(user, &answer);
	sbx_user_answer_finish(&answer);
	if (sbx_workdir_parse(workdir_text, &workdir, &err) < 0)
		return 0;
	promise(*workdir == '/' && workdir[1] && workdir[strlen(workdir) - 1] != '/');
	if (sbx_in_dir_parse(in_text, &in_dir, &err) == 0)
		promise(sbx_guest_path_check(in_dir, true, &err) == 0);
	declare(workdir, in_dir, label);
	return 0;
}
