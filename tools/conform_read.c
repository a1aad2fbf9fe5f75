/* conform_read.c: P-01..P-12: what may be described and read, and what may not. Links are planted
 * by guest root. */
#include "conform.h"

#include "../engine/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int stat_of(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox, const char *path,
	struct sbx_stat *st, struct sbx_error *err)
{
	struct sbx_call call = sbx_tool_call(world->tool, 30000);
	return sandbox->plane->ops->stat(sandbox->plane, path, &call, st, err);
}

static void p01_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_stat st = { 0 };
	char out[64];
	if (!sbx_conform_expect(verdict, "stat",
		    stat_of(world, &world->main, "real/inside.txt", &st, &err), 0, -1, &err))
		return;
	long got =
		sbx_conform_fetch(world, &world->main, "real/inside.txt", out, sizeof(out), &err);
	if (st.type == SBX_TYPE_FILE && st.size == 6 && got == 6 && strcmp(out, "within") == 0)
		sbx_verdict_pass(verdict, "6 bytes, a file");
	else
		sbx_verdict_fail(verdict, "type %s, size %lld, read %ld", sbx_type_name(st.type),
			(long long)st.size, got);
	sbx_stat_finish(&st);
}

static void p01_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	char out[64] = "";
	long got = sbx_conform_slurp(&world->main, "real/inside.txt", out, sizeof(out));
	if (got == 6 && strcmp(out, "within") == 0)
		sbx_verdict_pass(verdict, "6 bytes");
	else
		sbx_verdict_fail(verdict, "read %ld: %s", got, got < 0 ? strerror((int)-got) : out);
}

static void p02_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_stat st = { 0 };
	if (!sbx_conform_expect(verdict, "stat",
		    stat_of(world, &world->main, "link-file", &st, &err), 0, -1, &err))
		return;
	if (st.type == SBX_TYPE_LINK)
		sbx_verdict_pass(verdict, "a symlink to %s", st.link_target ? st.link_target : "?");
	else
		sbx_verdict_fail(verdict, "it is called a %s", sbx_type_name(st.type));
	sbx_stat_finish(&st);
}

static void p02_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	cleanup_free char *path = sbx_printf("%s/link-file", world->main.mounted);
	struct stat st;
	if (lstat(path, &st) < 0)
		sbx_verdict_fail(verdict, "lstat: %s", strerror(errno));
	else if (S_ISREG(st.st_mode) && !(st.st_mode & 0777) && !st.st_size)
		sbx_verdict_pass(
			verdict, "a file of mode 0 and size 0, never a link of the host's");
	else
		sbx_verdict_fail(verdict, "mode %o, size %lld", st.st_mode, (long long)st.st_size);
}

static void refuse_read(struct sbx_conform *world, struct sbx_verdict *verdict,
	struct sbx_probe_sandbox *sandbox, const char *path, int want)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char out[256] = "";
	long got = sbx_conform_fetch(world, sandbox, path, out, sizeof(out), &err);
	if (out[0])
		sbx_verdict_fail(verdict, "bytes came: %s", out);
	else if (sbx_conform_expect(verdict, path, got > 0 ? 0 : (int)got, want, -1, &err))
		sbx_verdict_pass(verdict, "%s", err.message);
}

static void refuse_stat(struct sbx_conform *world, struct sbx_verdict *verdict,
	struct sbx_probe_sandbox *sandbox, const char *path, int want)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_stat st = { 0 };
	if (sbx_conform_expect(
		    verdict, path, stat_of(world, sandbox, path, &st, &err), want, -1, &err))
		sbx_verdict_pass(verdict, "%s", err.message);
	sbx_stat_finish(&st);
}

static void refuse_mounted(struct sbx_verdict *verdict, const struct sbx_probe_sandbox *sandbox,
	const char *path, int want, int want2)
{
	char out[256] = "";
	long got = sbx_conform_slurp(sandbox, path, out, sizeof(out));
	if (out[0])
		sbx_verdict_fail(verdict, "bytes came: %s", out);
	else if (sbx_conform_expect(verdict, path, got > 0 ? 0 : (int)got, want, want2, NULL))
		sbx_verdict_pass(verdict, "%s", strerror((int)-got));
}

