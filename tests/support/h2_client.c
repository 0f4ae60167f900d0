/*
 * A client of HTTP/2 in memory (h2_client.h).
 */
#include "support/h2_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIELDS_MAX 64

/* ---- what comes --------------------------------------------------------------------------------- */

static uint32_t on_field(void *owner, void *stream, rv_bytes name, rv_bytes value)
{
    struct h2_exchange *exchange = stream;
    struct rv_buffer *fields = exchange->in_trailers ? &exchange->trailers : &exchange->fields;
    (void)owner;
    if (rv_bytes_equal(name, RV_LIT(":status"))) {
        uint64_t status = 0;
        assert_true(rv_bytes_to_u64(value, &status));
        exchange->status = (int)status;
        fields->len = 0;
    }
    assert_int_equal(rv_buffer_append(fields, name), 0);
    assert_int_equal(rv_buffer_append(fields, RV_LIT(": ")), 0);
    assert_int_equal(rv_buffer_append(fields, value), 0);
    assert_int_equal(rv_buffer_append(fields, RV_LIT("\n")), 0);
    return 0;
}

static void on_fields_end(void *owner, void *stream, bool last)
{
    struct h2_exchange *exchange = stream;
    (void)owner;
    if (exchange->status < 200)
        exchange->interims++;
    else
        exchange->in_trailers = true;
    exchange->ended |= last;
}

static void on_data(void *owner, void *stream, rv_bytes octets)
{
    struct h2_exchange *exchange = stream;
    (void)owner;
    assert_int_equal(rv_buffer_append(&exchange->content, octets), 0);
    if (exchange->held)
        exchange->held_len += octets.len;
    else
        rv_h2_consume(exchange->client->session, exchange->id, octets.len);
}

static void on_end(void *owner, void *stream)
{
    struct h2_exchange *exchange = stream;
    (void)owner;
    exchange->ended = true;
}

static void on_closed(void *owner, void *stream, uint32_t code)
{
    struct h2_exchange *exchange = stream;
    (void)owner;
    exchange->closed = true;
    exchange->code = code;
}

static void on_goaway(void *owner, uint32_t last, uint32_t code, rv_bytes debug)
{
    struct h2_client *client = owner;
    (void)debug;
    client->goaways++;
    client->goaway_last = last;
    client->goaway_code = code;
}

static void on_pong(void *owner)
{
    ((struct h2_client *)owner)->pongs++;
}

/* ---- what leaves -------------------------------------------------------------------------------- */

static enum rv_h2_pull on_pull(void *owner, void *stream, size_t room, size_t *octets)
{
    struct h2_exchange *exchange = stream;
    size_t left = exchange->upload.len;
    (void)owner;
    *octets = left < room ? left : room;
    if (*octets == 0 && !exchange->upload_ends) {
        exchange->upload_waits = true;
        return RV_H2_PULL_WAIT;
    }
    return *octets == left && exchange->upload_ends ? RV_H2_PULL_LAST : RV_H2_PULL_MORE;
}

static bool on_send(void *owner, void *stream, rv_bytes frame_head, size_t octets)
{
    struct h2_exchange *exchange = stream;
    rv_test *test = ((struct h2_client *)owner)->test;
    struct rv_buffer frame = {0};
    assert_int_equal(rv_buffer_append(&frame, frame_head), 0);
    if (octets > 0)
        assert_int_equal(rv_buffer_append(&frame, rv_slice(exchange->upload.ptr, octets)), 0);
    rv_error error = rv_test_send(test, rv_slice(frame.ptr, frame.len));
    rv_buffer_free(&frame);
    if (octets > 0)
        rv_buffer_consume(&exchange->upload, octets);
    return error == 0;
}

static const struct rv_h2_events events = {
    .on_field = on_field,
    .on_fields_end = on_fields_end,
    .on_data = on_data,
    .on_end = on_end,
    .on_pull = on_pull,
    .on_send = on_send,
    .on_closed = on_closed,
    .on_goaway = on_goaway,
    .on_pong = on_pong,
};

static bool send_all(struct h2_client *client)
{
    bool any = false;
    rv_bytes octets;
    int result;
    while (!client->mute && (result = rv_h2_output(client->session, &octets)) > 0) {
        any = true;
        if (result == RV_H2_OUTPUT_OCTETS && rv_test_send(client->test, octets) != 0)
            break;
    }
    return any;
}

static bool receive_all(struct h2_client *client)
{
    if (client->deaf)
        return false;
    rv_bytes octets = rv_test_received(client->test);
    if (octets.len == 0)
        return false;
    /* A call for the server moves what it has given: keep it. */
    char *copy = malloc(octets.len);
    assert_non_null(copy);
    memcpy(copy, octets.ptr, octets.len);
    if (rv_h2_receive(client->session, rv_slice(copy, octets.len)) != 0)
        client->broken = true;
    free(copy);
    return true;
}

void h2_client_pump(struct h2_client *client)
{
    bool sent, received;
    rv_test_settle(client->test);
    do {
        sent = send_all(client);
        received = receive_all(client);
    } while (sent || received);
}

/* ---- a client ----------------------------------------------------------------------------------- */

