/*
 * The output queue (segment.h): linked segments, sent from the front, filled at the back.
 */
#include "io/segment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rv_output *rv_output_new(void)
{
    struct rv_output *output = calloc(1, sizeof *output);
    if (output != NULL)
        output->last = &output->first;
    return output;
}

static struct rv_segment *segment_new(struct rv_loop *loop, enum rv_segment_kind kind)
{
    struct rv_segment *segment = rv_slab_take(&loop->segments);
    if (segment == NULL)
        return NULL;
    memset(segment, 0, sizeof *segment);
    segment->kind = kind;
    segment->file = -1;
    return segment;
}

static void segment_free(struct rv_loop *loop, struct rv_segment *segment)
{
    if (segment->kind == RV_SEGMENT_COPIED)
        free(segment->octets);
    if (segment->kind == RV_SEGMENT_FILE && segment->release == NULL)
        close(segment->file);
    if (segment->release != NULL)
        segment->release(segment->ctx);
    rv_slab_give(&loop->segments, segment);
}

static void append(struct rv_output *output, struct rv_segment *segment)
{
    *output->last = segment;
    output->last = &segment->next;
    output->tail = segment;
    output->octets += segment->length;
}

void rv_output_clear(struct rv_loop *loop, struct rv_output *output)
{
    for (struct rv_segment *segment = output->first, *next; segment != NULL; segment = next) {
        next = segment->next;
        segment_free(loop, segment);
    }
    *output = (struct rv_output){.last = &output->first};
}

void rv_output_free(struct rv_loop *loop, struct rv_output *output)
{
    rv_output_clear(loop, output);
    free(output);
}

static struct rv_segment *copied_new(struct rv_loop *loop, size_t size)
{
    size_t capacity = size > RV_SEGMENT_COPY_BYTES ? size : RV_SEGMENT_COPY_BYTES;
    struct rv_segment *segment = segment_new(loop, RV_SEGMENT_COPIED);
    if (segment == NULL)
        return NULL;
    segment->octets = malloc(capacity);
    segment->capacity = capacity;
    if (segment->octets == NULL) {
        rv_slab_give(&loop->segments, segment);
        return NULL;
    }
    return segment;
}

char *rv_output_reserve(struct rv_loop *loop, struct rv_output *output, size_t size)
{
    struct rv_segment *tail = output->tail;
    if (tail != NULL && tail->kind == RV_SEGMENT_COPIED &&
        tail->capacity - tail->start - tail->length >= size)
        return tail->octets + tail->start + tail->length;
    struct rv_segment *segment = copied_new(loop, size);
    if (segment == NULL)
        return NULL;
    append(output, segment);
    return segment->octets;
}

void rv_output_commit(struct rv_output *output, size_t used)
{
    output->tail->length += used;
    output->octets += used;
}

rv_error rv_output_append_borrowed(struct rv_loop *loop, struct rv_output *output, rv_bytes octets,
                                   void (*release)(void *ctx), void *ctx)
{
    struct rv_segment *segment = segment_new(loop, RV_SEGMENT_BORROWED);
    if (segment == NULL)
        return RV_ENOMEM;
    segment->octets = (char *)octets.ptr; /* only ever read */
    segment->length = octets.len;
    segment->release = release;
    segment->ctx = ctx;
    append(output, segment);
    return 0;
}

rv_error rv_output_append_file(struct rv_loop *loop, struct rv_output *output, int file,
                               uint64_t offset, uint64_t length)
{
    struct rv_segment *segment = segment_new(loop, RV_SEGMENT_FILE);
    if (segment == NULL)
        return RV_ENOMEM;
    segment->file = file;
    segment->start = offset;
    segment->length = length;
    append(output, segment);
    return 0;
}

rv_error rv_output_append_lent_file(struct rv_loop *loop, struct rv_output *output, int file,
                                    uint64_t offset, uint64_t length, void (*release)(void *ctx),
                                    void *ctx)
{
    rv_error error = rv_output_append_file(loop, output, file, offset, length);
    if (error != 0)
        return error;
    output->tail->release = release;
    output->tail->ctx = ctx;
    return 0;
}

rv_error rv_output_prepend(struct rv_loop *loop, struct rv_output *output, rv_bytes octets)
{
    struct rv_segment *segment = copied_new(loop, octets.len);
    if (segment == NULL)
        return RV_ENOMEM;
    memcpy(segment->octets, octets.ptr, octets.len);
    segment->length = octets.len;
    segment->next = output->first;
    if (output->first == NULL) {
        output->last = &segment->next;
        output->tail = segment;
    }
    output->first = segment;
    output->octets += octets.len;
    return 0;
}

int rv_output_gather(const struct rv_output *output, struct iovec *pieces, int room)
{
    int count = 0;
    for (struct rv_segment *segment = output->first;
         segment != NULL && segment->kind != RV_SEGMENT_FILE && count < room;
         segment = segment->next) {
        if (segment->length == 0)
            continue;
        pieces[count++] = (struct iovec){segment->octets + segment->start, segment->length};
    }
    return count;
}

void rv_output_consume(struct rv_loop *loop, struct rv_output *output, uint64_t count)
{
    output->octets -= count;
    while (output->first != NULL && output->first->length <= count) {
        struct rv_segment *segment = output->first;
        count -= segment->length;
        output->first = segment->next;
        if (output->first == NULL) {
            output->last = &output->first;
            output->tail = NULL;
        }
        segment_free(loop, segment);
    }
    if (output->first != NULL) {
        output->first->start += count;
        output->first->length -= count;
    }
}
