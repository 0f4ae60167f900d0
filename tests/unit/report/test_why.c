/*
 * Facts about the findings: each cause is named when the evidence proves it, and its twin, in which one piece
 * of the evidence is missing, is not.
 */
#include "report/why.h"

#include "made.h"

#include <errno.h>

static const struct rv_finding *find(const char *id)
{
    static struct rv_finding findings[RV_FINDINGS_MAX];
    uint32_t count = rv_why(&made, findings);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(findings[i].id, id) == 0)
            return &findings[i];
    return NULL;
}

static void expect(const char *id, const char *text, const char *remedy)
{
    const struct rv_finding *finding = find(id);
    assert_non_null(finding);
    assert_string_equal(finding->text, text);
    assert_string_equal(finding->remedy, remedy);
}

static void expect_not(const char *id)
{
    const struct rv_finding *finding = find(id);
    if (finding != NULL)
        fail_msg("%s: %s", id, finding->text);
}

static void count_as(enum rv_kernel_counter counter, int64_t count)
{
    made.evidence.counters[counter] = count;
}

static void a_good_run_needs_no_reasons(void **state)
{
    (void)state;
    struct rv_finding findings[RV_FINDINGS_MAX];
    if (rv_why(&made, findings) > 0)
        fail_msg("%s", findings[0].text);
}

static void a_result_of_nothing_needs_no_reasons(void **state)
{
    (void)state;
    struct rv_finding findings[RV_FINDINGS_MAX];
    rv_load_result_free(&made);
    assert_int_equal(rv_load_result_init(&made), 0);
    assert_int_equal(rv_why(&made, findings), 0);
}

/* ---- nobody there -------------------------------------------------------------------------------------- */

static void nobody_listens(void **state)
{
    (void)state;
    made.connects = 0;
    made_failures(RV_FAILURE_CONNECT_REFUSED, 12, 100);
    made_errno(RV_FAILURE_CONNECT_REFUSED, ECONNREFUSED, 12);
    expect(
        "refused",
        "No listener: all 12 connects to 127.0.0.1 port 8910 were refused, nobody listens there.",
        "Start the server, or check host and port.");
}

static void a_run_that_was_given_up_says_so(void **state)
{
    (void)state;
    made.connects = 0;
    made.end = RV_END_UNREACHED;
    made_failures(RV_FAILURE_CONNECT_REFUSED, 12, 100);
    expect(
        "refused",
        "No listener: all 12 connects to 127.0.0.1 port 8910 were refused, nobody listens there. "
        "So the run was given up.",
        "Start the server, or check host and port.");
}

/* The good run's answers took 600 us. */
static void requests_that_were_let_be(void **state)
{
    (void)state;
    made.evidence.server.queue_peak = 57;
    made_unfinished(100, 2000000);
    made_unfinished(7, 400);
    expect(
        "unanswered",
        "No answer: 100 requests had none when the run ended, the oldest after 2.00 s, while the "
        "slowest answer took 600 us. The accept queue held up to 57 connections that the server "
        "had not accepted.",
        "See what the server does with them: it has not accepted them, waits for something, or "
        "has as many under way as it can (threads, a pool, connections, descriptors).");
}

static void nothing_was_answered_at_all(void **state)
{
    (void)state;
    made_no_answers();
    made.evidence.server.queue_peak = 0;
    made_unfinished(1, 1000000);
    expect("unanswered",
           "No answer: 1 request had none when the run ended, the oldest after 1.00 s.",
           "See what the server does with them: it has not accepted them, waits for something, or "
           "has as many under way as it can (threads, a pool, connections, descriptors).");
}

static void requests_that_the_end_has_caught_are_not_let_be(void **state)
{
    (void)state;
    made_unfinished(64, 400000);
    expect_not("unanswered");
    made_answers(200, 1, 3000000, 0); /* such waits are usual here */
    made_unfinished(64, 4000000);
    expect_not("unanswered");
}

static void a_listener_that_was_gone_for_a_while(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_REFUSED, 12, 100);
    expect("refused",
           "The listener was gone for a while: 12 connects to 127.0.0.1 port 8910 were refused, 64 "
           "others were taken.",
           "See whether the server ended or was started again.");
}