static void p03_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_read(world, verdict, &world->main, "link-file", ELOOP);
}

static void p03_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_mounted(verdict, &world->main, "link-file", ELOOP, -1);
}

static void p04_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_stat(world, verdict, &world->main, "link-dir/secret.txt", ELOOP);
}

/* The link itself is shown as a file, so the kernel stops at it before we are asked. */
static void p04_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_mounted(verdict, &world->main, "link-dir/secret.txt", ELOOP, ENOTDIR);
}

static void p05_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_read(world, verdict, &world->main, "link-dir/sub/leaf.txt", ELOOP);
}

static void p05_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_mounted(verdict, &world->main, "link-dir/sub/leaf.txt", ELOOP, ENOTDIR);
}

/* The work dir becomes a link and is put back, whatever the probe saw. */
static bool linked_workdir(struct sbx_conform *world, struct sbx_verdict *verdict, bool on)
{
	char out[200];
	const char *line = on ? "cd /sbxfs-conform/top && mv work kept && ln -s kept work"
			      : "cd /sbxfs-conform/top && rm work && mv kept work";
	if (sbx_conform_guest(world, &world->linked, line, out, sizeof(out)) == 0)
		return true;
	sbx_verdict_fail(verdict, "the guest could not plant it: %s", out);
	return false;
}

static bool linked_ancestor(struct sbx_conform *world, struct sbx_verdict *verdict, bool on)
{
	char out[200];
	const char *line = on ? "cd /sbxfs-conform && mv top kept && ln -s kept top"
			      : "cd /sbxfs-conform && rm top && mv kept top";
	if (sbx_conform_guest(world, &world->linked, line, out, sizeof(out)) == 0)
		return true;
	sbx_verdict_fail(verdict, "the guest could not plant it: %s", out);
	return false;
}

static void p06_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (!linked_workdir(world, verdict, true))
		return;
	refuse_stat(world, verdict, &world->linked, "real/inside.txt", ELOOP);
	if (verdict->result == SBX_VERDICT_PASS)
		refuse_read(world, verdict, &world->linked, "real/inside.txt", ELOOP);
	(void)linked_workdir(world, verdict, false); /* a failure is already the verdict */
}

static void p06_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (!linked_workdir(world, verdict, true))
		return;
	refuse_mounted(verdict, &world->linked, "real/inside.txt", ELOOP, -1);
	(void)linked_workdir(world, verdict, false); /* as above */
}

static void p07_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (!linked_ancestor(world, verdict, true))
		return;
	refuse_stat(world, verdict, &world->linked, "real/inside.txt", ELOOP);
	if (verdict->result == SBX_VERDICT_PASS)
		refuse_read(world, verdict, &world->linked, "real/inside.txt", ELOOP);
	(void)linked_ancestor(world, verdict, false); /* as above */
}

static void p07_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (!linked_ancestor(world, verdict, true))
		return;
	refuse_mounted(verdict, &world->linked, "real/inside.txt", ELOOP, -1);
	(void)linked_ancestor(world, verdict, false); /* as above */
}

static void p08_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_stat(world, verdict, &world->main, "plain.txt/x", ENOTDIR);
}

static void p08_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_mounted(verdict, &world->main, "plain.txt/x", ENOTDIR, -1);
}

static void refuse_list(struct sbx_conform *world, struct sbx_verdict *verdict,
	struct sbx_probe_sandbox *sandbox, const char *path)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_listing listing = { 0 };
	struct sbx_call call = sbx_tool_call(world->tool, 30000);
	int rc = sandbox->plane->ops->list(sandbox->plane, path, &call, &listing, &err);
	if (sbx_conform_expect(verdict, path, rc, ELOOP, -1, &err))
		sbx_verdict_pass(verdict, "%s", err.message);
	sbx_listing_finish(&listing);
}

