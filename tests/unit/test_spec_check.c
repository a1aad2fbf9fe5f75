/* test_spec_check.c: what is refused without an engine, and that the sentence names the option. */
#include "sandbox/digest_pin.h"
#include "unit.h"

#include <errno.h>
#include <sbx/spec.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct sbx_spec good(void)
{
	struct sbx_spec spec;
	sbx_spec_init(&spec);
	spec.image = "tool:1";
	return spec;
}

static void refused(const struct sbx_spec *spec, int errnum, const char *word)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int rc = sbx_spec_check(spec, &err);
	ck_assert_msg(rc == -errnum, "%s: %d %s", word, rc, err.message);
	ck_assert_msg(strstr(err.message, word) != NULL, "'%s' is not in: %s", word, err.message);
}

static void accepted(const struct sbx_spec *spec)
{
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_msg(sbx_spec_check(spec, &err) == 0, "%s", err.message);
}

START_TEST(defaults_are_good)
{
	struct sbx_spec spec = good();
	accepted(&spec);
}
END_TEST

START_TEST(names)
{
	static const char *const bad[] = { "", "a", "-bad", ".x", "a b", "a/b", "../x", "a\n",
		"na\xc3\xafve" };
	struct sbx_spec spec = good();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		spec.name = bad[i];
		refused(&spec, EINVAL, "--name");
	}
	spec.name = "a_1.b-2";
	accepted(&spec);
	/* Both ends of what engines take. */
	char longest[257];
	memset(longest, 'n', sizeof(longest));
	longest[256] = '\0';
	spec.name = longest;
	refused(&spec, EINVAL, "--name");
	longest[255] = '\0';
	accepted(&spec);
	spec.name = "ab";
	accepted(&spec);
}
END_TEST

START_TEST(images_and_pins)
{
	static const char *const bad[] = { "", "a b", "-x", "a\n", "r@sha256:zz",
		("r@sha256:" HEX "\n") };
	struct sbx_spec spec = good();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		spec.image = bad[i];
		refused(&spec, EINVAL, "--image");
	}
	static const char *const pinned[] = { "busybox@sha256:" HEX, "a/b/c@sha256:" HEX,
		"reg.example:5000/x@sha256:" HEX, "A_b-c@sha256:" HEX, "x:1@sha256:" HEX };
	static const char *const loose[] = { "busybox", "busybox:1", "reg:5000/x:1",
		"x@sha256:" HEX "\n", "x@sha256:" HEX "0", "@sha256:" HEX,
		"x@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
		"x@sha512:" HEX, "x y@sha256:" HEX };
	spec.require_digest_pin = true;
	for (size_t i = 0; i < sizeof(pinned) / sizeof(pinned[0]); i++) {
		spec.image = pinned[i];
		accepted(&spec);
	}
	for (size_t i = 0; i < sizeof(loose) / sizeof(loose[0]); i++) {
		spec.image = loose[i];
		refused(&spec, EPERM, "--require-digest-pin");
	}
}
END_TEST

START_TEST(pin_must_be_the_images_own)
{
	char *digests[] = { (char *)"other@sha256:" HEX, NULL };
	char *none[] = { NULL };
	struct sbx_image image = { .id = (char *)"sha256:1", .repo_digests = digests };
	ck_assert_int_eq(sbx_digest_pin_holds("x@sha256:" HEX, &image, NULL), 0);
	digests[0] = (char *)"x@sha256:"
			     "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	ck_assert_int_eq(sbx_digest_pin_holds("x@sha256:" HEX, &image, NULL), -EPERM);
	image.repo_digests = none;
	ck_assert_int_eq(sbx_digest_pin_holds("x@sha256:" HEX, &image, NULL), -EPERM);
}
END_TEST

START_TEST(declaration)
{
	const char *output = "in/x";
	struct sbx_spec spec = good();
	spec.outputs = &output;
	spec.output_count = 1;
	refused(&spec, EINVAL, "--output");
	output = "../x";
	refused(&spec, EXDEV, "--output");
	output = "out/";
	accepted(&spec);
	spec.workdir = "/";
	refused(&spec, EINVAL, "--workdir");
	spec.workdir = "/w";
	spec.in_dir = "../in";
	refused(&spec, EXDEV, "--in");
}
END_TEST