static void a_unix_socket_that_is_not_there(void **state)
{
    (void)state;
    made.connects = 0;
    made_failures(RV_FAILURE_CONNECT_REFUSED, 3, 100);
    made_errno(RV_FAILURE_CONNECT_REFUSED, ENOENT, 3);
    expect("refused", "No listener: 3 connects found no unix socket at the path.",
           "Start the server, or check the path.");
}

static void other_failed_connects_are_not_refusals(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_UNREACHABLE, 12, 100);
    expect_not("refused");
    expect("unreachable", "No way to the host: 12 connects found it unreachable.",
           "Check the address, the route and the firewall.");
}

/* ---- scarce -------------------------------------------------------------------------------------------- */

static void ports_used_up(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_PORTS, 7, 10);
    made.open_peak = 28232;
    made.evidence.time_wait_after = 300;
    expect("ports_exhausted",
           "Source ports used up on this machine: 7 connects found none free (EADDRNOTAVAIL), with "
           "28232 connections open at the most; net.ipv4.ip_local_port_range 32768-60999 gives "
           "28232 for each source address, and 300 sockets were in TIME-WAIT at the end.",
           "Use more source addresses (--source 127.0.0.0/8 to this machine), keep connections "
           "alive, or widen net.ipv4.ip_local_port_range.");
}

static void a_source_address_that_is_not_here(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_PORTS, 7, 10);
    made.connects = 0;
    expect("ports_exhausted",
           "No source address: all 7 connects found it was not to be had here (EADDRNOTAVAIL).",
           "Give --source an address of this machine (`ip address`).");
}

static void many_connections_are_not_ports_used_up(void **state)
{
    (void)state;
    made.open_peak = 28232;
    made.evidence.time_wait_after = 28000;
    expect_not("ports_exhausted");
}

static void descriptors_used_up_here(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_DESCRIPTORS, 7, 10);
    made.open_peak = 19990;
    expect("descriptors_here",
           "Descriptors used up in this process: 7 connects got none, with 19990 connections open "
           "at the most and a limit of 20000.",
           "Raise the limit (`ulimit -n`) or ask for fewer clients (-c).");
    expect_not("descriptors_at_server");
}

static void descriptors_used_up_at_the_server(void **state)
{
    (void)state;
    made.evidence.server.descriptors = 64;
    made.evidence.server.descriptor_limit = 64;
    expect("descriptors_at_server",
           "The server is out of descriptors: xserver (pid 4711) had 64 of 64 open, and "
           "connections waited in its accept queue (peak 60, limit 128).",
           "Raise its limit before it starts (`ulimit -n`, or LimitNOFILE= of its systemd unit).");
    expect_not("descriptors_here");
}

static void a_server_with_descriptors_left_is_not_out_of_them(void **state)
{
    (void)state;
    made.evidence.server.descriptors = 62;
    made.evidence.server.descriptor_limit = 64;
    expect_not("descriptors_at_server");
}

static void a_server_at_its_limit_with_an_empty_queue_has_enough(void **state)
{
    (void)state;
    made.evidence.server.descriptor_limit = made.evidence.server.descriptors = 64;
    made.evidence.server.queue_peak = 0;
    expect_not("descriptors_at_server");
}

/* ---- queues -------------------------------------------------------------------------------------------- */

static void overflow(int64_t drops)
{
    made.evidence.server.queue_peak = 129;
    made.evidence.server.queue_full_samples = 40;
    made.evidence.server.queue_drops = drops;
    count_as(RV_KERNEL_LISTEN_OVERFLOWS, 7412);
    count_as(RV_KERNEL_LISTEN_DROPS, 7413);
    count_as(RV_KERNEL_SYN_RETRANS, 1699);
}

static void an_accept_queue_that_overflowed(void **state)
{
    (void)state;
    overflow(7410);
    rv_hist_record_many(&made.connect, 1003000, 1480);
    rv_hist_record_many(&made.connect, 3020000, 212);
    rv_hist_record_many(&made.connect, 7100000, 7);
    rv_hist_record_many(&made.connect, 1700000,
                        5); /* between the windows: slow for another reason */
    expect("accept_queue_overflow",
           "Accept queue overflow: listener 127.0.0.1:8910 has a backlog of 128, the longest queue "
           "seen was 129 (full in 40 of 500 looks), and the kernel dropped 7413 SYNs or last ACKs "
           "of handshakes (ListenDrops; ListenOverflows +7412, TCPSynRetrans +1699); the "
           "listener's own drop counter rose by 7410. 1480 connects took 1 s, 212 took 3 s, 7 took "
           "7 s: when a dropped SYN is sent again.",
           "Raise the backlog of listen() (now 128; net.core.somaxconn allows 4096), or accept "
           "faster.");
}