static void refuse_mounted_list(struct sbx_verdict *verdict,
	const struct sbx_probe_sandbox *sandbox, const char *path, int want, int want2)
{
	cleanup_free char *full = sbx_printf("%s/%s", sandbox->mounted, path);
	DIR *directory = opendir(full);
	struct dirent *entry = NULL;
	int code = errno;
	if (directory) { /* it may open before its names are asked for: then it gives none */
		errno = 0;
		entry = readdir(directory);
		code = errno;
	}
	if (entry)
		sbx_verdict_fail(verdict, "names came: %s", entry->d_name);
	else if (sbx_conform_expect(verdict, path, -code, want, want2, NULL))
		sbx_verdict_pass(verdict, "%s", strerror(code));
	if (directory)
		(void)closedir(directory); /* only read from */
}

static void p09_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_list(world, verdict, &world->main, "link-dir");
}

static void p09_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_mounted_list(verdict, &world->main, "link-dir", ELOOP, ENOTDIR);
}

static void p10_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_list(world, verdict, &world->main, "link-dir/sub");
}

static void p10_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_mounted_list(verdict, &world->main, "link-dir/sub", ELOOP, ENOTDIR);
}

static void p11_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (!linked_ancestor(world, verdict, true))
		return;
	refuse_list(world, verdict, &world->linked, "real");
	(void)linked_ancestor(world, verdict, false); /* a failure is already the verdict */
}

static void p11_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (!linked_ancestor(world, verdict, true))
		return;
	refuse_mounted_list(verdict, &world->linked, "real", ELOOP, -1);
	(void)linked_ancestor(world, verdict, false); /* as above */
}

static void p12_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_listing listing = { 0 };
	struct sbx_call call = sbx_tool_call(world->tool, 30000);
	int rc = world->main.plane->ops->list(world->main.plane, "out", &call, &listing, &err);
	int links = 0, fifos = 0, files = 0;
	if (!sbx_conform_expect(verdict, "list", rc, 0, -1, &err))
		return;
	for (size_t i = 0; i < listing.count; i++) {
		links += listing.rows[i].st.type == SBX_TYPE_LINK;
		fifos += listing.rows[i].st.type == SBX_TYPE_FIFO;
		files += listing.rows[i].st.type == SBX_TYPE_FILE;
	}
	if (listing.count == 4 && links == 2 && fifos == 1 && files == 1)
		sbx_verdict_pass(verdict, "4 entries: 2 links, 1 fifo, 1 file");
	else
		sbx_verdict_fail(verdict, "%zu entries: %d links, %d fifos, %d files",
			listing.count, links, fifos, files);
	sbx_listing_finish(&listing);
}

static void p12_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	cleanup_free char *path = sbx_printf("%s/out", world->main.mounted);
	DIR *directory = opendir(path);
	int names = 0, odd = 0;
	if (!directory) {
		sbx_verdict_fail(verdict, "opendir: %s", strerror(errno));
		return;
	}
	for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		names++;
		odd += entry->d_type != DT_REG;
	}
	(void)closedir(directory); /* only read from */
	if (names == 4 && !odd)
		sbx_verdict_pass(verdict, "4 names, none a link of the host's");
	else
		sbx_verdict_fail(verdict, "%d names, %d of them no regular file", names, odd);
}

const struct sbx_probe sbx_conform_read_probes[] = {
	{ "P-01", "a legitimate read works",
		"positive control: refusing everything would pass the rest", p01_library,
		p01_mount },
	{ "P-02", "a link is named a link", "its size and type must not be the target's",
		p02_library, p02_mount },
	{ "P-03", "a link is never read", "the target may be anything", p03_library, p03_mount },
	{ "P-04", "stat through a linked parent", "leaks type and size", p04_library, p04_mount },
	{ "P-05", "read through a linked parent", "leaks bytes", p05_library, p05_mount },
	{ "P-06", "the work dir is a link", "the walk must not start below it", p06_library,
		p06_mount },
	{ "P-07", "an ancestor of the work dir is a link", "the walk must start at /", p07_library,
		p07_mount },
	{ "P-08", "a plain parent is no escape", "ENOTDIR, not ELOOP", p08_library, p08_mount },
	{ "P-09", "list a linked directory", "leaks names", p09_library, p09_mount },
	{ "P-10", "list through a linked parent", "leaks names", p10_library, p10_mount },
	{ "P-11", "list under a linked ancestor", "leaks names", p11_library, p11_mount },
	{ "P-12", "a listing names its links", "hiding them invites a blind read", p12_library,
		p12_mount },
	{ 0 },
};
