/* test_endpoint.c: the engine is found as the docker client finds it, and a named one is never
 * replaced by another. */
#include "base/alloc.h"
#include "directory.h"
#include "unit.h"

#include <sbx/endpoint.h>
#include <sbx/engine.h>
#include <sbx/sha256.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void begin(void)
{
	directory_enter();
	static const char *const variables[] = { "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
		"DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR" };
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	setenv("HOME", directory, 1);
}

static void make_directories(char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755); /* it may be there */
		*slash = '/';
	}
}

static void add_context(const char *name, const char *meta, bool with_tls)
{
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	sbx_sha256_update(&state, name, strlen(name));
	sbx_sha256_final(&state, hex);
	cleanup_free char *path = sbx_printf(".docker/contexts/meta/%s/meta.json", hex);
	make_directories(path);
	write_file(path, meta);
	if (!with_tls)
		return;
	cleanup_free char *ca = sbx_printf(".docker/contexts/tls/%s/docker/ca.pem", hex);
	make_directories(ca);
	write_file(ca, "PEM");
}

static void expect(const char *choice, const char *url, const char *source)
{
	struct sbx_endpoint endpoint;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_msg(sbx_endpoint_find(choice, &endpoint, &err) == 0, "%s", err.message);
	ck_assert_str_eq(endpoint.url, url);
	ck_assert_str_eq(endpoint.source, source);
	ck_assert(endpoint.tls == (strncmp(url, "https", 5) == 0));
	ck_assert((endpoint.socket_path != NULL) == (strncmp(url, "unix", 4) == 0));
	sbx_endpoint_finish(&endpoint);
}

static void expect_failure(const char *choice, int errnum)
{
	struct sbx_endpoint endpoint;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_endpoint_find(choice, &endpoint, &err), -errnum);
	ck_assert_str_ne(err.message, "");
	ck_assert_ptr_null(endpoint.url);
}