static void an_overflow_without_a_drop_at_this_listener_is_anothers(void **state)
{
    (void)state;
    overflow(0);
    rv_hist_record_many(&made.connect, 1003000, 1480);
    expect_not("accept_queue_overflow");
}

/* TCP_DEFER_ACCEPT: the listener counts the last ACK of each handshake. */
static void acks_that_were_put_off_are_no_overflow(void **state)
{
    (void)state;
    overflow(64);
    made.evidence.server.queue_peak = 0;
    made.connects = 64;
    count_as(RV_KERNEL_DEFER_ACCEPT_DROP, 64);
    expect_not("accept_queue_overflow");
    made.evidence.server.queue_drops = 65;
    assert_non_null(find("accept_queue_overflow"));
    count_as(RV_KERNEL_DEFER_ACCEPT_DROP, 70); /* of others, too */
    assert_non_null(find("accept_queue_overflow"));
    made.evidence.server.queue_drops = 64;
    made.evidence.server.queue_peak = 129;
    assert_non_null(find("accept_queue_overflow"));
}

static void an_overflow_without_a_listener_here_is_anothers(void **state)
{
    (void)state;
    overflow(7410);
    made.evidence.server = (struct rv_server_evidence){0};
    expect_not("accept_queue_overflow");
}

static void drops_without_an_overflow_have_another_cause(void **state)
{
    (void)state;
    overflow(7410);
    count_as(RV_KERNEL_LISTEN_OVERFLOWS, 0);
    made.evidence.server.queue_peak = 5;
    expect_not("accept_queue_overflow");
}

static void an_old_kernel_that_does_not_count_by_listener(void **state)
{
    (void)state;
    overflow(-1);
    const struct rv_finding *finding = find("accept_queue_overflow");
    assert_non_null(finding);
    assert_null(strstr(finding->text, "drop counter"));
    made.evidence.server.queue_peak = 128;
    expect_not("accept_queue_overflow");
}

static void a_backlog_that_somaxconn_has_cut(void **state)
{
    (void)state;
    overflow(1);
    made.evidence.server.backlog = 4096;
    made.evidence.server.queue_peak = 4097;
    assert_string_equal(find("accept_queue_overflow")->remedy,
                        "The backlog is what net.core.somaxconn allows (4096): raise both, accept "
                        "faster, or connect more slowly (--connect-rate).");
}

static void the_last_ack_of_a_handshake_that_was_dropped(void **state)
{
    (void)state;
    overflow(9);
    rv_hist_record_many(&made.wait, 205000, 4);
    rv_hist_record_many(&made.wait, 610000, 2);
    assert_non_null(strstr(find("accept_queue_overflow")->text,
                           "No connect waited, but 6 answers began 0.2, 0.6, 1.4 or 3 s late: the "
                           "last ACK of the handshake was dropped"));
    rv_hist_record_many(&made.connect, 1001000, 1);
    assert_null(strstr(find("accept_queue_overflow")->text, "No connect waited"));
    assert_non_null(strstr(find("accept_queue_overflow")->text, " 1 connect took 1 s: when"));
}

static void connects_that_gave_up_in_front_of_a_full_queue(void **state)
{
    (void)state;
    overflow(50);
    made_failures(RV_FAILURE_CONNECT_TIMEOUT, 20, 500000);
    assert_non_null(strstr(find("accept_queue_overflow")->text, " 20 gave up before."));
    expect_not("connect_timeouts");
}

static void connects_that_nobody_answered(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_TIMEOUT, 20, 500000);
    made.evidence.server = (struct rv_server_evidence){0};
    count_as(RV_KERNEL_SYN_RETRANS, 41);
    expect("connect_timeouts",
           "Connects without an answer: 20 gave up, 64 others were opened (TCPSynRetrans +41 on "
           "this machine).",
           "Look at the accept queue and the firewall on the server's machine.");
    made.connects = 0;
    assert_string_equal(find("connect_timeouts")->remedy,
                        "Look for a firewall that drops silently, or a wrong address.");
}

