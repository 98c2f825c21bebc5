/* file_completion.c - the rest of a file name that is being typed. */
#include "cli/file_completion.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* The folder that path[0 .. n) is in, with "~/" as a shell has it. */
static void folder_of(const char *path, size_t n, char folder[PATH_MAX]) {
    const char *home = getenv("HOME");
    bool in_home = n >= 2 && path[0] == '~' && path[1] == '/' && home;
    size_t from = in_home ? 1 : 0;
    while (n > from && path[n - 1] != '/') n--;
    if (n == 0) path = "./", n = 2;
    snprintf(folder, PATH_MAX, "%s%.*s", in_home ? home : "", (int)(n - from), path + from);
}

/* Shortens rest to what name, which is one more, shares with it. */
static void share(char *rest, const char *name, int n_before, size_t size) {
    size_t same = 0;
    if (n_before == 0) {
        snprintf(rest, size, "%s", name);
        return;
    }
    while (rest[same] && rest[same] == name[same]) same++;
    while (same > 0 && ((unsigned char)rest[same] & 0xC0) == 0x80) same--; /* no half characters */
    rest[same] = '\0';
}

int fct_file_complete(const char *path, size_t n, char *rest, size_t size) {
    char folder[PATH_MAX], whole[2 * PATH_MAX];
    size_t begun = 0;
    int n_found = 0;
    while (begun < n && path[n - 1 - begun] != '/') begun++;
    folder_of(path, n, folder);
    rest[0] = '\0';
    DIR *dir = opendir(folder);
    if (!dir) return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        bool hidden = name[0] == '.' && begun == 0;
        if (hidden || strncmp(name, path + n - begun, begun) != 0) continue;
        share(rest, name + begun, n_found++, size);
    }
    closedir(dir);
    snprintf(whole, sizeof whole, "%s%.*s%s", folder, (int)begun, path + n - begun, rest);
    size_t length = strlen(rest);
    if (n_found == 1 && fct_is_folder(whole) && length + 1 < size) strcpy(rest + length, "/");
    return n_found;
}
