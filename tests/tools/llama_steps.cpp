/* llama_steps.cpp - what llama.cpp makes of the ids of gemma3-270m.json: log-probabilities step by step, or perplexity.
 *
 * usage: llama_steps MODEL.gguf REFERENCE.txt [WAY ...]   lines "prompt step id logprob ..." of the five best
 *        llama_steps MODEL.gguf --perplexity IDS          of chunks of 512 ids, as llama-perplexity counts
 *
 * Ways to run the same network: `half` a cache of float16 (else float), `flash` flash attention, `plain` without weights
 * repacked for the CPU; and how the ids are read: in one pass, or the answer's one by one behind a prompt read in one pass
 * (`prompt`), but for its last four ids, which have their own (`four`, as servers do), or one by one, too (`single`).
 * docs/QUALITY.md has how it is built and how tests/data/gguf/gemma3-270m-f32.json and -ways.json are made with it. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
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

/* Reads ids [begin, end) in one pass behind those before; the logits of those from `first` on are kept. */
static bool read_ids(const std::vector<int> &ids, int begin, int end, int first) {
    llama_batch batch = llama_batch_init(CHUNK, 0, 1);
    if (begin == 0) llama_memory_clear(llama_get_memory(context), true);
    batch.n_tokens = end - begin;
    for (int i = 0; i < end - begin; i++) {
        batch.token[i] = ids[begin + i];
        batch.pos[i] = begin + i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = begin + i >= first;
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

/* Where the pass that begins with id `begin` ends. */
static int pass_end(const std::set<std::string> &ways, int begin, int n_prompt, int n) {
    if (ways.count("single") || begin >= n_prompt) return begin + 1;
    if (ways.count("four") && begin < n_prompt - 4) return n_prompt - 4;
    return ways.count("prompt") || ways.count("four") ? n_prompt : n;
}

/* Lines: how many ids the prompt has, its ids, the answer's. */
static int print_steps(const char *path, const std::set<std::string> &ways) {
    std::ifstream lines(path);
    std::string line;
    for (int prompt = 0; std::getline(lines, line); prompt++) {
        std::istringstream words(line);
        std::vector<int> ids;
        int n_prompt, id;
        words >> n_prompt;
        while (words >> id) ids.push_back(id);
        int n = (int)ids.size() - 1;
        for (int begin = 0, end; begin < n; begin = end) {
            end = pass_end(ways, begin, n_prompt, n);
            if (!read_ids(ids, begin, end, n_prompt - 1)) return 1;
            for (int i = std::max(begin, n_prompt - 1); i < end; i++) {
                std::printf("%d %d", prompt, i - n_prompt + 1);
                print_best(llama_get_logits_ith(context, i - begin));
                std::printf("\n");
            }
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
        if (!read_ids(chunk, 0, CHUNK, CHUNK / 2)) return 1;
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
    bool perplexity = n_arguments > 3 && std::strcmp(arguments[2], "--perplexity") == 0;
    std::set<std::string> ways;
    if (!perplexity) ways.insert(arguments + 3, arguments + n_arguments);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model_params weights = llama_model_default_params();
    weights.use_extra_bufts = !ways.count("plain");
    llama_model *model = llama_model_load_from_file(arguments[1], weights);
    if (!model) return 1;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = CHUNK;
    params.type_k = params.type_v = ways.count("half") ? GGML_TYPE_F16 : GGML_TYPE_F32;
    params.flash_attn_type =
        ways.count("flash") ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = true;
    context = llama_init_from_model(model, params);
    if (!context) return 1;
    n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    return perplexity ? print_perplexity(arguments[3]) : print_steps(arguments[2], ways);
}