START_TEST(reads_addresses)
{
	begin();
	expect("unix:///a/b.sock", "unix:///a/b.sock", "--engine");
	expect("tcp://host", "http://host:2375", "--engine");
	expect("tcp://host:99/", "http://host:99", "--engine");
	expect("tcp://[::1]:99", "http://[::1]:99", "--engine");
	expect("http://host:1", "http://host:1", "--engine");
	expect("https://host", "https://host:2376", "--engine");
	static const char *const bad[] = { "unix://relative", "tcp://", "tcp://h:0",
		"tcp://h:70000", "tcp://h:x", "tcp://u@h:1", "ftp://h", "tcp://h:1/path",
		"tcp://:1", "tcp://a b:1" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_failure(bad[i], EINVAL);
	expect_failure("ssh://host", EOPNOTSUPP);
	expect_failure("npipe:////./pipe/docker_engine", EOPNOTSUPP);
	directory_leave();
}
END_TEST

/* Plain HTTP that leaves this host, without a word of the caller's. */
START_TEST(a_network_without_tls_is_refused)
{
	begin();
	static const struct {
		const char *url;
		bool exposed;
	} rows[] = { { "tcp://10.0.0.1:2375", true }, { "http://engine", true },
		{ "tcp://[fe80::1]:2375", true }, { "tcp://127.0.0.1.example.org", true },
		{ "tcp://128.0.0.1", true }, { "tcp://127.0.0.1", false },
		{ "tcp://127.1.2.3:99", false }, { "tcp://localhost", false },
		{ "tcp://[::1]:2375", false }, { "https://10.0.0.1", false },
		{ "unix:///10.0.0.1:2375", false } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_endpoint endpoint;
		struct sbx_engine *engine = NULL;
		struct sbx_error err = SBX_ERROR_INIT;
		ck_assert_int_eq(sbx_endpoint_find(rows[i].url, &endpoint, NULL), 0);
		ck_assert_msg(
			sbx_endpoint_exposed(&endpoint) == rows[i].exposed, "%s", rows[i].url);
		if (rows[i].exposed) {
			ck_assert_int_eq(sbx_engine_open(&endpoint, NULL, &engine, &err), -EPERM);
			ck_assert_int_eq(err.kind, SBX_KIND_POLICY);
			ck_assert_msg(strstr(err.message, endpoint.url), "%s", err.message);
		}
		sbx_endpoint_finish(&endpoint);
	}
	directory_leave();
}
END_TEST

START_TEST(tls_from_the_environment)
{
	begin();
	setenv("DOCKER_HOST", "tcp://host", 1);
	setenv("DOCKER_CERT_PATH", "/certs", 1);
	struct sbx_endpoint endpoint;
	ck_assert_int_eq(sbx_endpoint_find(NULL, &endpoint, NULL), 0);
	ck_assert_str_eq(endpoint.url, "https://host:2376");
	ck_assert_str_eq(endpoint.ca_path, "/certs/ca.pem");
	ck_assert_str_eq(endpoint.cert_path, "/certs/cert.pem");
	ck_assert_str_eq(endpoint.key_path, "/certs/key.pem");
	ck_assert_str_eq(endpoint.source, "DOCKER_HOST");
	ck_assert(!endpoint.skip_verify);
	sbx_endpoint_finish(&endpoint);
	directory_leave();
}
END_TEST

START_TEST(contexts_in_their_order)
{
	begin();
	add_context("one",
		"{\"Name\":\"one\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///one\"}}}", false);
	add_context("two",
		"{\"Endpoints\":{\"docker\":{\"Host\":\"tcp://two:1\",\"SkipTLSVerify\":true}}}",
		true);
	write_file(".docker/config.json", "{\"currentContext\":\"one\"}");
	expect(NULL, "unix:///one", "context one");
	setenv("DOCKER_CONTEXT", "two", 1);
	struct sbx_endpoint endpoint;
	ck_assert_int_eq(sbx_endpoint_find(NULL, &endpoint, NULL), 0);
	ck_assert_str_eq(endpoint.url, "https://two:1");
	ck_assert_ptr_nonnull(endpoint.ca_path);
	ck_assert_ptr_null(endpoint.key_path);
	ck_assert(endpoint.skip_verify);
	sbx_endpoint_finish(&endpoint);
	setenv("DOCKER_HOST", "unix:///host", 1);
	expect(NULL, "unix:///host", "DOCKER_HOST");
	expect("one", "unix:///one", "context one");
	directory_leave();
}
END_TEST

/* Whatever is wrong with a named context, no other engine is used in its place. */
START_TEST(a_broken_context_is_refused)
{
	begin();
	expect_failure("missing", EINVAL);
	add_context("broken", "{", false);
	expect_failure("broken", EINVAL);
	add_context("empty", "{\"Endpoints\":{}}", false);
	expect_failure("empty", EINVAL);
	add_context("remote", "{\"Endpoints\":{\"docker\":{\"Host\":\"ssh://h\"}}}", false);
	expect_failure("remote", EOPNOTSUPP);
	write_file(".docker/config.json", "{\"currentContext\":\"missing\"}");
	expect_failure(NULL, EINVAL);
	write_file(".docker/config.json", "no json");
	expect_failure(NULL, EINVAL);
	directory_leave();
}
END_TEST

static void make_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static bool is_socket(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The places in their order, and where none is there the sentence names them. A machine may have
 * an engine of its own in a place that comes first. */
START_TEST(default_sockets_in_their_order)
{
	begin();
	setenv("XDG_RUNTIME_DIR", directory, 1);
	bool docker = is_socket("/var/run/docker.sock"),
	     podman = is_socket("/run/podman/podman.sock");
	if (!docker && !podman) {
		struct sbx_endpoint endpoint;
		struct sbx_error err = SBX_ERROR_INIT;
		ck_assert_int_eq(sbx_endpoint_find(NULL, &endpoint, &err), -ENOENT);
		ck_assert_ptr_nonnull(strstr(err.message, "/var/run/docker.sock"));
		ck_assert_ptr_nonnull(strstr(err.message, "/podman/podman.sock"));
	}
	char podman_place[] = "podman/podman.sock";
	make_directories(podman_place);
	make_socket(podman_place);
	cleanup_free char *second = sbx_printf("unix://%s/podman/podman.sock", directory);
	cleanup_free char *first = sbx_printf("unix://%s/docker.sock", directory);
	if (!docker && !podman)
		expect(NULL, second, "default socket");
	make_socket("docker.sock");
	expect("default", docker ? "unix:///var/run/docker.sock" : first, "default socket");
	setenv("DOCKER_CONTEXT", "default", 1);
	expect(NULL, docker ? "unix:///var/run/docker.sock" : first, "default socket");
	ck_assert_int_eq(unlink("docker.sock") | unlink(podman_place) | rmdir("podman"), 0);
	directory_leave();
}
END_TEST

START_TEST(tls_is_looked_for_at_home)
{
	begin();
	setenv("DOCKER_HOST", "tcp://host", 1);
	setenv("DOCKER_TLS_VERIFY", "1", 1);
	struct sbx_endpoint endpoint;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_endpoint_find(NULL, &endpoint, &err), 0);
	cleanup_free char *ca = sbx_printf("%s/.docker/ca.pem", directory);
	ck_assert_str_eq(endpoint.ca_path, ca);
	sbx_endpoint_finish(&endpoint);
	unsetenv("HOME");
	ck_assert_int_eq(sbx_endpoint_find(NULL, &endpoint, &err), -EINVAL);
	directory_leave();
}
END_TEST

UNIT_MAIN("endpoint", reads_addresses, a_network_without_tls_is_refused, tls_from_the_environment,
	contexts_in_their_order, a_broken_context_is_refused, default_sockets_in_their_order,
	tls_is_looked_for_at_home)
