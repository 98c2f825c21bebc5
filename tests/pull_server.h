/* pull_server.h - a hub on the loopback that misbehaves as a test wants, and remembers what it was
 * asked. */
#ifndef TESTS_PULL_SERVER_H
#define TESTS_PULL_SERVER_H

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVED_LIMIT 12
#define ASKED_LIMIT 4000

struct served_file {
    const char *path;
    const char *data;
    size_t size;
    bool lfs; /* listed with its SHA-256, else with its git object id */
};

/* What it does wrong. Counters count down with each request for a file's content. */
struct misbehaviour {
    const char *listing; /* instead of the true one */
    bool paged;          /* one file a page */
    bool endless;        /* the last page is followed by itself */
    const char *sums;    /* what is served as /folder/SHA256SUMS; NULL: 404 */
    int n_list_failures; /* requests for the listing that are answered with `status` */
    int n_failures;      /* requests that are answered with `status` */
    long status;
    const char *failure_headers; /* lines with CR LF */
    int n_cuts;                  /* requests whose body ends after `cut` bytes; -1: all */
    size_t cut;
    int n_stalls;    /* requests whose body stops for good after `cut` bytes */
    long length_lie; /* added to Content-Length */
    long listed_lie; /* added to the sizes in the listing */
    bool no_length;  /* the end of the connection ends the body */
    bool extra;      /* 16 bytes more than announced (with no_length) */
    bool ignores_range;
    bool wrong_range;     /* 206 with bytes from elsewhere */
    int n_flips;          /* answers with one bit wrong; -1: all */
    const char *redirect; /* "http://localhost:%d": content is there */
    const char *body;     /* instead of every file's content */
    const char *type;     /* Content-Type of the content */
    const char *etag;     /* NULL: none */
    int microseconds;     /* pause before each 4 KiB */
};

struct asked {
    char method[8], path[200], host[64], authorization[128], range[64], if_range[64];
};

