/* test_frames.c: the multiplexed stream, cut anywhere. */
#include "api/frames.h"
#include "base/buffer.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static const char stream[] = "\1\0\0\0\0\0\0\5hello"
			     "\2\0\0\0\0\0\0\3err"
			     "\1\0\0\0\0\0\0\0"
			     "\1\0\0\0\0\0\0\1!";
#define STREAM_SIZE (sizeof(stream) - 1)

static struct sbx_buffer outputs[3];

static int keep(void *data, int which, const char *bytes, size_t size)
{
	ck_assert(sbx_buffer_append(&outputs[which], bytes, size));
	return 0;
}

static int stop(void *data, int which, const char *bytes, size_t size)
{
	return 42;
}

START_TEST(joins_pieces_of_any_size)
{
	for (size_t piece = 1; piece <= STREAM_SIZE; piece++) {
		struct sbx_frames frames = { .output = keep };
		for (size_t at = 0; at < STREAM_SIZE; at += piece) {
			size_t size = STREAM_SIZE - at < piece ? STREAM_SIZE - at : piece;
			ck_assert_int_eq(sbx_frames_feed(&frames, stream + at, size, NULL), 0);
		}
		ck_assert_int_eq(sbx_frames_end(&frames, NULL), 0);
		ck_assert_str_eq(sbx_buffer_text(&outputs[1]), "hello!");
		ck_assert_str_eq(sbx_buffer_text(&outputs[2]), "err");
		sbx_buffer_finish(&outputs[1]);
		sbx_buffer_finish(&outputs[2]);
	}
}
END_TEST

START_TEST(notices_a_cut_and_what_is_no_frame)
{
	for (size_t size = 1; size < 13; size++) {
		struct sbx_frames frames = { 0 };
		ck_assert_int_eq(sbx_frames_feed(&frames, stream, size, NULL), 0);
		ck_assert_int_eq(sbx_frames_end(&frames, NULL), -EIO);
	}
	static const char *const wrong[] = { "\3\0\0\0\0\0\0\1x", "GET / HT", "\1\0\0\1\0\0\0\1x" };
	for (size_t i = 0; i < 3; i++) {
		struct sbx_frames frames = { 0 };
		ck_assert_int_eq(sbx_frames_feed(&frames, wrong[i], 8, NULL), -EIO);
	}
}
END_TEST

START_TEST(hands_on_the_callers_stop_and_raw_streams)
{
	struct sbx_frames frames = { .output = stop };
	ck_assert_int_eq(sbx_frames_feed(&frames, stream, STREAM_SIZE, NULL), 42);
	struct sbx_frames raw = { .output = keep, .raw = true };
	ck_assert_int_eq(sbx_frames_feed(&raw, "\1\0raw", 5, NULL), 0);
	ck_assert_int_eq(sbx_frames_end(&raw, NULL), 0);
	ck_assert_uint_eq(outputs[1].size, 5);
	sbx_buffer_finish(&outputs[1]);
}
END_TEST

/* A frame may claim 4 GiB: nothing is allocated for the claim. */
START_TEST(a_huge_claim_costs_nothing)
{
	struct sbx_frames frames = { 0 };
	ck_assert_int_eq(sbx_frames_feed(&frames, "\1\0\0\0\xff\xff\xff\xffxyz", 11, NULL), 0);
	ck_assert_uint_eq(frames.left, 0xffffffffu - 3);
}
END_TEST

UNIT_MAIN("frames", joins_pieces_of_any_size, notices_a_cut_and_what_is_no_frame,
	hands_on_the_callers_stop_and_raw_streams, a_huge_claim_costs_nothing)