static void a_unix_listener_that_is_full(void **state)
{
    (void)state;
    snprintf(made.evidence.server.address, sizeof made.evidence.server.address, "unix:/run/x");
    made.evidence.server.queue_drops = -1;
    made.evidence.server.queue_peak = 129;
    made_failures(RV_FAILURE_CONNECT_OTHER, 30, 10);
    expect_not("accept_queue_full");
    made_errno(RV_FAILURE_CONNECT_OTHER, EAGAIN, 30);
    expect("accept_queue_full",
           "Accept queue full: listener unix:/run/x has a backlog of 128, the longest queue seen "
           "was 129, and 30 connects were turned away (EAGAIN).",
           "Raise the backlog of listen() (now 128; net.core.somaxconn allows 4096), or accept "
           "faster.");
    count_as(RV_KERNEL_LISTEN_OVERFLOWS, 3);
    expect_not("accept_queue_overflow");
}

static void fill_syn_queue(int64_t dropped, int64_t cookies)
{
    made.connects_tried = 129;
    made.evidence.server.queue_drops = dropped;
    count_as(RV_KERNEL_REQ_QUEUE_FULL_COOKIES, cookies);
    count_as(RV_KERNEL_REQ_QUEUE_FULL_DROP, dropped);
}

static void a_syn_queue_that_overflowed(void **state)
{
    (void)state;
    fill_syn_queue(2, 33);
    expect("syn_queue_overflow",
           "SYN queue overflow: 2 SYNs were dropped (TCPReqQFullDrop) and 33 answered with a "
           "cookie (TCPReqQFullDoCookies), because more handshakes were under way than listener "
           "127.0.0.1:8910 may have (the lower of its backlog 128 and net.ipv4.tcp_max_syn_backlog "
           "2048).",
           "Raise the backlog of listen() and net.ipv4.tcp_max_syn_backlog.");
}

static void a_syn_queue_overflow_that_this_run_cannot_have_made(void **state)
{
    (void)state;
    fill_syn_queue(2, 33);
    made.connects_tried = 128;
    expect_not("syn_queue_overflow");
    made.connects_tried = 129;
    made.evidence.server.found = false;
    expect_not("syn_queue_overflow");
    made.evidence.server.found = true;
    made.evidence.server.queue_drops = 0;
    assert_non_null(strstr(find("syn_queue_overflow")->text, ": 0 SYNs were dropped"));
    count_as(RV_KERNEL_REQ_QUEUE_FULL_COOKIES, 130); /* more than were sent */
    expect_not("syn_queue_overflow");
}

static void an_accept_queue_overflow_is_no_syn_queue_overflow(void **state)
{
    (void)state;
    overflow(10);
    made.connects_tried = 1000;
    expect_not("syn_queue_overflow");
}

/* ---- no good answer -------------------------------------------------------------------------------------- */

static void answers_that_took_too_long(void **state)
{
    (void)state;
    made.evidence.server.cpu_us = 100000;
    made_failures(RV_FAILURE_WAIT_TIMEOUT, 5, 5000000);
    made_failures(RV_FAILURE_BODY_TIMEOUT, 2, 5000000);
    expect("timeouts",
           "No answer in time: 7 requests were given up after 5.00 s: 5 before the first byte, 0 "
           "in the head, 2 in the body, 0 while sending. The server used 0.0100 CPUs meanwhile.",
           "The server waits for something: look for a lock, a pool that is used up, or a service "
           "behind it.");
    made.evidence.server.cpu_us = 9000000;
    assert_string_equal(find("timeouts")->remedy,
                        "Ask for less (fewer clients, a lower rate), or look into the server.");
}

static void a_connect_that_took_too_long_is_another_matter(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_CONNECT_TIMEOUT, 5, 5000000);
    expect_not("timeouts");
}

static void answers_that_were_broken_off(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_WAIT_RESET, 4, 10);
    made_failures(RV_FAILURE_WAIT_CLOSED, 3, 10);
    made_failures(RV_FAILURE_HEAD_CLOSED, 2, 10);
    made_failures(RV_FAILURE_BODY_SHORT, 1, 10);
    expect("broken_off",
           "The server broke off 10 requests: 7 before the first byte, 2 in the head, 1 in the "
           "body (4 by a reset, 6 by closing).",
           "Look into the server's error log: a crash, a limit, or a time-out of its own.");
    expect_not("not_http");
}

