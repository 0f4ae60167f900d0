/*
 * Small files of /proc, read whole.
 */
#ifndef RV_LOAD_PROC_FILE_H
#define RV_LOAD_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the file holds, up to `size` - 1 octets, and a terminator. False, with `text` empty: it could not
   be read. */
bool rv_proc_read(const char *path, char *text, size_t size);

/* The first number in the file; `otherwise` when there is none. */
uint64_t rv_proc_number(const char *path, uint64_t otherwise);

/* net.ipv4.ip_local_port_range, which holds for IPv6, too. False, with both 0: it is not known. */
bool rv_proc_port_range(uint32_t *first, uint32_t *last);

#endif
