/* conform_remove.c: P-30..P-39: what remove removes, and what must survive. */
#include "conform.h"

#include "../engine/base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* A system call on the mount, and what it must come to: unlink, or with directory rmdir. */
struct removal {
	const char *path;
	bool directory;
	int want, want2;
};

/* The mount may believe for a moment what it saw before the planting; what never comes is the
 * removal's to find. */
static void await_planted(const char *path)
{
	struct stat st;
	for (int i = 0; i < 50 && lstat(path, &st) < 0 && errno == ENOENT; i++)
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = 100000000 }, NULL); /* cut short is fine */
}

/* Plants, tries each removal in its turn up to a row without path, and looks what became of it. */
static void mounted(struct sbx_conform *world, struct sbx_verdict *verdict, const char *plant,
	const struct removal *removals, const char *after)
{
	int rc = 0;
	if (!guest(world, verdict, plant))
		return;
	if (removals->want != ENOENT) {
		cleanup_free char *first = sbx_printf("%s/%s", world->main.mounted, removals->path);
		await_planted(first);
	}
	for (; removals->path; removals++) {
		cleanup_free char *path = sbx_printf("%s/%s", world->main.mounted, removals->path);
		rc = (removals->directory ? rmdir(path) : unlink(path)) < 0 ? -errno : 0;
		if (!sbx_conform_expect(
			    verdict, removals->path, rc, removals->want, removals->want2, NULL))
			return;
	}
	if (guest(world, verdict, after))
		sbx_verdict_pass(verdict, "%s", rc ? strerror(-rc) : "gone, and the rest is there");
}

static void p30_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal file[] = { { "in/p30m", false, 0, -1 }, { 0 } };
	mounted(world, verdict, ": > " WORK "/p30m", file, "[ ! -e " WORK "/p30m ]");
}

static void p31_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict, ":", "in/p31", false, ":");
	if (verdict->result == SBX_VERDICT_PASS)
		removes(world, verdict, ":", "in/p31", true, ":");
}

/* POSIX has it otherwise: the second unlink says so, as of any file. */
static void p31_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal twice[] = { { "in/p31m", false, 0, -1 },
		{ "in/p31m", false, ENOENT, -1 }, { 0 } };
	mounted(world, verdict, ": > " WORK "/p31m", twice, "[ ! -e " WORK "/p31m ]");
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

static void p32_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal link[] = { { "in/p32m", false, 0, -1 }, { 0 } };
	mounted(world, verdict, "cd " WORK " && ln -s /sbxfs-conform/work-outside p32m", link,
		"[ ! -L " WORK "/p32m ] && [ -e /sbxfs-conform/work-outside/secret.txt ]");
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

static void p33_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal behind[] = { { "in/link-dir/secret.txt", false, ELOOP,
							 ENOTDIR },
		{ "in/link-dir/sub", true, ELOOP, ENOTDIR }, { 0 } };
	mounted(world, verdict, ":", behind,
		"cd /sbxfs-conform/work-outside && [ -e secret.txt ] && [ -e sub/leaf.txt ]");
}

static void p34_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuses(world, verdict, "mkdir -p " WORK "/p34 && : > " WORK "/p34/f", "in/p34", false,
		EISDIR, -1, "[ -e " WORK "/p34/f ]");
}

static void p34_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal full[] = { { "in/p34m", false, EISDIR, -1 },
		{ "in/p34m", true, ENOTEMPTY, -1 }, { 0 } };
	mounted(world, verdict, "mkdir -p " WORK "/p34m && : > " WORK "/p34m/f", full,
		"[ -e " WORK "/p34m/f ]");
}

static void p35_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuses(world, verdict, "mkdir -p " WORK "/p35", "in/p35", false, EISDIR, -1,
		"[ -d " WORK "/p35 ]");
	if (verdict->result == SBX_VERDICT_PASS)
		removes(world, verdict, ":", "in/p35", true, "[ ! -e " WORK "/p35 ]");
}

static void p35_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal empty[] = { { "in/p35m", false, EISDIR, -1 },
		{ "in/p35m", true, 0, -1 }, { 0 } };
	mounted(world, verdict, "mkdir -p " WORK "/p35m", empty, "[ ! -e " WORK "/p35m ]");
}

static void p36_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict, "cd " WORK " && mkdir -p p36/a/b && : > p36/a/b/f && : > p36-by",
		"in/p36", true, "cd " WORK " && [ ! -e p36 ] && [ -e p36-by ]");
}

static void p36_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal tree[] = { { "in/p36m/a/f", false, 0, -1 },
		{ "in/p36m/a", true, 0, -1 }, { "in/p36m", true, 0, -1 }, { 0 } };
	mounted(world, verdict, "cd " WORK " && mkdir -p p36m/a && : > p36m/a/f && : > p36m-by",
		tree, "cd " WORK " && [ ! -e p36m ] && [ -e p36m-by ]");
}

static void p37_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	removes(world, verdict,
		"mkdir -p " WORK "/p37 && ln -s /sbxfs-conform/work-outside " WORK "/p37/l",
		"in/p37", true,
		"[ ! -e " WORK "/p37 ] && [ -e /sbxfs-conform/work-outside/sub/leaf.txt ]");
}

static void p37_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal tree[] = { { "in/p37m/l", false, 0, -1 },
		{ "in/p37m", true, 0, -1 }, { 0 } };
	mounted(world, verdict,
		"mkdir -p " WORK "/p37m && ln -s /sbxfs-conform/work-outside " WORK "/p37m/l", tree,
		"[ ! -e " WORK "/p37m ] && [ -e /sbxfs-conform/work-outside/sub/leaf.txt ]");
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

static void p38_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal whole[] = { { "", true, EROFS, -1 }, { "in", true, EROFS, -1 },
		{ 0 } };
	mounted(world, verdict, ":", whole,
		"cd /sbxfs-conform/work && [ -e plain.txt ] && [ -e in/kept/file ]");
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

static void p39_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const struct removal outside[] = { { "../work-outside/secret.txt", false, ENOENT,
							  -1 },
		{ "in/../../work-outside", true, ENOENT, -1 }, { 0 } };
	mounted(world, verdict, ":", outside, "[ -e /sbxfs-conform/work-outside/secret.txt ]");
}

const struct sbx_probe sbx_conform_remove_probes[] = {
	{ "P-30", "removal removes", "and only that, also a name like -rf", p30_library,
		p30_mount },
	{ "P-31", "missing is success", "twice", p31_library, p31_mount },
	{ "P-32", "a link is removed, not followed", "recursive or not", p32_library, p32_mount },
	{ "P-33", "a linked parent is refused", "the target stays", p33_library, p33_mount },
	{ "P-34", "a directory needs recursive", "its content stays", p34_library, p34_mount },
	{ "P-35", "an empty one too", "then recursive works", p35_library, p35_mount },
	{ "P-36", "recursive removes the tree", "its neighbour stays", p36_library, p36_mount },
	{ "P-37", "a link in the tree is unlinked", "its target stays", p37_library, p37_mount },
	{ "P-38", "the work dir is refused", "its content stays", p38_library, p38_mount },
	{ "P-39", "outside is refused", "`..` and absolute paths", p39_library, p39_mount },
	{ 0 },
};