static void answers_that_are_wrong(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_HEAD_MALFORMED, 4, 10);
    made_failures(RV_FAILURE_BODY_LENGTH, 3, 10);
    expect("not_http",
           "Answers that are wrong: 4 heads were not HTTP/1, 0 had a bad chunk, 0 went on behind "
           "their end, 3 were not of the length asked for.",
           "Check that the port speaks plain HTTP/1, and what it sends (`curl -v`).");
    expect_not("broken_off");
}

static void answers_that_are_all_errors(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(404, 1000000, 600, 0);
    expect("error_answers", "All 1000000 answers were errors: 1000000 x 404.",
           "Check the path and what the server wants (credentials, a field): these are the times "
           "of its error page.");
}

static void some_answers_that_are_errors(void **state)
{
    (void)state;
    made_answers(500, 3, 600, 0);
    made_answers(503, 40, 600, 0);
    expect("error_answers", "43 answers were errors: 3 x 500, 40 x 503.",
           "Look into the server's log; under \"Latency\" the status classes stand apart.");
}

static void redirections_are_no_errors(void **state)
{
    (void)state;
    made_answers(301, 100, 600, 0);
    expect_not("error_answers");
}

/* ---- connections ----------------------------------------------------------------------------------------- */

static void a_keep_alive_race(void **state)
{
    (void)state;
    made.races = 1;
    made.reopened = 9;
    expect("keep_alive_race",
           "Keep-alive race: 1 request met a connection that the server was just closing, and was "
           "sent again on a new one (9 connections were opened again in all).",
           "Let the server keep idle connections longer than clients do, or let it say "
           "\"Connection: close\" before it closes.");
    made.races = 0;
    expect_not("keep_alive_race");
}

static void a_server_without_keep_alive(void **state)
{
    (void)state;
    made.reopened = 950000;
    made.connects = 950064;
    expect("no_keep_alive",
           "No keep-alive: the server closed the connection after nearly every answer, so that "
           "950000 of 950064 had to be opened again (1000000 answers).",
           "Switch keep-alive on in the server, or measure with --no-keepalive on purpose.");
    made.close_each = true;
    expect_not("no_keep_alive");
    made.close_each = false;
    made.reopened = 800000;
    made.connects = 800064;
    expect_not("no_keep_alive");
    made.answered = 55; /* one race among the five that could have been kept */
    made.connects = 51;
    made.reopened = 1;
    expect_not("no_keep_alive");
}

/* ---- slow ------------------------------------------------------------------------------------------------ */

static void made_series(uint32_t count, uint64_t usual, uint32_t odd, uint64_t of_odd)
{
    made.series = calloc(count, sizeof *made.series);
    made.series_count = count;
    made.period_s = 1;
    for (uint32_t i = 0; i < count; i++)
        made.series[i].answered = i == odd ? of_odd : usual;
}

static void a_stall_that_hit_all_clients(void **state)
{
    (void)state;
    made_series(10, 100000, 4, 100);
    made_answers(200, 64, 990000, 0);
    expect("stall",
           "One stall of 990 ms hit all: 64 of 64 clients waited for it at the same time (100100 "
           "answers in the 2 s around it, where 200000 are usual).",
           "Look for a pause of the whole server: garbage collection, fsync, a lock. Users who "
           "come on their own would have seen it more often: run with --rate.");
}

static void a_stall_across_the_end_of_a_period(void **state)
{
    (void)state;
    made_series(10, 100000, 4, 50000);
    made.series[5].answered = 51000;
    made_answers(200, 64, 990000, 0);
    assert_non_null(find("stall"));
}

static void slow_answers_of_some_clients_are_no_stall(void **state)
{
    (void)state;
    made_series(10, 100000, 4, 100);
    made_answers(200, 32, 990000, 0);
    expect_not("stall");
}

static void slow_answers_without_a_quiet_period_are_no_stall(void **state)
{
    (void)state;
    made_series(10, 100000, 4, 60000);
    made_answers(200, 64, 990000, 0);
    expect_not("stall");
}