void h2_client_open(struct h2_client *client, rv_server *server, uint32_t stream_window,
                    uint32_t connection_window)
{
    struct rv_h2_settings settings = {
        .client = true,
        .stream_window_bytes = stream_window == 0 ? 65535 : stream_window,
        .connection_window_bytes = connection_window == 0 ? 65535 : connection_window,
        .head_bytes_max = 65536,
        .events = &events,
    };
    memset(client, 0, sizeof *client);
    client->test = rv_test_new(server);
    assert_non_null(client->test);
    client->session = rv_h2_new(&settings, client);
    assert_non_null(client->session);
    h2_client_pump(client);
}

void h2_client_close(struct h2_client *client)
{
    rv_test_free(client->test);
    rv_h2_free(client->session);
    for (unsigned i = 0; i < client->count; i++) {
        struct h2_exchange *exchange = client->exchanges[i];
        rv_buffer_free(&exchange->upload);
        rv_buffer_free(&exchange->fields);
        rv_buffer_free(&exchange->trailers);
        rv_buffer_free(&exchange->content);
        free(exchange);
    }
    memset(client, 0, sizeof *client);
}

/* "name: value\n…" */
static size_t split_fields(const char *text, struct rv_h2_field *fields, size_t room)
{
    size_t count = 0;
    while (text != NULL && *text != '\0') {
        const char *colon = strchr(text + 1, ':'), *end = strchr(text, '\n');
        assert_true(colon != NULL && end != NULL && colon < end && count < room);
        fields[count++] = (struct rv_h2_field){rv_slice(text, (size_t)(colon - text)),
                                               rv_slice(colon + 2, (size_t)(end - colon - 2))};
        text = end + 1;
    }
    return count;
}

struct h2_exchange *h2_ask(struct h2_client *client, const char *method, const char *path,
                           const char *fields, bool content)
{
    struct rv_h2_field all[FIELDS_MAX] = {{RV_LIT(":method"), rv_str(method)},
                                          {RV_LIT(":scheme"), RV_LIT("http")},
                                          {RV_LIT(":authority"), RV_LIT("test")},
                                          {RV_LIT(":path"), rv_str(path)}};
    size_t count = 4 + split_fields(fields, all + 4, FIELDS_MAX - 4);
    struct h2_exchange *exchange = calloc(1, sizeof *exchange);
    assert_true(exchange != NULL && client->count < H2_EXCHANGES_MAX);
    client->exchanges[client->count++] = exchange;
    exchange->client = client;
    assert_int_equal(rv_h2_request(client->session, all, count, content, exchange, &exchange->id),
                     0);
    return exchange;
}

struct h2_exchange *h2_get(struct h2_client *client, const char *path)
{
    struct h2_exchange *exchange = h2_ask(client, "GET", path, NULL, false);
    h2_client_pump(client);
    return exchange;
}

void h2_put(struct h2_exchange *exchange, rv_bytes octets, bool last)
{
    if (octets.len > 0)
        assert_int_equal(rv_buffer_append(&exchange->upload, octets), 0);
    exchange->upload_ends |= last;
    if (exchange->upload_waits && !exchange->closed) {
        exchange->upload_waits = false;
        rv_h2_resume(exchange->client->session, exchange->id);
    }
}

void h2_release(struct h2_exchange *exchange)
{
    exchange->held = false;
    rv_h2_consume(exchange->client->session, exchange->id, exchange->held_len);
    exchange->held_len = 0;
}

void h2_reset(struct h2_exchange *exchange, uint32_t code)
{
    rv_h2_reset(exchange->client->session, exchange->id, code);
}

void h2_raw(struct h2_client *client, uint8_t type, uint8_t flags, uint32_t stream,
            rv_bytes payload)
{
    char head[RV_H2_FRAME_HEAD_BYTES] = {(char)(payload.len >> 16),
                                         (char)(payload.len >> 8),
                                         (char)payload.len,
                                         (char)type,
                                         (char)flags,
                                         (char)(stream >> 24),
                                         (char)(stream >> 16),
                                         (char)(stream >> 8),
                                         (char)stream};
    struct rv_buffer frame = {0};
    assert_int_equal(rv_buffer_append(&frame, rv_slice(head, sizeof head)), 0);
    if (payload.len > 0)
        assert_int_equal(rv_buffer_append(&frame, payload), 0);
    rv_test_send(client->test, rv_slice(frame.ptr, frame.len)); /* it may have closed */
    rv_buffer_free(&frame);
}

/* ---- what is expected --------------------------------------------------------------------------- */

void h2_expect(const struct h2_exchange *exchange, int status, const char *content)
{
    assert_int_equal(exchange->status, status);
    assert_true(exchange->ended);
    assert_int_equal(exchange->content.len, strlen(content));
    if (exchange->content.len > 0)
        assert_memory_equal(exchange->content.ptr, content, exchange->content.len);
}

const char *h2_field(const struct rv_buffer *fields, const char *name)
{
    static char value[1024];
    size_t length = strlen(name);
    const char *at = fields->ptr, *end = at + fields->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if ((size_t)(stop - at) > length + 1 && memcmp(at, name, length) == 0 &&
            at[length] == ':') {
            snprintf(value, sizeof value, "%.*s", (int)(stop - at - (int)length - 2),
                     at + length + 2);
            return value;
        }
        at = stop + 1;
    }
    return NULL;
}
