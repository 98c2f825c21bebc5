/* replay.c - a fuzz target without a fuzzer: every file of a corpus, cut at each byte, and damaged
 * at random. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BYTES = 1 << 20, LARGE = 8192 };

static uint64_t random_state = 20240501; /* always the same damage */
static uint64_t next_random(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

/* An input in memory of just its size. */
static void run(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* Changes up to four places: a byte, a digit or a mark of JSON, or bytes copied from elsewhere in
 * the file. */
static void damage(uint8_t *bytes, size_t size) {
    static const char marks[] = "0123456789-[]{},:\"\\";
    for (uint64_t n = 1 + next_random() % 4; n > 0; n--) {
        size_t to = next_random() % size, from = next_random() % size;
        size_t longest = size - (to > from ? to : from);
        switch (next_random() % 3) {
        case 0:
            bytes[to] = (uint8_t)next_random();
            break;
        case 1:
            bytes[to] = (uint8_t)marks[next_random() % (sizeof marks - 1)];
            break;
        default:
            memmove(bytes + to, bytes + from, next_random() % (longest < 16 ? longest : 16));
        }
    }
}

static void replay(const uint8_t *bytes, size_t size) {
    size_t step = size > LARGE ? size / 400 : 1; /* large inputs take longer: fewer of them */
    int n_rounds = size > LARGE ? 400 : 3000;
    for (size_t cut = 0; cut < size; cut += step) run(bytes, cut);
    run(bytes, size);
    uint8_t *damaged = malloc(size ? size : 1);
    if (!damaged) abort();
    for (int round = 0; round < n_rounds && size > 0; round++) {
        memcpy(damaged, bytes, size);
        damage(damaged, size);
        run(damaged, size);
    }
    free(damaged);
}

int main(int n_arguments, char **arguments) {
    DIR *folder = n_arguments == 2 ? opendir(arguments[1]) : NULL;
    static uint8_t bytes[MAX_BYTES];
    int n_files = 0;
    if (!folder) {
        fprintf(stderr, "usage: replay FOLDER\n");
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", arguments[1], entry->d_name);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        replay(bytes, size);
        n_files++;
    }
    closedir(folder);
    printf("%d files\n", n_files);
    return n_files > 0 ? 0 : 1; /* a corpus that is gone is a failure */
}