/* A pool of two that sleeps 20 ms: 10 clients, 100 answers a second. */
static void made_pool(void)
{
    made_no_answers();
    made_answers(200, 2, 20000, 0);
    made_answers(200, 998, 100000, 0);
    made.clients = 10;
    made.content_octets = 0;
    made.evidence.server.cpu_us = 200000;
    made.evidence.server.thread_busiest_us = 50000;
    made.evidence.thread_cpu_us[0] = 100000;
}

static void a_pool_that_lets_in_two_at_a_time(void **state)
{
    (void)state;
    made_pool();
    expect("pool_limit",
           "The server worked on only about 2.00 requests at a time: 100 answers/s x 20.0 ms (the "
           "fastest answer) = 2.00, while 9.98 were under way on average. It used 0.0200 CPUs: it "
           "waits, it does not compute.",
           "Look for a pool of that size (threads, workers, connections to a database) or a lock, "
           "and make it larger or hold it shorter.");
}

static void clients_that_a_pool_never_served_count_as_under_way(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(200, 1000, 20000, 0);
    made_unfinished(8, 10000000);
    made.clients = 10;
    made.content_octets = 0;
    made.evidence.server.cpu_us = 200000;
    assert_non_null(find("pool_limit"));
}

static void a_server_that_computes_is_no_pool(void **state)
{
    (void)state;
    made_pool();
    made.evidence.server.cpu_us = 15000000;
    expect_not("pool_limit");
}

/* Twenty clients carry all that there is: 1000 a second are due, each takes 100 ms. What had to wait for a
   client did not wait for the server. */
static void the_end_of_our_own_clients_is_no_pool(void **state)
{
    (void)state;
    made_pool();
    made_no_answers();
    made.open_model = true;
    made.clients = 20;
    made_answers(200, 1800, 100000, 0);
    made_unfinished(20, 8000000);
    expect_not("pool_limit");
}

/* Others had the CPUs that it was ready to use. */
static void a_server_that_gets_no_cpu_is_no_pool(void **state)
{
    (void)state;
    made_pool();
    made.evidence.server.cpu_wait_us = 15000000;
    expect_not("pool_limit");
}

static void a_server_that_lets_all_in_is_no_pool(void **state)
{
    (void)state;
    made_pool();
    made_no_answers();
    made_answers(200, 5000, 20000, 0);
    expect_not("pool_limit");
}

static void answers_of_very_different_times_prove_no_pool_but_of_a_whole_size(void **state)
{
    (void)state;
    made_pool();
    made_no_answers();
    made_answers(200, 300, 20000, 0);
    made_answers(200, 700, 130000, 0);
    assert_non_null(find("pool_limit")); /* 2.00: a pool that serves in no order */
    made_answers(200, 250, 35000, 0);
    expect_not("pool_limit"); /* 2.50 */
}

static void a_busy_client_proves_no_pool(void **state)
{
    (void)state;
    made_pool();
    made.evidence.thread_cpu_us[0] = 9000000;
    expect_not("pool_limit");
}

static void a_server_elsewhere_proves_no_pool(void **state)
{
    (void)state;
    made_pool();
    made.evidence.server = (struct rv_server_evidence){0};
    expect_not("pool_limit");
}

static void a_head_that_is_acknowledged_late(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(200, 900, 500, 40500);
    made_answers(200, 100, 500, 100);
    made.content_octets = 200000;
    expect("delayed_ack",
           "Nagle and delayed ACK: the content of 900 of 1000 answers came 40 ms after its head.",
           "Let the server send head and body in one write, or set TCP_NODELAY.");
    made.content_octets = 100000000;
    expect_not("delayed_ack");
}

static void transfers_of_other_times_are_not_acknowledged_late(void **state)
{
    (void)state;
    made_no_answers();
    made_answers(200, 1000, 500, 60000);
    expect_not("delayed_ack");
}

/* ---- who was the limit ------------------------------------------------------------------------------------- */

static void a_client_at_its_limit(void **state)
{
    (void)state;
    made.evidence.thread_cpu_us[0] = made.evidence.client_cpu_us = 9900000;
    expect("client_limited",
           "The client was at its limit: its busiest of 1 load thread was on a CPU 99 % of the "
           "time, while the server used 0.600 of the 1 CPU that it may run on. The server may be "
           "faster than this.",
           "Use more threads (--threads), or another machine for the load.");
    made.evidence.thread_cpu_us[0] = 8900000;
    expect_not("client_limited");
}

