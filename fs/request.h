/*
 * request.h: a FUSE request from its arrival to its one answer, which may come much later.
 *
 * Every operation makes one, and ends it with exactly one of the sbx_answer functions, which frees
 * it. A request that must wait is parked on a list of waiters; it then has a deadline (ETIMEDOUT)
 * and can be interrupted (EINTR, only because the kernel asked: an unasked EINTR makes callers
 * retry for ever).
 */
#ifndef SBX_FS_REQUEST_H
#define SBX_FS_REQUEST_H

#include <fuse_lowlevel.h>

#include <sbx/error.h>
#include <stdbool.h>
#include <stdint.h>

struct sbx_fs;
struct sbx_node;
struct sbx_handle;
struct sbx_request;

/* Requests that wait for one thing. Zero-initialised it is empty. */
struct sbx_waiters {
	struct sbx_request *first, *last;
	/* The last one left without an answer from us (interrupt, deadline): what it waited for may
	 * be cancelled. May be NULL. */
	void (*abandoned)(struct sbx_waiters *waiters);
	void *data;
};

typedef void (*sbx_resume_fn)(struct sbx_request *request, int result, const struct sbx_error *err);

struct sbx_request {
	struct sbx_fs *fs;
	fuse_req_t req;
	struct sbx_node *node;	   /* pinned until the answer; may be NULL */
	struct sbx_handle *handle; /* pinned until the answer; may be NULL */
	char *name;		   /* the op's name argument, owned; may be NULL */
	int64_t offset;
	size_t size;
	struct fuse_file_info fi;
	bool plus;  /* op-specific switch */
	void *data; /* op-specific; freed with data_free */
	void (*data_free)(void *data);

	int64_t deadline_ms; /* of the whole request; set at creation from the options */
	bool interrupted, hooked;
	sbx_resume_fn resume;
	struct sbx_waiters *waiting;
	struct sbx_request *prev, *next; /* on `waiting` */
	struct sbx_request *prev_parked, *next_parked;
};

struct sbx_requests {
	struct sbx_request *parked;
	unsigned parked_count;
	bool any_interrupted;
};

struct sbx_request *sbx_request_create(struct sbx_fs *fs, fuse_req_t req, struct sbx_node *node);

/* Waits on the list; resume is called from sbx_waiters_resume, or never if the request is ended by
 * interrupt, deadline or unmount. A resumed request may park again. */
void sbx_request_park(
	struct sbx_request *request, struct sbx_waiters *waiters, sbx_resume_fn resume);
/* Takes all off the list, then resumes each. */
void sbx_waiters_resume(struct sbx_waiters *waiters, int result, const struct sbx_error *err);

/* The one answer; each frees the request. */
void sbx_answer_error(struct sbx_request *request, int errnum); /* >= 0; 0 is plain success */
/* By a result of libsbx: its errno as a user meets it (design §6), and one debug line. */
void sbx_answer_failure(struct sbx_request *request, int result, const struct sbx_error *err);
/* Counts one lookup on node when the kernel took it. NULL node: a negative entry, for
 * entry.entry_timeout. */
void sbx_answer_entry(struct sbx_request *request, struct sbx_node *node);
void sbx_answer_absent(struct sbx_request *request, double negative_timeout_s);
void sbx_answer_attr(struct sbx_request *request, struct sbx_node *node);
/* The handle is destroyed when the kernel no longer wants it. */
void sbx_answer_open(struct sbx_request *request, struct sbx_handle *handle);
void sbx_answer_create(
	struct sbx_request *request, struct sbx_node *node, struct sbx_handle *handle);
void sbx_answer_bytes(struct sbx_request *request, const void *bytes, size_t size);
/* A range of a file that never changes; only where fs->splices. */
void sbx_answer_file(struct sbx_request *request, int fd, int64_t offset, size_t size);
void sbx_answer_written(struct sbx_request *request, size_t size);
/* For an answer that was sent by other means. */
void sbx_request_answered(struct sbx_request *request);
void sbx_answer_statfs(struct sbx_request *request, const struct statvfs *st);

/* Answers interrupted and late ones. Returns when the next deadline is, INT64_MAX for none. */
int64_t sbx_requests_sweep(struct sbx_fs *fs, int64_t now_ms);
void sbx_requests_fail_all(struct sbx_fs *fs, int errnum);

/* The errno of a libsbx failure as the mount answers it: ECANCELED, EINVAL and the like never reach
 * a user. */
int sbx_request_errno(int result, const struct sbx_error *err);

#endif
