/*
 * descriptors.h: the few descriptors that nobody's open file may take.
 *
 * A freeze window is closed over a connection to the engine, and a record of what is owed is
 * written to a file: a daemon whose every descriptor were held by its readers could do neither, and
 * the guest would stay frozen.
 */
#ifndef SBX_FS_DESCRIPTORS_H
#define SBX_FS_DESCRIPTORS_H

/* For a file that is held for somebody: fd as it is, or, where it is one of the last 32 (of few
 * descriptors, of the last half), closed and -1 with EMFILE. A negative fd passes, with its errno.
 * Any thread. */
int sbx_descriptor_spared(int fd);

#endif
