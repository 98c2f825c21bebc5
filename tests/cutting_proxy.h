/* cutting_proxy.h - a link on the loopback that counts what passes, and is cut. */
#ifndef TESTS_CUTTING_PROXY_H
#define TESTS_CUTTING_PROXY_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    int socket, port, to_port;
    pthread_t thread;
    bool stopping;
    int n_cuts;         /* cuts that are still to come */
    int n_cut;          /* and that were */
    uint64_t cut_every; /* bytes to the far side, about, between two cuts */
    uint64_t n_up;      /* bytes that went to the far side */
} proxy;

static inline int proxy_listen(int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 8) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        return -1;
    *port = ntohs(address.sin_port);
    return fd;
}

static inline int proxy_connect(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* What was sent and not yet read is lost, on both sides. */
static inline void proxy_reset(int fd) {
    struct linger hard = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
}

static inline bool proxy_move(int from, int to, uint64_t *n_bytes) {
    char bytes[1 << 16];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    for (ssize_t done = 0; done < n;) {
        ssize_t sent = send(to, bytes + done, (size_t)(n - done), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        done += sent;
    }
    if (n > 0) *n_bytes += (uint64_t)n;
    return n > 0;
}

/* One connection, until it ends or is cut. */
static inline void proxy_serve(int near, int far) {
    uint64_t up = 0, down = 0, limit = proxy.cut_every * (3 + (uint64_t)proxy.n_cut % 3) / 4;
    for (bool open = true; open && !proxy.stopping;) {
        struct pollfd ends[2] = {{near, POLLIN, 0}, {far, POLLIN, 0}};
        poll(ends, 2, 50);
        uint64_t before = up;
        if (ends[0].revents) open = proxy_move(near, far, &up);
        proxy.n_up += up - before;
        if (open && ends[1].revents) open = proxy_move(far, near, &down);
        if (open && proxy.n_cuts > 0 && up > limit) {
            proxy.n_cuts--;
            proxy.n_cut++;
            proxy_reset(near);
            proxy_reset(far);
            return;
        }
    }
    close(near);
    close(far);
}

static inline void *proxy_run(void *unused) {
    while (!proxy.stopping) {
        struct pollfd end = {proxy.socket, POLLIN, 0};
        if (poll(&end, 1, 50) <= 0) continue;
        int near = accept4(proxy.socket, NULL, NULL, SOCK_CLOEXEC);
        int far = near >= 0 ? proxy_connect(proxy.to_port) : -1;
        if (far >= 0)
            proxy_serve(near, far);
        else if (near >= 0)
            close(near);
    }
    return unused;
}

static inline bool proxy_start(int to_port) {
    proxy.to_port = to_port;
    proxy.stopping = false;
    proxy.n_cuts = proxy.n_cut = 0;
    proxy.n_up = 0;
    proxy.socket = proxy_listen(&proxy.port);
    return proxy.socket >= 0 && pthread_create(&proxy.thread, NULL, proxy_run, NULL) == 0;
}

static inline void proxy_stop(void) {
    proxy.stopping = true;
    pthread_join(proxy.thread, NULL);
    close(proxy.socket);
}

#endif
