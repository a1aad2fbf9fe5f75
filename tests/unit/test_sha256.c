/* test_sha256.c: the published vectors, whole and in pieces that straddle blocks. */
#include "unit.h"

#include <sbx/sha256.h>
#include <string.h>

static const struct {
	const char *text, *hex;
} vectors[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

START_TEST(matches_the_published_vectors)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct sbx_sha256 state;
		char hex[65];
		sbx_sha256_init(&state);
		for (const char *c = vectors[i].text; *c; c++)
			sbx_sha256_update(&state, c, 1);
		sbx_sha256_final(&state, hex);
		ck_assert_str_eq(hex, vectors[i].hex);
	}
}
END_TEST

START_TEST(a_million_letters)
{
	char letters[1000], hex[65];
	struct sbx_sha256 state;
	memset(letters, 'a', sizeof(letters));
	sbx_sha256_init(&state);
	for (int i = 0; i < 1000; i++)
		sbx_sha256_update(&state, letters, sizeof(letters));
	sbx_sha256_final(&state, hex);
	ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

UNIT_MAIN("sha256", matches_the_published_vectors, a_million_letters)
