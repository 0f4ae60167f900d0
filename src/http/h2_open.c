/*
 * Making and freeing a session (h2_session.h): the library's options and memory, and the first SETTINGS.
 */
#include "http/h2_memory.h"
#include "http/h2_session.h"

#include <stdlib.h>
#include <string.h>

/* Of fields that this side sends in one section, encoded. */
#define HEAD_SENT_BYTES_MAX (16 * 1024 * 1024)

/* SETTINGS_MAX_FRAME_SIZE when nothing is said (RFC 9113 section 6.5.2). */
#define FRAME_BYTES_MIN 16384

static nghttp2_option *options_new(const struct rv_h2_settings *settings)
{
    nghttp2_option *option;
    if (nghttp2_option_new(&option) != 0)
        return NULL;
    nghttp2_option_set_no_auto_window_update(option, !settings->grows_windows);
    nghttp2_option_set_no_http_messaging(option, settings->unchecked);
    nghttp2_option_set_builtin_recv_extension_type(option, RV_H2_PRIORITY_UPDATE);
    /* It counts a frame anew for each piece of its head. The owner counts frames. */
    nghttp2_option_set_max_continuations(option, SIZE_MAX);
    nghttp2_option_set_max_send_header_block_length(option, HEAD_SENT_BYTES_MAX);
    return option;
}

/* ---- the session's memory ---------------------------------------------------------------------------------- */

static void *take_memory(size_t size, void *memory)
{
    return rv_h2_memory_take(memory, size);
}

static void give_memory(void *block, void *memory)
{
    rv_h2_memory_give(memory, block);
}

static void *take_zeroed(size_t count, size_t size, void *memory)
{
    size_t octets;
    void *block =
        __builtin_mul_overflow(count, size, &octets) ? NULL : rv_h2_memory_take(memory, octets);
    return block == NULL ? NULL : memset(block, 0, octets);
}

static void *resize_memory(void *block, size_t size, void *memory)
{
    return rv_h2_memory_resize(memory, block, size);
}

static rv_error open_session(struct rv_h2 *h2, const struct rv_h2_settings *settings)
{
    struct rv_h2_memory *memory = settings->memory;
    bool client = settings->client;
    nghttp2_mem source = {memory, take_memory, give_memory, take_zeroed, resize_memory};
    nghttp2_mem *from = memory == NULL ? NULL : &source;
    nghttp2_session_callbacks *callbacks = rv_h2_callbacks_new(client);
    nghttp2_option *option = options_new(settings);
    int result = NGHTTP2_ERR_NOMEM;
    if (callbacks != NULL && option != NULL)
        result = client ? nghttp2_session_client_new3(&h2->session, callbacks, h2, option, from)
                        : nghttp2_session_server_new3(&h2->session, callbacks, h2, option, from);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return rv_h2_translate(result);
}

static rv_error submit_settings(struct rv_h2 *h2, const struct rv_h2_settings *settings)
{
    nghttp2_settings_entry entries[6];
    size_t count = 0;
    entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                                settings->stream_window_bytes};
    entries[count++] =
        (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings->head_bytes_max};
    if (settings->frame_bytes_max > FRAME_BYTES_MIN)
        entries[count++] =
            (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings->frame_bytes_max};
    if (settings->client) {
        entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
    } else {
        entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                                    settings->streams_max};
    }
    /* RFC 9218 section 2.1.1: the tree of RFC 7540 is not followed. */
    entries[count++] = (nghttp2_settings_entry){NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1};
    int result = nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, entries, count);
    if (result == 0)
        result = nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0,
                                                       (int32_t)settings->connection_window_bytes);
    return rv_h2_translate(result);
}

struct rv_h2 *rv_h2_new(const struct rv_h2_settings *settings, void *owner)
{
    struct rv_h2 *h2 = calloc(1, sizeof *h2);
    if (h2 == NULL)
        return NULL;
    h2->events = settings->events;
    h2->owner = owner;
    h2->is_client = settings->client;
    h2->grows_windows = settings->grows_windows;
    h2->field_flags = settings->keeps_fields
                          ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE
                          : NGHTTP2_NV_FLAG_NONE;
    h2->watch.preface_left = settings->client ? 0 : RV_H2_PREFACE_BYTES;
    if (open_session(h2, settings) != 0 || submit_settings(h2, settings) != 0) {
        rv_h2_free(h2);
        return NULL;
    }
    return h2;
}

void rv_h2_free(struct rv_h2 *h2)
{
    if (h2 == NULL)
        return;
    nghttp2_session_del(h2->session);
    free(h2);
}
