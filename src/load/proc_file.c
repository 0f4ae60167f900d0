/*
 * Reading /proc (proc_file.h). A file there is made as it is read: what one read() does not take may not
 * fit what the next one gives, so the buffers of callers are large enough for one.
 */
#include "load/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool rv_proc_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t count = 0;
    text[0] = '\0';
    if (file < 0)
        return false;
    while (length < size - 1) {
        count = read(file, text + length, size - 1 - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        length += (size_t)count;
    }
    close(file);
    text[length] = '\0';
    return length > 0;
}

uint64_t rv_proc_number(const char *path, uint64_t otherwise)
{
    char text[64], *end;
    if (!rv_proc_read(path, text, sizeof text))
        return otherwise;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    return end == text || errno != 0 ? otherwise : number;
}

bool rv_proc_port_range(uint32_t *first, uint32_t *last)
{
    char text[64];
    if (rv_proc_read("/proc/sys/net/ipv4/ip_local_port_range", text, sizeof text) &&
        sscanf(text, "%" SCNu32 " %" SCNu32, first, last) == 2)
        return true;
    *first = *last = 0;
    return false;
}
