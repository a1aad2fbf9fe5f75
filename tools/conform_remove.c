/* conform_remove.c: P-30..P-39: what remove removes, and what must survive. */
#include "conform.h"

#include "../engine/base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORK "/sbxfs-conform/work/in"

static int removing(
	struct sbx_conform *world, const char *path, bool recursive, struct sbx_error *err)
{
	struct sbx_call call = sbx_tool_call(world->tool, 30000);
	return world->main.plane->ops->remove(world->main.plane, path, recursive, &call, err);
}

static bool guest(struct sbx_conform *world, struct sbx_verdict *verdict, const char *line)
{
	char out[300] = "";
	if (sbx_conform_guest(world, &world->main, line, out, sizeof(out)) == 0)
		return true;
	sbx_verdict_fail(verdict, "not so in the guest: %s %s", line, out);
	return false;
}

static void removes(struct sbx_conform *world, struct sbx_verdict *verdict, const char *plant,
	const char *path, bool recursive, const char *after)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (guest(world, verdict, plant) &&
		sbx_conform_expect(
			verdict, path, removing(world, path, recursive, &err), 0, -1, &err) &&
		guest(world, verdict, after))
		sbx_verdict_pass(verdict, "gone, and the rest is there");
}

static void refuses(struct sbx_conform *world, struct sbx_verdict *verdict, const char *plant,
	const char *path, bool recursive, int want, int want2, const char *after)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (guest(world, verdict, plant) &&
		sbx_conform_expect(
			verdict, path, removing(world, path, recursive, &err), want, want2, &err) &&
		guest(world, verdict, after))
		sbx_verdict_pass(verdict, "%s", err.message);
}

static void p30_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict, "cd " WORK " && : > p30 && : > p30-by && : > ./-rf", "in/p30",
		false, "cd " WORK " && [ ! -e p30 ] && [ -e p30-by ]");
	if (verdict->result == SBX_VERDICT_PASS)
		removes(world, verdict, ":", "in/-rf", false,
			"cd " WORK " && [ ! -e ./-rf ] && [ -e p30-by ]");
}

static void p30_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	cleanup_free char *path = sbx_printf("%s/in/p30m", world->main.mounted);
	if (!guest(world, verdict, ": > " WORK "/p30m"))
		return;
	if (unlink(path) < 0)
		sbx_verdict_fail(verdict, "unlink: %s", strerror(errno));
	else if (guest(world, verdict, "[ ! -e " WORK "/p30m ]"))
		sbx_verdict_pass(verdict, "gone in the guest");
}

static void p31_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict, ":", "in/p31", false, ":");
	if (verdict->result == SBX_VERDICT_PASS)
		removes(world, verdict, ":", "in/p31", true, ":");
}

static void p32_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	for (int recursive = 0; recursive < 2; recursive++) {
		removes(world, verdict, "cd " WORK " && ln -s /sbxfs-conform/work-outside p32",
			"in/p32", recursive,
			"[ ! -L " WORK "/p32 ] && [ -e /sbxfs-conform/work-outside/secret.txt ]");
		if (verdict->result != SBX_VERDICT_PASS)
			return;
	}
}

static void p33_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	for (int recursive = 0; recursive < 2; recursive++) {
		refuses(world, verdict, ":", "in/link-dir/secret.txt", recursive, ELOOP, -1,
			"[ -e /sbxfs-conform/work-outside/secret.txt ]");
		if (verdict->result != SBX_VERDICT_PASS)
			return;
	}
}

static void p34_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuses(world, verdict, "mkdir -p " WORK "/p34 && : > " WORK "/p34/f", "in/p34", false,
		EISDIR, -1, "[ -e " WORK "/p34/f ]");
}

static void p35_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuses(world, verdict, "mkdir -p " WORK "/p35", "in/p35", false, EISDIR, -1,
		"[ -d " WORK "/p35 ]");
	if (verdict->result == SBX_VERDICT_PASS)
		removes(world, verdict, ":", "in/p35", true, "[ ! -e " WORK "/p35 ]");
}

static void p36_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict, "cd " WORK " && mkdir -p p36/a/b && : > p36/a/b/f && : > p36-by",
		"in/p36", true, "cd " WORK " && [ ! -e p36 ] && [ -e p36-by ]");
}

static void p37_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict,
		"mkdir -p " WORK "/p37 && ln -s /sbxfs-conform/work-outside " WORK "/p37/l",
		"in/p37", true,
		"[ ! -e " WORK "/p37 ] && [ -e /sbxfs-conform/work-outside/sub/leaf.txt ]");
}

static void p38_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	for (int recursive = 0; recursive < 2; recursive++) {
		refuses(world, verdict, ":", "", recursive, EXDEV, -1,
			"[ -e /sbxfs-conform/work/plain.txt ]");
		if (verdict->result != SBX_VERDICT_PASS)
			return;
	}
}

static void p39_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const char *const outside[] = { "../work-outside/secret.txt",
		"/sbxfs-conform/work-outside/secret.txt" };
	for (int i = 0; i < 4; i++) {
		refuses(world, verdict, ":", outside[i / 2], i % 2, EXDEV, -1,
			"[ -e /sbxfs-conform/work-outside/secret.txt ]");
		if (verdict->result != SBX_VERDICT_PASS)
			return;
	}
}

const struct sbx_probe sbx_conform_remove_probes[] = {
	{ "P-30", "removal removes", "and only that, also a name like -rf", p30_library,
		p30_mount },
	{ "P-31", "missing is success", "twice", p31_library, NULL },
	{ "P-32", "a link is removed, not followed", "recursive or not", p32_library, NULL },
	{ "P-33", "a linked parent is refused", "the target stays", p33_library, NULL },
	{ "P-34", "a directory needs recursive", "its content stays", p34_library, NULL },
	{ "P-35", "an empty one too", "then recursive works", p35_library, NULL },
	{ "P-36", "recursive removes the tree", "its neighbour stays", p36_library, NULL },
	{ "P-37", "a link in the tree is unlinked", "its target stays", p37_library, NULL },
	{ "P-38", "the work dir is refused", "its content stays", p38_library, NULL },
	{ "P-39", "outside is refused", "`..` and absolute paths", p39_library, NULL },
	{ 0 },
};
