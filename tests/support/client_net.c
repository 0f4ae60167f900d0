/*
 * Streams that connect (client_net.h).
 */
#include "support/client_net.h"

#include "io/backend.h"
#include "support/sockets.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct client_net client_net;

int client_net_set_up(void **state)
{
    (void)state;
    memset(&client_net, 0, sizeof client_net);
    client_net.peer = client_net.listening = -1;
    assert_int_equal(rv_loop_open(&client_net.loop, &rv_backend_epoll, NULL), 0);
    client_net.loop.output_low_bytes = 100;
    return 0;
}

int client_net_tear_down(void **state)
{
    (void)state;
    if (client_net.opened)
        stream_owner_end(&client_net.owner);
    if (client_net.peer >= 0)
        close(client_net.peer);
    client_stop_listening();
    assert_int_equal(client_net.loop.segments.taken, 0);
    rv_loop_close(&client_net.loop);
    return 0;
}

void client_listen(const char *text)
{
    static const struct rv_listen_options options = {.backlog = 16};
    char why[RV_WHY_MAX];
    assert_int_equal(rv_address_parse(text, &client_net.address, why), 0);
    assert_int_equal(rv_address_listen(&client_net.address, &options, &client_net.listening, why),
                     0);
    fcntl(client_net.listening, F_SETFL, 0); /* accept waits */
}

void client_stop_listening(void)
{
    if (client_net.listening >= 0)
        rv_address_close(&client_net.address, client_net.listening);
    client_net.listening = -1;
}

struct rv_connect_to client_there(void)
{
    return (struct rv_connect_to){.peer = (struct sockaddr *)&client_net.address.sockaddr,
                                  .peer_length = client_net.address.length};
}

int client_begin(const struct rv_connect_to *to)
{
    int error_number = stream_owner_connect(&client_net.owner, &client_net.loop, to);
    client_net.opened = error_number == 0;
    return error_number;
}

void client_begin_and_accept(void)
{
    struct rv_connect_to to = client_there();
    assert_int_equal(client_begin(&to), 0);
    client_net.peer = accept4(client_net.listening, NULL, NULL, SOCK_CLOEXEC);
    assert_true(client_net.peer >= 0);
}

void client_connect(const char *listen)
{
    client_listen(listen);
    client_begin_and_accept();
    client_expect_calls("O");
}

void client_peer_closes(void)
{
    close(client_net.peer);
    client_net.peer = -1;
}

void client_peer_resets(void)
{
    hang_up(client_net.peer);
    client_net.peer = -1;
}

void client_settle(void)
{
    for (int i = 0; i < 5; i++)
        rv_loop_turn(&client_net.loop, 10);
}

void client_expect_calls(const char *calls)
{
    for (int i = 0; i < 100 && strcmp(client_net.owner.calls, calls) != 0; i++)
        rv_loop_turn(&client_net.loop, 10);
    assert_string_equal(client_net.owner.calls, calls);
}

void client_expect_data(const char *text)
{
    assert_int_equal(client_net.owner.data.len, strlen(text));
    if (client_net.owner.data.len > 0)
        assert_memory_equal(client_net.owner.data.ptr, text, strlen(text));
}

void client_expect_at_peer(const char *text)
{
    char octets[64];
    assert_int_equal(recv(client_net.peer, octets, sizeof octets, 0), (ssize_t)strlen(text));
    assert_memory_equal(octets, text, strlen(text));
}
