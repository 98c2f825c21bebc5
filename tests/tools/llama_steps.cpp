/* llama_steps.cpp - what llama.cpp makes of the ids of gemma3-270m.json: log-probabilities step by step, or perplexity.
 *
 * usage: llama_steps MODEL.gguf REFERENCE.txt         lines "prompt step id logprob ..." of the five best
 *        llama_steps MODEL.gguf --perplexity IDS      of chunks of 512 ids, as llama-perplexity counts
 *
 * docs/QUALITY.md has how it is built and how tests/data/gguf/gemma3-270m-f32.json is made with it.
 * A cache of floats, no flash attention, the whole text in one pass. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "llama.h"

enum { CHUNK = 512 };

static llama_context *context;
static int n_vocab;

static double log_sum(const float *logits) {
    double largest = *std::max_element(logits, logits + n_vocab), sum = 0;
    for (int i = 0; i < n_vocab; i++) sum += std::exp(logits[i] - largest);
    return largest + std::log(sum);
}

/* Reads all ids from a cold cache; the logits of those from `first` on are kept. */
static bool read_ids(const std::vector<int> &ids, int n, int first) {
    llama_batch batch = llama_batch_init(CHUNK, 0, 1);
    llama_memory_clear(llama_get_memory(context), true);
    batch.n_tokens = n;
    for (int i = 0; i < n; i++) {
        batch.token[i] = ids[i];
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = i >= first;
    }
    bool read = llama_decode(context, batch) == 0;
    llama_batch_free(batch);
    return read;
}

static void print_best(const float *logits) {
    std::vector<int> order(n_vocab);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                      [&](int a, int b) { return logits[a] > logits[b]; });
    for (int k = 0; k < 5; k++)
        std::printf(" %d %.5f", order[k], logits[order[k]] - log_sum(logits));
}

/* Lines: how many ids the prompt has, its ids, the answer's. */
static int print_steps(const char *path) {
    std::ifstream lines(path);
    std::string line;
    for (int prompt = 0; std::getline(lines, line); prompt++) {
        std::istringstream words(line);
        std::vector<int> ids;
        int n_prompt, id;
        words >> n_prompt;
        while (words >> id) ids.push_back(id);
        int n = (int)ids.size() - 1;
        if (!read_ids(ids, n, n_prompt - 1)) return 1;
        for (int i = n_prompt - 1; i < n; i++) {
            std::printf("%d %d", prompt, i - n_prompt + 1);
            print_best(llama_get_logits_ith(context, i));
            std::printf("\n");
        }
    }
    return 0;
}

static int print_perplexity(const char *path) {
    std::ifstream words(path);
    std::vector<int> ids;
    double sum = 0;
    long n = 0;
    for (int id; words >> id;) ids.push_back(id);
    for (size_t at = 0; at + CHUNK <= ids.size(); at += CHUNK) {
        std::vector<int> chunk(ids.begin() + at, ids.begin() + at + CHUNK);
        chunk[0] = llama_vocab_bos(llama_model_get_vocab(llama_get_model(context)));
        if (!read_ids(chunk, CHUNK, CHUNK / 2)) return 1;
        for (int i = CHUNK / 2; i < CHUNK - 1; i++, n++) {
            const float *logits = llama_get_logits_ith(context, i);
            sum += log_sum(logits) - logits[chunk[i + 1]];
        }
    }
    std::printf("perplexity %.5f over %ld predictions\n", std::exp(sum / n), n);
    return 0;
}

int main(int n_arguments, char **arguments) {
    if (n_arguments < 3) return 2;
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model *model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    if (!model) return 1;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = CHUNK;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = true;
    context = llama_init_from_model(model, params);
    if (!context) return 1;
    n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    bool perplexity = n_arguments > 3 && std::strcmp(arguments[2], "--perplexity") == 0;
    return perplexity ? print_perplexity(arguments[3]) : print_steps(arguments[2]);
}
