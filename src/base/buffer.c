/*
 * The growable buffer. Its block is capacity + RV_SCAN_PADDING octets and at least doubles when it
 * grows, so that n appended octets cost O(n). Under AddressSanitizer what lies behind the padding
 * is out of bounds from a consume until the next reserve.
 */
#include "base/buffer.h"

#include "base/poison.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE_MIN = 256 };

static size_t block_size(const struct rv_buffer *buffer)
{
    return buffer->capacity + RV_SCAN_PADDING;
}

rv_error rv_buffer_reserve(struct rv_buffer *buffer, size_t more)
{
    if (buffer->ptr != NULL)
        rv_unpoison(buffer->ptr, block_size(buffer));
    if (more <= buffer->capacity - buffer->len)
        return RV_OK;

    size_t wanted;
    if (__builtin_add_overflow(buffer->len, more, &wanted))
        return RV_ENOMEM;
    if (wanted < buffer->capacity * 2)
        wanted = buffer->capacity * 2;
    if (wanted < BLOCK_SIZE_MIN - RV_SCAN_PADDING)
        wanted = BLOCK_SIZE_MIN - RV_SCAN_PADDING;
    if (wanted > PTRDIFF_MAX - RV_SCAN_PADDING)
        return RV_ENOMEM;

    char *block = realloc(buffer->ptr, wanted + RV_SCAN_PADDING);
    if (block == NULL)
        return RV_ENOMEM;
    buffer->ptr = block;
    buffer->capacity = wanted;
    return RV_OK;
}

rv_error rv_buffer_append(struct rv_buffer *buffer, rv_bytes bytes)
{
    rv_error error = rv_buffer_reserve(buffer, bytes.len);
    if (error != RV_OK || bytes.len == 0)
        return error;
    memcpy(buffer->ptr + buffer->len, bytes.ptr, bytes.len);
    buffer->len += bytes.len;
    return RV_OK;
}

void rv_buffer_consume(struct rv_buffer *buffer, size_t count)
{
    assert(count <= buffer->len);
    if (count == 0)
        return;
    buffer->len -= count;
    if (buffer->len > 0)
        memmove(buffer->ptr, buffer->ptr + count, buffer->len);
    rv_poison(buffer->ptr + buffer->len + RV_SCAN_PADDING, buffer->capacity - buffer->len);
}

void rv_buffer_free(struct rv_buffer *buffer)
{
    free(buffer->ptr);
    *buffer = (struct rv_buffer){0};
}
