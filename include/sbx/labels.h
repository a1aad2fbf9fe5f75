/*
 * labels.h: the names of the labels by which a container is a sandbox of ours. Names only: what
 * their values mean is read in engine/sandbox/recognise.c and written in engine/sandbox/labels.c.
 */
#ifndef SBX_LABELS_H
#define SBX_LABELS_H

#define SBX_LABEL_VERSION "sbxfs.version"
#define SBX_LABEL_SCOPE "sbxfs.scope"
#define SBX_LABEL_THREAD "sbxfs.thread"
#define SBX_LABEL_AGENT "sbxfs.agent"
#define SBX_LABEL_KIND "sbxfs.kind"
#define SBX_LABEL_WORKDIR "sbxfs.workdir"
#define SBX_LABEL_OUTPUTS "sbxfs.outputs"
#define SBX_LABEL_IN "sbxfs.in"
#define SBX_LABEL_ROLE "sbxfs.role"
#define SBX_LABEL_CALLER "sbxfs.label."
#define SBX_LABEL_CALL "sbxfs.call"	/* the call id, digested, of a call-scoped sandbox */
#define SBX_LABEL_NONCE "sbxfs.nonce"	/* tells one create from another under the same name */
#define SBX_LABEL_CONFIG "sbxfs.config" /* digest of what create asked for, for drift checks */
#define SBX_LABEL_EPHEMERAL "sbxfs.ephemeral" /* "1": made by run, reaped whatever its identity */

#endif