static void a_client_in_too_short_a_run(void **state)
{
    (void)state;
    made.elapsed_us = 90000;
    expect_not("client_limited");
}

static void too_few_clients_for_the_rate(void **state)
{
    (void)state;
    made.open_model = true;
    made.rate_per_s = 200000;
    made.queued = 400000;
    made.not_started = 1000000;
    made.due += 1000000;
    rv_hist_record_many(&made.lateness, 5000000, 1000000);
    expect("too_few_clients",
           "200000 requests a second were more than 64 clients could carry: 400000 of 2000000 were "
           "due while all were busy and began late (p99 5.00 s), and 1000000 never began.",
           "Allow more clients; when that only makes the answers slower, the server does not reach "
           "this rate.");
    made.queued = made.not_started = 0;
    expect_not("too_few_clients");
}

static void a_server_at_the_limit_of_its_cpus(void **state)
{
    (void)state;
    made.evidence.server.cpu_us = 9500000;
    made.evidence.server.thread_busiest_us = 9500000;
    expect("server_cpu",
           "The server was short of CPU time: it used 0.950 of the 1 CPU that it may run on, its "
           "busiest thread 95 % of one.",
           "Its cost of 9 us CPU time for an answer is the figure to compare.");
}

static void a_server_that_others_keep_from_its_cpu(void **state)
{
    (void)state;
    made.evidence.server.cpu_wait_us = 5100000;
    expect("server_cpu",
           "The server was short of CPU time: it used 0.600 of the 1 CPU that it may run on, and "
           "its threads were ready to run for 5.10 s without one.",
           "Its cost of 6 us CPU time for an answer is the figure to compare.");
    made.evidence.server.cpu_wait_us = 4900000;
    expect_not("server_cpu");
    made.evidence.server.cpu_wait_us = 5100000;
    made.evidence.server.cpus = 3;
    expect_not("server_cpu");
}

static void a_server_with_one_thread_at_its_limit(void **state)
{
    (void)state;
    made.evidence.server.cpus = 2;
    made.evidence.server.cpu_us = 9500000;
    made.evidence.server.thread_busiest_us = 9500000;
    assert_non_null(
        strstr(find("server_cpu")->remedy, "; more worker threads would use more CPUs"));
    made.evidence.server.thread_busiest_us = 5000000;
    expect_not("server_cpu");
}

static void shared_cpus_that_were_used_up(void **state)
{
    (void)state;
    made.evidence.cpus_shared = 1;
    expect("shared_cpus",
           "Client and server took CPU time from each other: on the 1 CPU that they share, the "
           "client used 0.500 and the server 0.600.",
           "Give each its own: --cpus here, `taskset` there.");
    made.evidence.cpus_shared = 2;
    expect_not("shared_cpus");
}

static void memory_that_ran_out(void **state)
{
    (void)state;
    made_failures(RV_FAILURE_MEMORY, 2, 10);
    count_as(RV_KERNEL_ABORT_ON_MEMORY, 5);
    expect("memory",
           "Memory ran out on this machine: 2 requests failed for want of it, and the kernel cut 5 "
           "connections (TCPAbortOnMemory).",
           "Ask for fewer clients, or raise net.ipv4.tcp_mem.");
}

static void the_gravest_finding_comes_first(void **state)
{
    (void)state;
    struct rv_finding findings[RV_FINDINGS_MAX];
    made.evidence.thread_cpu_us[0] = 9900000;
    made.races = 4;
    made_failures(RV_FAILURE_CONNECT_REFUSED, 4, 10);
    assert_int_equal(rv_why(&made, findings), 3);
    assert_string_equal(findings[0].id, "refused");
    assert_string_equal(findings[1].id, "keep_alive_race");
    assert_string_equal(findings[2].id, "client_limited");
}

