/* conform_write.c: P-13..P-24 and REACH: what lands under in/, and what must not land anywhere. */
#include "conform.h"

#include "../engine/base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void guest_sees(
	struct sbx_conform *world, struct sbx_verdict *verdict, const char *line, const char *want)
{
	char out[300] = "";
	if (sbx_conform_guest(world, &world->main, line, out, sizeof(out)) == 0 &&
		strcmp(out, want) == 0)
		sbx_verdict_pass(verdict, "the guest sees it");
	else
		sbx_verdict_fail(verdict, "the guest sees '%s' instead of '%s'", out, want);
}

static bool put(
	struct sbx_conform *world, struct sbx_verdict *verdict, const char *path, const char *text)
{
	struct sbx_error err = SBX_ERROR_INIT;
	return sbx_conform_expect(
		verdict, path, sbx_conform_put(world, &world->main, path, text, &err), 0, -1, &err);
}

static void p13_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (put(world, verdict, "in/p13", "landed"))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p13", "landed");
}

static void p13_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (sbx_conform_expect(verdict, "write",
		    sbx_conform_spill(&world->main, "in/p13m", "landed"), 0, -1, NULL))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p13m", "landed");
}

static const char odd_bytes[] = "na\xc3\xafve\r\n\t\001\177\xff\xfe";

static void p14_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	char out[64] = "";
	struct sbx_error err = SBX_ERROR_INIT;
	if (!put(world, verdict, "in/p14", odd_bytes))
		return;
	long got = sbx_conform_fetch(world, &world->main, "in/p14", out, sizeof(out), &err);
	if (got == (long)strlen(odd_bytes) && memcmp(out, odd_bytes, (size_t)got) == 0)
		sbx_verdict_pass(verdict, "%ld bytes, unaltered", got);
	else
		sbx_verdict_fail(verdict, "%ld bytes came back: %s", got, err.message);
}

static void p14_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (sbx_conform_expect(verdict, "write",
		    sbx_conform_spill(&world->main, "in/p14m", odd_bytes), 0, -1, NULL))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p14m", odd_bytes);
}

/* A name and a content that no single-byte locale could carry; the guest makes its own of them to
 * compare. */
#define UTF8_TEXT "na\xc3\xafve \xe2\x82\xac"

static void utf8_arrived(
	struct sbx_conform *world, struct sbx_verdict *verdict, const char *directory)
{
	cleanup_free char *line = sbx_printf(
		"cd /sbxfs-conform/work/in/%s && t=$(printf 'na\\303\\257ve \\342\\202\\254') && "
		"[ \"$(cat \"$t\")\" = \"$t\" ] && printf same",
		directory);
	guest_sees(world, verdict, line, "same");
}

static void p15_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (put(world, verdict, "in/p15/" UTF8_TEXT, UTF8_TEXT))
		utf8_arrived(world, verdict, "p15");
}

static void p15_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	cleanup_free char *directory = sbx_printf("%s/in/p15m", world->main.mounted);
	if (mkdir(directory, 0755) < 0)
		sbx_verdict_fail(verdict, "mkdir: %s", strerror(errno));
	else if (sbx_conform_expect(verdict, "write",
			 sbx_conform_spill(&world->main, "in/p15m/" UTF8_TEXT, UTF8_TEXT), 0, -1,
			 NULL))
		utf8_arrived(world, verdict, "p15m");
}

static void p16_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (put(world, verdict, "in/p16", "a long first content") &&
		put(world, verdict, "in/p16", "second"))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p16", "second");
}

static void p16_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (sbx_conform_expect(verdict, "first",
		    sbx_conform_spill(&world->main, "in/p16m", "a long first content"), 0, -1,
		    NULL) &&
		sbx_conform_expect(verdict, "second",
			sbx_conform_spill(&world->main, "in/p16m", "second"), 0, -1, NULL))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p16m", "second");
}

static void p17_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (put(world, verdict, "in/p17/a/b/c", "deep"))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p17/a/b/c", "deep");
}

static void p17_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	static const char *const parents[] = { "in/p17m", "in/p17m/a", "in/p17m/a/b" };
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		cleanup_free char *path = sbx_printf("%s/%s", world->main.mounted, parents[i]);
		if (mkdir(path, 0755) < 0) {
			sbx_verdict_fail(verdict, "mkdir %s: %s", parents[i], strerror(errno));
			return;
		}
	}
	if (sbx_conform_expect(verdict, "write",
		    sbx_conform_spill(&world->main, "in/p17m/a/b/c", "deep"), 0, -1, NULL))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/in/p17m/a/b/c", "deep");
}

/* What must stay untouched. */
static const char look[] = "ls -a /sbxfs-conform/work-outside "
			   "/sbxfs-conform/work-outside/sub / /sbxfs-conform && "
			   "cat /sbxfs-conform/work-outside/*.txt";

