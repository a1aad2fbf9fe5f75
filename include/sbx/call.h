/*
 * call.h: the bounds of one blocking call into libsbx: a deadline and a cancel token.
 *
 * Every call that may wait for an engine takes a struct sbx_call. The call ends with ETIMEDOUT when
 * its deadline passes and with ECANCELED soon after its token fires, whatever the engine does.
 */
#ifndef SBX_CALL_H
#define SBX_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_cancel;

struct sbx_call {
	int64_t deadline_ms; /* CLOCK_MONOTONIC milliseconds, as sbx_clock_ms counts; 0 = none */
	int64_t idle_ms; /* longest time without a byte either way; 0 = the transport's default (60
			    s) */
	struct sbx_cancel *cancel; /* may be NULL; borrowed */
};

/* A token, reference-counted, safe from any thread. Firing it is final. The caller owns one
 * reference, which sbx_cancel_unref gives back. */
struct sbx_cancel *sbx_cancel_create(void);
/* A token of its own that also fires when either of the two does (each may be NULL). */
struct sbx_cancel *sbx_cancel_create_child(struct sbx_cancel *first, struct sbx_cancel *second);
/* One reference more; returns cancel. NULL is fine. */
struct sbx_cancel *sbx_cancel_ref(struct sbx_cancel *cancel);
void sbx_cancel_unref(struct sbx_cancel *cancel); /* NULL is fine */
/* Ends every call that has it, and its children. Again, or of NULL: nothing happens. Takes a lock:
 * not for signal handlers. */
void sbx_cancel_fire(struct sbx_cancel *cancel);
bool sbx_cancel_fired(const struct sbx_cancel *cancel); /* NULL: false */
/* An eventfd that is readable once the token has fired; owned by the token, made when it is first
 * asked for. Never read it. -1 for NULL, and where the process has no descriptor left: look at
 * sbx_cancel_fired now and then. */
int sbx_cancel_fd(struct sbx_cancel *cancel);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t sbx_clock_ms(void);

/* A call of at most timeout_ms from now (<= 0: no deadline), with cancel borrowed. */
struct sbx_call sbx_call_within(int64_t timeout_ms, struct sbx_cancel *cancel);

/* The same call, ending at most timeout_ms from now: the earlier of both deadlines. */
struct sbx_call sbx_call_shorter(const struct sbx_call *call, int64_t timeout_ms);

/* Milliseconds left: INT64_MAX without a deadline, 0 when it has passed. */
int64_t sbx_call_left_ms(const struct sbx_call *call);

#endif