static void more_findings_than_there_is_room_for_do_no_harm(void **state)
{
    (void)state;
    struct rv_finding findings[RV_FINDINGS_MAX + 1];
    findings[RV_FINDINGS_MAX].id = "untouched";
    made.connects_tried = 1000;
    for (int i = 0; i < RV_FAILURE_COUNT; i++)
        made_failures((enum rv_load_failure)i, 5, 1);
    overflow(50);
    count_as(RV_KERNEL_REQ_QUEUE_FULL_DROP, 1);
    made_answers(500, 10, 600, 0);
    made.races = 5;
    made.reopened = UINT64_MAX / 2;
    made.evidence.server.descriptors = (uint32_t)made.evidence.server.descriptor_limit;
    made.evidence.thread_cpu_us[0] = 9900000;
    made.evidence.server.cpu_us = made.evidence.server.thread_busiest_us = 9900000;
    made.evidence.cpus_shared = 1;
    assert_int_equal(rv_why(&made, findings), RV_FINDINGS_MAX);
    assert_string_equal(findings[RV_FINDINGS_MAX].id, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        made_test(a_good_run_needs_no_reasons),
        made_test(a_result_of_nothing_needs_no_reasons),
        made_test(nobody_listens),
        made_test(a_run_that_was_given_up_says_so),
        made_test(requests_that_were_let_be),
        made_test(nothing_was_answered_at_all),
        made_test(requests_that_the_end_has_caught_are_not_let_be),
        made_test(a_listener_that_was_gone_for_a_while),
        made_test(a_unix_socket_that_is_not_there),
        made_test(other_failed_connects_are_not_refusals),
        made_test(ports_used_up),
        made_test(a_source_address_that_is_not_here),
        made_test(many_connections_are_not_ports_used_up),
        made_test(descriptors_used_up_here),
        made_test(descriptors_used_up_at_the_server),
        made_test(a_server_with_descriptors_left_is_not_out_of_them),
        made_test(a_server_at_its_limit_with_an_empty_queue_has_enough),
        made_test(an_accept_queue_that_overflowed),
        made_test(an_overflow_without_a_drop_at_this_listener_is_anothers),
        made_test(acks_that_were_put_off_are_no_overflow),
        made_test(an_overflow_without_a_listener_here_is_anothers),
        made_test(drops_without_an_overflow_have_another_cause),
        made_test(an_old_kernel_that_does_not_count_by_listener),
        made_test(a_backlog_that_somaxconn_has_cut),
        made_test(the_last_ack_of_a_handshake_that_was_dropped),
        made_test(connects_that_gave_up_in_front_of_a_full_queue),
        made_test(connects_that_nobody_answered),
        made_test(a_unix_listener_that_is_full),
        made_test(a_syn_queue_that_overflowed),
        made_test(a_syn_queue_overflow_that_this_run_cannot_have_made),
        made_test(an_accept_queue_overflow_is_no_syn_queue_overflow),
        made_test(answers_that_took_too_long),
        made_test(a_connect_that_took_too_long_is_another_matter),
        made_test(answers_that_were_broken_off),
        made_test(answers_that_are_wrong),
        made_test(answers_that_are_all_errors),
        made_test(some_answers_that_are_errors),
        made_test(redirections_are_no_errors),
        made_test(a_keep_alive_race),
        made_test(a_server_without_keep_alive),
        made_test(a_stall_that_hit_all_clients),
        made_test(a_stall_across_the_end_of_a_period),
        made_test(slow_answers_of_some_clients_are_no_stall),
        made_test(slow_answers_without_a_quiet_period_are_no_stall),
        made_test(a_pool_that_lets_in_two_at_a_time),
        made_test(clients_that_a_pool_never_served_count_as_under_way),
        made_test(a_server_that_computes_is_no_pool),
        made_test(a_server_that_gets_no_cpu_is_no_pool),
        made_test(the_end_of_our_own_clients_is_no_pool),
        made_test(a_server_that_lets_all_in_is_no_pool),
        made_test(answers_of_very_different_times_prove_no_pool_but_of_a_whole_size),
        made_test(a_busy_client_proves_no_pool),
        made_test(a_server_elsewhere_proves_no_pool),
        made_test(a_head_that_is_acknowledged_late),
        made_test(transfers_of_other_times_are_not_acknowledged_late),
        made_test(a_client_at_its_limit),
        made_test(a_client_in_too_short_a_run),
        made_test(too_few_clients_for_the_rate),
        made_test(a_server_at_the_limit_of_its_cpus),
        made_test(a_server_that_others_keep_from_its_cpu),
        made_test(a_server_with_one_thread_at_its_limit),
        made_test(shared_cpus_that_were_used_up),
        made_test(memory_that_ran_out),
        made_test(the_gravest_finding_comes_first),
        made_test(more_findings_than_there_is_room_for_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