/* Refused with want, and the guest's listing of what must stay untouched is as it was. */
static void refuse_put(struct sbx_conform *world, struct sbx_verdict *verdict,
	struct sbx_probe_sandbox *sandbox, const char *path, int want)
{
	char before[4096] = "", after[4096] = "";
	struct sbx_error err = SBX_ERROR_INIT;
	if (sbx_conform_guest(world, &world->main, look, before, sizeof(before)) != 0) {
		sbx_verdict_fail(verdict, "the guest cannot look: %s", before);
		return;
	}
	int rc = sbx_conform_put(world, sandbox, path, "escaped", &err);
	(void)sbx_conform_guest(
		world, &world->main, look, after, sizeof(after)); /* compared below */
	if (strcmp(before, after) != 0)
		sbx_verdict_fail(verdict, "something changed outside");
	else if (sbx_conform_expect(verdict, path, rc, want, -1, &err))
		sbx_verdict_pass(verdict, "%s", err.message);
}

static void p18_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_put(world, verdict, &world->main, "../work-outside/p18", EXDEV);
	if (verdict->result == SBX_VERDICT_PASS)
		refuse_put(world, verdict, &world->main, "/sbxfs-conform/work-outside/p18", EXDEV);
}

/* `..` is resolved by the kernel: what is beside a sandbox's directory is the mount's, and takes no
 * file. */
static void p18_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	char before[4096] = "", after[4096] = "";
	int looked = sbx_conform_guest(world, &world->main, look, before, sizeof(before));
	int rc = sbx_conform_spill(&world->main, "../work-outside", "escaped");
	int deep = sbx_conform_spill(&world->main, "../work-outside/p18m", "escaped");
	if (looked != 0 || sbx_conform_guest(world, &world->main, look, after, sizeof(after)) != 0)
		sbx_verdict_fail(verdict, "the guest cannot look: %s", before);
	else if (strcmp(before, after) != 0)
		sbx_verdict_fail(verdict, "something changed outside");
	else if (sbx_conform_expect(verdict, "beside the sandbox", rc, EROFS, EPERM, NULL) &&
		 sbx_conform_expect(verdict, "below that", deep, ENOENT, EROFS, NULL))
		sbx_verdict_pass(verdict, "%s", strerror(-rc));
}

static void p19_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_put(world, verdict, &world->main, "in/link-dir/p19", ELOOP);
}

static void p19_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	int rc = sbx_conform_spill(&world->main, "in/link-dir/p19m", "escaped");
	if (sbx_conform_guest(
		    world, &world->main, "[ ! -e /sbxfs-conform/work-outside/p19m ]", NULL, 0) != 0)
		sbx_verdict_fail(verdict, "it landed outside");
	else if (sbx_conform_expect(verdict, "write", rc, ELOOP, ENOTDIR, NULL))
		sbx_verdict_pass(verdict, "%s", strerror(-rc));
}

static void p20_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	refuse_put(world, verdict, &world->main, "in/link-file", ELOOP);
}

static void p20_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	char out[300] = "";
	int rc = sbx_conform_spill(&world->main, "in/link-file", "escaped");
	(void)sbx_conform_guest(world, &world->main, "cat /sbxfs-conform/work-outside/target.txt",
		out, sizeof(out)); /* compared below */
	if (strcmp(out, "target") != 0)
		sbx_verdict_fail(verdict, "the target reads '%s'", out);
	else if (sbx_conform_expect(verdict, "write", rc, ELOOP, EACCES, NULL))
		sbx_verdict_pass(verdict, "%s", strerror(-rc));
}

static void p21_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int rc = sbx_conform_put(world, &world->main, "", "escaped", &err);
	if (!sbx_conform_expect(verdict, "the work dir", rc, EISDIR, EXDEV, &err))
		return;
	guest_sees(world, verdict, "cat /sbxfs-conform/work/plain.txt", "plain");
}

static void p21_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	int rc = sbx_conform_spill(&world->main, "", "escaped");
	if (sbx_conform_expect(verdict, "the work dir", rc, EISDIR, -1, NULL))
		guest_sees(world, verdict, "cat /sbxfs-conform/work/plain.txt", "plain");
}

/* The seed refuses it; here it is a byte like any other, and must not become a separator. */
static void p22_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (put(world, verdict, "in/p22\\..\\x", "landed"))
		guest_sees(world, verdict,
			"cd /sbxfs-conform/work/in && [ ! -e x ] && cat 'p22\\..\\x'", "landed");
}

static void p22_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	if (sbx_conform_expect(verdict, "write",
		    sbx_conform_spill(&world->main, "in/p22m\\..\\x", "landed"), 0, -1, NULL))
		guest_sees(world, verdict,
			"cd /sbxfs-conform/work/in && [ ! -e x ] && cat 'p22m\\..\\x'", "landed");
}