START_TEST(users_environment_labels)
{
	static const char *const bad[] = { "", ":", "a:", "a b", "-x", "1000:", "a:b:c", "a\n" };
	static const char *const fine[] = { "guest", "1000", "1000:1000", "guest:staff", ":5" };
	struct sbx_spec spec = good();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		spec.user = bad[i];
		refused(&spec, EINVAL, "--user");
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		spec.user = fine[i];
		accepted(&spec);
	}
	const char *env = "NOVALUE";
	spec.env = &env;
	spec.env_count = 1;
	refused(&spec, EINVAL, "--env");
	env = "=x";
	refused(&spec, EINVAL, "--env");
	env = "A=\xff";
	refused(&spec, EILSEQ, "--env");
	env = "A=";
	accepted(&spec);
	struct sbx_pair label = { (char *)"a b", (char *)"v" };
	spec.labels = &label;
	spec.label_count = 1;
	refused(&spec, EINVAL, "--label");
	label.key = (char *)"team";
	accepted(&spec);
}
END_TEST

START_TEST(hardening_cannot_be_taken_back)
{
	static const struct {
		const char *option;
		int errnum;
	} rows[] = { { "no-new-privileges", EPERM }, { "no-new-privileges=false", EPERM },
		{ "no-new-privileges:false", EPERM }, { "No-New-Privileges=false", EPERM },
		{ "seccomp=/nonexistent/profile", EINVAL }, { "seccomp=", EINVAL },
		{ "systempaths=unconfined", EINVAL }, { "apparmor", EINVAL },
		{ "unmask=ALL", EINVAL } };
	const char *option;
	struct sbx_spec spec = good();
	spec.security_opts = &option;
	spec.security_opt_count = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		option = rows[i].option;
		refused(&spec, rows[i].errnum, "--security-opt");
	}
	option = "seccomp=unconfined";
	accepted(&spec);
	const char *twice[] = { "seccomp=unconfined", "label=disable", "seccomp=unconfined" };
	spec.security_opts = twice;
	spec.security_opt_count = 2;
	accepted(&spec);
	spec.security_opt_count = 3;
	refused(&spec, EINVAL, "seccomp= is given 2 times");
	twice[0] = twice[2] = "apparmor=unconfined";
	refused(&spec, EINVAL, "apparmor= is given 2 times");
	spec.security_opt_count = 0;
	const char *cap = "ALL";
	spec.cap_add = &cap;
	spec.cap_add_count = 1;
	refused(&spec, EPERM, "--cap-add");
	cap = "cap_all";
	refused(&spec, EPERM, "--cap-add");
	cap = "NET RAW";
	refused(&spec, EINVAL, "--cap-add");
	cap = "cap_net_raw";
	accepted(&spec);
	spec.read_only = true;
	refused(&spec, EOPNOTSUPP, "--read-only");
}
END_TEST

START_TEST(seccomp_profile_is_read_first)
{
	char path[] = "/tmp/sbx-test-seccomp-XXXXXX", option[64];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	(void)snprintf(option, sizeof(option), "seccomp=%s", path);
	const char *text = option;
	struct sbx_spec spec = good();
	spec.security_opts = &text;
	spec.security_opt_count = 1;
	ck_assert_int_eq(write(fd, "{bad", 4), 4);
	refused(&spec, EINVAL, "JSON");
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}", 34, 0), 34);
	accepted(&spec);
	close(fd);
	unlink(path);
}
END_TEST

START_TEST(limits_and_ladder)
{
	struct sbx_spec spec = good();
	spec.memory_bytes = 0;
	refused(&spec, EINVAL, "--memory");
	spec.memory_bytes = (6 << 20) - 1;
	refused(&spec, EINVAL, "--memory");
	spec.memory_bytes++;
	accepted(&spec);
	spec.pids_limit = 0;
	refused(&spec, EINVAL, "--pids-limit");
	spec.pids_limit = 1;
	spec.nano_cpus = 0;
	refused(&spec, EINVAL, "--cpus");
	spec.nano_cpus = 500000000;
	spec.min_isolation = SBX_ISOLATION_HARDENED_CONTAINER;
	refused(&spec, EPERM, "--min-isolation");
	enum sbx_isolation rung;
	ck_assert_int_eq(sbx_isolation_parse("microvm", &rung, NULL), 0);
	ck_assert_int_eq(rung, SBX_ISOLATION_MICROVM);
	ck_assert_int_eq(sbx_isolation_parse("fortress", &rung, NULL), -EINVAL);
	ck_assert_int_eq(sbx_isolation_parse("", &rung, NULL), -EINVAL);
	spec.min_isolation = SBX_ISOLATION_NONE;
	accepted(&spec);
}
END_TEST

UNIT_MAIN("spec_check", defaults_are_good, names, images_and_pins, pin_must_be_the_images_own,
	declaration, users_environment_labels, hardening_cannot_be_taken_back,
	seccomp_profile_is_read_first, limits_and_ladder)
