/*
 * TLS in the kernel (the `tls` protocol on top of TCP, since Linux 4.13): a socket that was given the
 * keys of a connection makes records of what is sent through it, also of files. Only sending is of use
 * here: what arrives is decrypted by OpenSSL, as ever. Knows sockets, and nothing of OpenSSL.
 */
#ifndef RV_IO_KTLS_H
#define RV_IO_KTLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether this kernel has it. Asked once in a process, with one socket that is closed at once. */
bool rv_ktls_is_offered(void);

/* What is sent from now on is encrypted. `keys` is one of the structures of linux/tls.h that begin with
   struct tls_crypto_info. False: the kernel does not know the cipher, or the socket is of no use for it;
   all is as before. */
bool rv_ktls_begin(int descriptor, const void *keys);

/* Sends one record of that type, whole. 0, or an errno. */
int rv_ktls_send_record(int descriptor, unsigned char type, const char *octets, size_t length);

#endif