/* Whether p23 is anywhere in the linked sandbox: 0 yes, 1 no, and anything else is no answer. */
static int landed_behind_a_link(struct sbx_conform *world)
{
	return sbx_conform_guest(world, &world->linked,
		"for f in /sbxfs-conform/*/in/p23 /sbxfs-conform/*/*/in/p23; do "
		"[ ! -e \"$f\" ] || exit 0; done; exit 1",
		NULL, 0);
}

/* With the link planted by on, which off takes back: through the library, or through the mount. */
static void linked_put(struct sbx_conform *world, struct sbx_verdict *verdict, bool mounted,
	const char *on, const char *off)
{
	char out[300] = "";
	struct sbx_error err = SBX_ERROR_INIT;
	if (sbx_conform_guest(world, &world->linked, on, out, sizeof(out)) != 0) {
		sbx_verdict_fail(verdict, "the guest could not plant it: %s", out);
		return;
	}
	int rc = mounted ? sbx_conform_spill(&world->linked, "in/p23", "escaped")
			 : sbx_conform_put(world, &world->linked, "in/p23", "escaped", &err);
	int landed = landed_behind_a_link(world);
	(void)sbx_conform_guest(
		world, &world->linked, off, NULL, 0); /* put back for the next probe */
	if (landed != 1)
		sbx_verdict_fail(verdict, landed ? "the guest cannot look" : "it landed");
	else if (sbx_conform_expect(verdict, "in/p23", rc, ELOOP, -1, mounted ? NULL : &err))
		sbx_verdict_pass(verdict, "%s", mounted ? strerror(-rc) : err.message);
}

static const char workdir_on[] = "cd /sbxfs-conform/top && mv work kept && ln -s kept work",
		  workdir_off[] = "cd /sbxfs-conform/top && rm work && mv kept work",
		  ancestor_on[] = "cd /sbxfs-conform && mv top kept && ln -s kept top",
		  ancestor_off[] = "cd /sbxfs-conform && rm top && mv kept top";

static void p23_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	linked_put(world, verdict, false, workdir_on, workdir_off);
}

static void p23_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	linked_put(world, verdict, true, workdir_on, workdir_off);
}

static void p24_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	linked_put(world, verdict, false, ancestor_on, ancestor_off);
}

static void p24_mount(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	linked_put(world, verdict, true, ancestor_on, ancestor_off);
}

/* REACH: what we wrote is the guest's to change, and so is the directory we made for it. It says
 * nothing about windows. */
static void reach_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	struct sbx_error err = SBX_ERROR_INIT;
	char out[300] = "";
	if (!sbx_conform_expect(verdict, "put",
		    sbx_conform_put(world, &world->plain, "in/reach/file", "one", &err), 0, -1,
		    &err))
		return;
	cleanup_free char *line =
		sbx_printf("cd '%s/in/reach' && printf two >> file && cat file && : > sibling",
			world->plain.sandbox.workdir);
	if (sbx_conform_guest(world, &world->plain, line, out, sizeof(out)) == 0 &&
		strcmp(out, "onetwo") == 0)
		sbx_verdict_pass(verdict, "the guest appends and creates beside it");
	else
		sbx_verdict_fail(verdict, "the guest cannot use it: %s", out);
}

const struct sbx_probe sbx_conform_write_probes[] = {
	{ "P-13", "a write lands", "positive control", p13_library, p13_mount },
	{ "P-14", "bytes survive", "no text mode", p14_library, p14_mount },
	{ "P-15", "text is UTF-8", "whatever the host's locale", p15_library, p15_mount },
	{ "P-16", "a second write replaces", "no append, no old tail", p16_library, p16_mount },
	{ "P-17", "parents are created", "a deep path needs no preparation", p17_library,
		p17_mount },
	{ "P-18", "outside is refused", "`..` and absolute paths", p18_library, p18_mount },
	{ "P-19", "a linked parent is refused", "the engine would follow it", p19_library,
		p19_mount },
	{ "P-20", "a linked destination is refused", "the target must not change", p20_library,
		p20_mount },
	{ "P-21", "the work dir itself is refused", "it would be replaced, with all in it",
		p21_library, p21_mount },
	{ "P-22", "a backslash is no separator", "it is a byte of the name", p22_library,
		p22_mount },
	{ "P-23", "a linked work dir is refused", "nothing may land behind it", p23_library,
		p23_mount },
	{ "P-24", "a linked ancestor is refused", "nothing may land behind it", p24_library,
		p24_mount },
	{ "REACH", "the guest owns what was written", "with the image's own user (MAF-105)",
		reach_library, NULL },
	{ 0 },
};
