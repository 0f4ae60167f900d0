/*
 * What the machine says about a run: kernel counters, the listener's accept queue, who used how much CPU.
 * Plain data; probe.c gathers it, reports explain with it.
 */
#ifndef RV_LOAD_EVIDENCE_H
#define RV_LOAD_EVIDENCE_H

#include <rivulet.h>

/* id, table in /proc/net ("Tcp" in snmp, "TcpExt" in netstat), the kernel's name */
#define RV_KERNEL_COUNTERS(X)                                                                      \
    X(LISTEN_OVERFLOWS, "TcpExt", "ListenOverflows")                                               \
    X(LISTEN_DROPS, "TcpExt", "ListenDrops")                                                       \
    X(REQ_QUEUE_FULL_DROP, "TcpExt", "TCPReqQFullDrop")                                            \
    X(REQ_QUEUE_FULL_COOKIES, "TcpExt", "TCPReqQFullDoCookies")                                    \
    X(SYN_COOKIES_SENT, "TcpExt", "SyncookiesSent")                                                \
    X(SYN_RETRANS, "TcpExt", "TCPSynRetrans")                                                      \
    X(TIMEOUTS, "TcpExt", "TCPTimeouts")                                                           \
    X(ABORT_ON_MEMORY, "TcpExt", "TCPAbortOnMemory")                                               \
    X(TIME_WAIT_OVERFLOW, "TcpExt", "TCPTimeWaitOverflow")                                         \
    X(RETRANS_SEGMENTS, "Tcp", "RetransSegs")                                                      \
    X(ATTEMPT_FAILS, "Tcp", "AttemptFails")                                                        \
    X(OUT_RESETS, "Tcp", "OutRsts")                                                                \
    X(DEFER_ACCEPT_DROP, "TcpExt", "TCPDeferAcceptDrop")

enum rv_kernel_counter {
#define RV_KERNEL_ID(id, table, name) RV_KERNEL_##id,
    RV_KERNEL_COUNTERS(RV_KERNEL_ID)
#undef RV_KERNEL_ID
        RV_KERNEL_COUNT
};

const char *rv_kernel_counter_name(enum rv_kernel_counter counter);

/* The process (with those that share its listening socket) behind the target, when it is local. */
struct rv_server_evidence {
    bool found;          /* its listening socket is on this machine */
    bool pid_known;      /* the process could be looked at, too */
    int pid;             /* the one with the lowest number */
    int processes;       /* that hold the socket */
    char name[32];       /* of `pid` */
    char address[64];    /* of the listening socket: "127.0.0.1:8910" */
    uint32_t sockets;    /* listening sockets at that address (SO_REUSEPORT) */
    uint32_t backlog;    /* the limit of the accept queue that the kernel grants: of each socket */
    uint32_t queue_peak; /* the longest accept queue seen, of any of the sockets */
    uint64_t queue_samples;
    uint64_t queue_full_samples; /* of them, those with the queue over its limit */
    /* By how much the sockets' own drop counters rose: a SYN counts once, the last ACK of a handshake once
       or twice. Nobody else's, unlike ListenDrops; -1: not known. With TCP_DEFER_ACCEPT the last ACK
       of every handshake counts, and nothing is lost by it: DEFER_ACCEPT_DROP. */
    int64_t queue_drops;
    uint64_t cpu_us;  /* user and system time used during the run, of all processes */
    uint64_t user_us; /* of it, in user space (to a clock tick) */
    uint64_t system_us;
    uint64_t thread_busiest_us; /* CPU time of the thread that used the most; 0: not known */
    uint64_t cpu_wait_us; /* that its threads were ready to run and had no CPU, all together */
    uint32_t cpus;        /* that its threads may run on */
    uint32_t threads;
    uint32_t descriptors;      /* open ones, the most seen, of the process that had the most */
    uint64_t descriptor_limit; /* the soft limit of that process; 0: not known */
};

#define RV_EVIDENCE_THREADS_MAX 256

struct rv_evidence {
    bool has_counters;
    int64_t counters[RV_KERNEL_COUNT]; /* after minus before; -1: this kernel has none */
    struct rv_server_evidence server;

    /* the client, that is this process */
    uint32_t thread_count;
    uint64_t thread_cpu_us[RV_EVIDENCE_THREADS_MAX]; /* of each load thread */
    uint64_t client_cpu_us;                          /* of all load threads */
    uint64_t turns;                                  /* of their loops */
    uint32_t cpus_client;                            /* CPUs that they may run on */
    uint32_t cpus_shared; /* of them, those that the server may run on, too */
    uint32_t cpus_online;

    /* limits of this machine */
    uint64_t descriptor_limit;
    uint32_t somaxconn;
    uint32_t syn_backlog_max;       /* net.ipv4.tcp_max_syn_backlog */
    uint32_t port_first, port_last; /* net.ipv4.ip_local_port_range */
    uint32_t time_wait_before, time_wait_after;
    uint64_t steal_us; /* time that the hypervisor took, of all CPUs */
    /* User and system time of processes other than this one and the server's; -1: not known. */
    int64_t other_cpu_us;
    char kernel[64]; /* "Linux 6.1.0" */
};

#endif
