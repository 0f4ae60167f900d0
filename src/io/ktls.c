/*
 * TLS in the kernel (ktls.h). A socket takes the protocol only while it is connected; one that is not
 * is told ENOTCONN where the protocol is there, and ENOENT where it is not.
 */
#include "io/ktls.h"

#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOL_TLS
#define SOL_TLS 282 /* linux/socket.h, which programs cannot include */
#endif

static const char protocol[] = "tls";

/* ---- the probe ---------------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool offered;

static void probe(void)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return;
    offered = setsockopt(descriptor, SOL_TCP, TCP_ULP, protocol, sizeof protocol) == 0 ||
              errno == ENOTCONN;
    close(descriptor);
}

bool rv_ktls_is_offered(void)
{
    pthread_once(&once, probe);
    return offered;
}

/* ---- sockets ------------------------------------------------------------------------------------------ */

/* 0: a cipher that is not known here. */
static socklen_t length_of(const struct tls_crypto_info *keys)
{
    switch (keys->cipher_type) {
    case TLS_CIPHER_AES_GCM_128:
        return sizeof(struct tls12_crypto_info_aes_gcm_128);
    case TLS_CIPHER_AES_GCM_256:
        return sizeof(struct tls12_crypto_info_aes_gcm_256);
    case TLS_CIPHER_CHACHA20_POLY1305:
        return sizeof(struct tls12_crypto_info_chacha20_poly1305);
    default:
        return 0;
    }
}

bool rv_ktls_begin(int descriptor, const void *keys)
{
    socklen_t length = length_of(keys);
    /* without keys the protocol passes everything on as it is */
    return length != 0 &&
           setsockopt(descriptor, SOL_TCP, TCP_ULP, protocol, sizeof protocol) == 0 &&
           setsockopt(descriptor, SOL_TLS, TLS_TX, keys, length) == 0;
}

int rv_ktls_send_record(int descriptor, unsigned char type, const char *octets, size_t length)
{
    union {
        struct cmsghdr aligned;
        char octets[CMSG_SPACE(sizeof type)];
    } control = {0};
    struct iovec piece = {(char *)octets, length};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.octets};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_TLS;
    header->cmsg_type = TLS_SET_RECORD_TYPE;
    header->cmsg_len = CMSG_LEN(sizeof type);
    memcpy(CMSG_DATA(header), &type, sizeof type);
    ssize_t sent;
    do
        sent = sendmsg(descriptor, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return errno;
    return (size_t)sent == length ? 0 : EIO;
}