static struct {
    int socket, port;
    pthread_t thread;
    pthread_mutex_t lock;
    struct served_file files[SERVED_LIMIT];
    int n_files;
    struct misbehaviour wrong;
    struct asked asked[ASKED_LIMIT];
    int n_asked, n_active; /* connections being served */
    uint64_t bytes_sent;
    bool stopping;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- sending ---- */

static inline bool server_send(int fd, const char *bytes, size_t n_bytes) {
    while (n_bytes) {
        ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

static inline void server_answer(int fd, long status, const char *headers, const char *body,
                                 size_t n_bytes, bool head) {
    char top[4096];
    int n = snprintf(top, sizeof top,
                     "HTTP/1.1 %ld Whatever\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
                     status, headers, n_bytes);
    if (server_send(fd, top, (size_t)n) && !head) server_send(fd, body, n_bytes);
}

/* ---- the listing ---- */

static inline void server_id(const struct served_file *file, char id[65]) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n;
    char header[32];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, file->lfs ? EVP_sha256() : EVP_sha1(), NULL);
    if (!file->lfs)
        EVP_DigestUpdate(context, header,
                         (size_t)snprintf(header, sizeof header, "blob %zu", file->size) + 1);
    EVP_DigestUpdate(context, file->data, file->size);
    EVP_DigestFinal_ex(context, digest, &n);
    EVP_MD_CTX_free(context);
    for (unsigned i = 0; i < n; i++) snprintf(id + 2 * i, 3, "%02x", digest[i]);
}

static inline size_t server_list_file(char *out, size_t room, const struct served_file *file,
                                      long lie) {
    char id[65];
    server_id(file, id);
    long size = (long)file->size + lie;
    if (!file->lfs)
        return (size_t)snprintf(out, room,
                                "{\"type\":\"file\",\"oid\":\"%s\",\"size\":%ld,\"path\":\"%s\"}",
                                id, size, file->path);
    return (size_t)snprintf(out, room,
                            "{\"type\":\"file\",\"oid\":\"%.40s\",\"size\":%ld,\"lfs\":{\"oid\":"
                            "\"%s\",\"size\":%ld,\"pointerSize\":134},\"path\":\"%s\"}",
                            id, size, id, size, file->path);
}

static inline void server_list(int fd, const char *path, const struct misbehaviour *wrong) {
    char text[8192] = "[{\"type\":\"directory\",\"oid\":\"0\",\"size\":0,\"path\":\"sub\"}";
    char link[300] = "Content-Type: application/json\r\n";
    size_t n = strlen(text);
    const char *cursor = strstr(path, "cursor=");
    int first = cursor ? atoi(cursor + 7) : 0, last = wrong->paged ? first + 1 : server.n_files;
    for (int i = first; i < last && i < server.n_files; i++) {
        text[n++] = ',';
        n += server_list_file(text + n, sizeof text - n, &server.files[i], wrong->listed_lie);
    }
    strcpy(text + n, "]");
    if (wrong->endless && last > server.n_files - 1) last = server.n_files - 1;
    if (last < server.n_files) /* a mirror often names the original here */
        sprintf(link + strlen(link),
                "Link: <https://elsewhere.invalid/api/models/some/model/tree/main?recursive=true&"
                "cursor=%d>; rel=\"next\"\r\n",
                last);
    const char *body = wrong->listing ? wrong->listing : text;
    server_answer(fd, 200, link, body, strlen(body), false);
}

/* ---- the content ---- */

static inline void server_body(int fd, const char *data, size_t n_bytes, bool cut, bool stall,
                               bool flip, const struct misbehaviour *wrong) {
    size_t n_sent = cut || stall ? (wrong->cut < n_bytes ? wrong->cut : n_bytes) : n_bytes;
    for (size_t at = 0; at < n_sent;) {
        char piece[4096];
        size_t n = n_sent - at < sizeof piece ? n_sent - at : sizeof piece;
        memcpy(piece, data + at, n);
        if (flip && at == 0) piece[n / 2] ^= 1;
        if (wrong->microseconds) usleep((useconds_t)wrong->microseconds);
        if (!server_send(fd, piece, n)) break;
        at += n;
        pthread_mutex_lock(&server.lock);
        server.bytes_sent += n;
        pthread_mutex_unlock(&server.lock);
    }
    if (wrong->extra) server_send(fd, "0123456789abcdef", 16);
    char ignored;
    for (int i = 0; stall && i < 200 && recv(fd, &ignored, 1, MSG_DONTWAIT) != 0; i++)
        usleep(100000);
}

static inline bool count_down(int *counter) {
    if (*counter > 0) return (*counter)--, true;
    return *counter < 0;
}

static inline void server_content(int fd, const struct asked *asked, const struct served_file *file,
                                  bool redirects) {
    pthread_mutex_lock(&server.lock);
    bool fails = count_down(&server.wrong.n_failures);
    bool cut = !fails && count_down(&server.wrong.n_cuts);
    bool stall = !fails && !cut && count_down(&server.wrong.n_stalls);
    bool flip = !fails && !cut && !stall && count_down(&server.wrong.n_flips);
    struct misbehaviour wrong = server.wrong;
    pthread_mutex_unlock(&server.lock);
    char headers[1024] = "", length[64] = "", top[2048];
    if (fails) {
        server_answer(fd, wrong.status, wrong.failure_headers ? wrong.failure_headers : "", "no", 2,
                      false);
        return;
    }
    if (redirects && wrong.redirect) {
        int n = snprintf(headers, sizeof headers, "Location: ");
        n += snprintf(headers + n, sizeof headers - (size_t)n, wrong.redirect, server.port);
        snprintf(headers + n, sizeof headers - (size_t)n, "/cdn/%s\r\n", file->path);
        server_answer(fd, 302, headers, "", 0, false);
        return;
    }
    const char *data = wrong.body ? wrong.body : file->data;
    size_t size = wrong.body ? strlen(wrong.body) : file->size, first = 0, last = size - 1;
    bool partial = !wrong.ignores_range && sscanf(asked->range, "bytes=%zu-%zu", &first, &last) > 0;
    if (partial && asked->if_range[0] && wrong.etag && strcmp(asked->if_range, wrong.etag) != 0)
        partial = false;
    if (!partial) first = 0, last = size - 1;
    if (partial && first >= size) {
        server_answer(fd, 416, "", "", 0, false);
        return;
    }
    if (partial)
        sprintf(headers, "Content-Range: bytes %zu-%zu/%zu\r\n",
                first + (wrong.wrong_range ? 1 : 0), last, size);
    if (wrong.etag) sprintf(headers + strlen(headers), "ETag: %s\r\n", wrong.etag);
    if (wrong.type) sprintf(headers + strlen(headers), "Content-Type: %s\r\n", wrong.type);
    if (!wrong.no_length)
        sprintf(length, "Content-Length: %ld\r\n", (long)(last - first + 1) + wrong.length_lie);
    int n = snprintf(top, sizeof top, "HTTP/1.1 %d Well\r\nConnection: close\r\n%s%s\r\n",
                     partial ? 206 : 200, headers, length);
    if (server_send(fd, top, (size_t)n) && strcmp(asked->method, "HEAD") != 0)
        server_body(fd, data + first, last - first + 1, cut, stall, flip, &wrong);
}

/* ---- requests ---- */

static inline void server_read_header(char *out, size_t size, const char *text, const char *name) {
    const char *at = strcasestr(text, name);
    if (!at) return;
    at += strlen(name);
    at += strspn(at, " ");
    snprintf(out, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

static inline bool server_read(int fd, struct asked *asked) {
    char text[8192];
    size_t n = 0;
    for (;;) {
        ssize_t more = recv(fd, text + n, sizeof text - 1 - n, 0);
        if (more <= 0) return false;
        text[n += (size_t)more] = 0;
        if (strstr(text, "\r\n\r\n")) break;
        if (n == sizeof text - 1) return false;
    }
    *asked = (struct asked){0};
    if (sscanf(text, "%7s %199s", asked->method, asked->path) != 2) return false;
    server_read_header(asked->host, sizeof asked->host, text, "\r\nHost:");
    server_read_header(asked->authorization, sizeof asked->authorization, text,
                       "\r\nAuthorization:");
    server_read_header(asked->range, sizeof asked->range, text, "\r\nRange:");
    server_read_header(asked->if_range, sizeof asked->if_range, text, "\r\nIf-Range:");
    pthread_mutex_lock(&server.lock);
    if (server.n_asked < ASKED_LIMIT) server.asked[server.n_asked++] = *asked;
    pthread_mutex_unlock(&server.lock);
    return true;
}

static inline int server_count(int more) {
    pthread_mutex_lock(&server.lock);
    int n_active = server.n_active += more;
    pthread_mutex_unlock(&server.lock);
    return n_active;
}

static inline void *server_serve(void *user) {
    int fd = (int)(intptr_t)user;
    struct asked asked;
    struct timeval patience = {.tv_sec = 30};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (server_read(fd, &asked)) {
        static const char *const places[] = {"/some/model/resolve/main/", "/cdn/", "/folder/"};
        const struct served_file *found = NULL;
        bool hub = false, head = strcmp(asked.method, "HEAD") == 0;
        for (int p = 0; p < 3; p++) {
            size_t n = strlen(places[p]);
            if (strncmp(asked.path, places[p], n) != 0) continue;
            for (int i = 0; i < server.n_files; i++)
                if (strcmp(asked.path + n, server.files[i].path) == 0) found = &server.files[i];
            hub = p == 0;
        }
        pthread_mutex_lock(&server.lock);
        bool lists = strncmp(asked.path, "/api/models/some/model/tree/main?", 33) == 0;
        bool fails = lists && count_down(&server.wrong.n_list_failures);
        struct misbehaviour wrong = server.wrong;
        pthread_mutex_unlock(&server.lock);
        if (fails)
            server_answer(fd, wrong.status, wrong.failure_headers ? wrong.failure_headers : "",
                          "no", 2, head);
        else if (lists)
            server_list(fd, asked.path, &wrong);
        else if (found)
            server_content(fd, &asked, found, hub);
        else if (strcmp(asked.path, "/folder/SHA256SUMS") == 0 && wrong.sums)
            server_answer(fd, 200, "Content-Type: text/plain\r\n", wrong.sums, strlen(wrong.sums),
                          head);
        else
            server_answer(fd, 404, "X-Error-Code: RepoNotFound\r\n", "no", 2, head);
    }
    shutdown(fd, SHUT_RDWR);
    close(fd);
    server_count(-1);
    return NULL;
}

static inline void *server_accept(void *user) {
    (void)user;
    for (;;) {
        pthread_t thread;
        int fd = accept(server.socket, NULL, NULL);
        if (fd < 0 || server.stopping) {
            if (fd >= 0) close(fd);
            return NULL;
        }
        server_count(1);
        if (pthread_create(&thread, NULL, server_serve, (void *)(intptr_t)fd)) abort();
        pthread_detach(thread);
    }
}

/* ---- for tests ---- */

static inline int server_start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof address;
    server.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server.socket < 0 || bind(server.socket, (struct sockaddr *)&address, n) ||
        listen(server.socket, 64) || getsockname(server.socket, (struct sockaddr *)&address, &n))
        return -1;
    server.port = ntohs(address.sin_port);
    return pthread_create(&server.thread, NULL, server_accept, NULL) ? -1 : 0;
}

static inline void server_stop(void) {
    server.stopping = true;
    shutdown(server.socket, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    close(server.socket);
}

/* Returns when every connection that was begun until now has been served to its end: they are
 * accepted in their order, so an answer to a last one says that all have been. */
static inline void server_settle(void) {
    static const char request[] = "GET /settle HTTP/1.1\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server.port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char answer[512];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) ||
        !server_send(fd, request, sizeof request - 1))
        abort();
    while (recv(fd, answer, sizeof answer, 0) > 0) {
    }
    close(fd);
    for (int i = 0; i < 3000 && server_count(0) > 0; i++) usleep(10000);
}

/* From now on these files, this misbehaviour, and nothing asked yet. */
static inline void server_offer(const struct served_file *files, int n_files,
                                struct misbehaviour wrong) {
    server_settle();
    pthread_mutex_lock(&server.lock);
    memcpy(server.files, files, (size_t)n_files * sizeof *files);
    server.n_files = n_files;
    server.wrong = wrong;
    server.n_asked = 0;
    server.bytes_sent = 0;
    pthread_mutex_unlock(&server.lock);
}

#endif
