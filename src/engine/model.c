/* model.c - opening a packed model: its tensors, its tokenizer, its defaults. */
#include "engine/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

/* The embedded demo, in the packed format (demo_data.S). */
extern const unsigned char fct_demo_data[];
extern const unsigned long long fct_demo_size;

static fct_pack *open_pack(const char *path, fct_error *err) {
    if (path) return fct_pack_open(path, err);
    if (!fct_demo_size)
        return fct_fail_null(err, FCT_ERR_ARGUMENT, "this build carries no demo model: name one");
    return fct_pack_open_memory(fct_demo_data, (size_t)fct_demo_size, "the embedded demo", err);
}

static fct_status choose_kernels(fct_model *model, const fct_model_options *options,
                                 fct_error *err) {
    const char *name = options && options->kernels ? options->kernels : getenv("FACET_KERNELS");
    if (name && !*name) name = NULL;
    model->kernels = fct_kernels_select(name);
    if (model->kernels) return FCT_OK;
    char known[128] = "";
    for (const char *const *k = fct_kernels_names(); *k; k++) {
        strncat(known, k == fct_kernels_names() ? "" : ", ", sizeof known - strlen(known) - 1);
        strncat(known, *k, sizeof known - strlen(known) - 1);
    }
    return fct_fail(err, FCT_ERR_ARGUMENT,
                    "kernels '%s' do not exist or cannot run on this CPU; it runs %s", name, known);
}

static void add_end(fct_model *model, int id) {
    for (int i = 0; i < model->n_ends; i++)
        if (model->ends[i] == id) return;
    if (id >= 0 && model->n_ends < FCT_MAX_ENDS) model->ends[model->n_ends++] = id;
}

/* An id, or a list of them. */
static void add_ends(fct_model *model, const json_t *value) {
    size_t i;
    json_t *one;
    if (json_is_integer(value)) add_end(model, (int)json_integer_value(value));
    json_array_foreach(value, i, one) {
        if (json_is_integer(one)) add_end(model, (int)json_integer_value(one));
    }
}

static double number_or(const json_t *object, const char *name, double fallback) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

/* Sampling as the checkpoint asks for it; a checkpoint that says nothing is answered greedily. */
static void read_generation(fct_model *model, const json_t *generation) {
    bool sampled = json_is_true(json_object_get(generation, "do_sample"));
    model->sampling = (fct_sampling){
        .temperature = sampled ? (float)number_or(generation, "temperature", 1.0) : 0.0f,
        .top_k = (int)number_or(generation, "top_k", 0),
        .top_p = (float)number_or(generation, "top_p", 1.0),
        .min_p = (float)number_or(generation, "min_p", 0.0),
        .repeat_penalty = (float)number_or(generation, "repetition_penalty", 1.0)};
    add_ends(model, json_object_get(generation, "eos_token_id"));
}

static fct_status read_metadata(fct_model *model, fct_error *err) {
    const fct_pack *pack = model->pack;
    json_t *config = fct_pack_metadata_json(pack, "config", err);
    if (!config) return FCT_ERR_FORMAT;
    fct_status status = fct_config_parse(&model->config, config, fct_pack_path(pack), err);
    json_t *generation = fct_pack_metadata_json(pack, "generation", NULL);
    read_generation(model, generation);
    add_ends(model, json_object_get(config, "eos_token_id"));
    json_decref(generation);
    json_decref(config);
    const char *weights = fct_pack_metadata(pack, "weights");
    model->float_weights = weights && strcmp(weights, "f32") == 0;
    return status;
}

/* Whatever the list of ends says: the end of a turn ends an answer, and so does waiting for a
 * tool's response. */
static void add_ends_of_format(fct_model *model) {
    static const char *const ends[][3] = {
        [FCT_CHAT_GEMMA4] = {"<turn|>", "<eos>", "<|tool_response>"},
        [FCT_CHAT_GEMMA3] = {"<end_of_turn>", "<eos>"}};
    for (int i = 0; model->chat != FCT_CHAT_NONE && i < 3; i++)
        if (ends[model->chat][i])
            add_end(model, fct_vocabulary_control(model->vocabulary, ends[model->chat][i]));
}

static fct_status open_text(fct_model *model, fct_error *err) {
    model->bos_id = -1;
    if (!fct_pack_has(model->pack, FCT_TENSOR_TOKENIZER)) return FCT_OK;
    size_t n_bytes;
    const uint8_t *block = fct_pack_bytes(model->pack, FCT_TENSOR_TOKENIZER, &n_bytes, err);
    if (!block) return FCT_ERR_FORMAT;
    model->vocabulary = fct_vocabulary_open(block, n_bytes, err);
    if (!model->vocabulary) return FCT_ERR_FORMAT;
    if (fct_vocabulary_text_size(model->vocabulary) > model->config.vocab_size)
        return fct_fail(err, FCT_ERR_FORMAT, "%s: the tokenizer has %d pieces, the network only %d",
                        fct_pack_path(model->pack), fct_vocabulary_text_size(model->vocabulary),
                        model->config.vocab_size);
    model->token_tables = fct_token_tables_new(model->vocabulary, model->config.vocab_size, err);
    if (!model->token_tables) return FCT_ERR_MEMORY;
    model->bos_id = fct_vocabulary_control(model->vocabulary, "<bos>");
    const char *chat = fct_pack_metadata(model->pack, "chat");
    if (chat && strcmp(chat, "gemma4") == 0) model->chat = FCT_CHAT_GEMMA4;
    if (chat && strcmp(chat, "gemma3") == 0) model->chat = FCT_CHAT_GEMMA3;
    add_ends_of_format(model);
    return FCT_OK;
}

fct_model *fct_model_open(const char *path, const fct_model_options *options, fct_error *err) {
    double start = fct_seconds();
    fct_model *model = fct_new(sizeof *model, err);
    if (!model) return NULL;
    if (choose_kernels(model, options, err) != FCT_OK) goto failed;
    model->pack = open_pack(path, err);
    if (!model->pack) goto failed;
    if (read_metadata(model, err) != FCT_OK) goto failed;
    if (fct_weights_open(&model->weights, &model->config, model->pack, err) != FCT_OK) goto failed;
    if (open_text(model, err) != FCT_OK) goto failed;
    model->placement =
        fct_placement_new(model->pack, options ? options->memory : FCT_MEMORY_AUTO, err);
    if (!model->placement) goto failed;
    model->load_seconds = fct_seconds() - start;
    return model;
failed:
    fct_model_free(model);
    return NULL;
}

void fct_model_free(fct_model *model) {
    if (!model) return;
    fct_placement_free(model->placement);
    fct_token_tables_free(model->token_tables);
    fct_vocabulary_free(model->vocabulary);
    fct_pack_free(model->pack);
    free(model);
}

fct_model_info fct_model_describe(const fct_model *model) {
    const char *weights = fct_pack_metadata(model->pack, "weights"),
               *source = fct_pack_metadata(model->pack, "source");
    const uint8_t *hot;
    size_t hot_bytes;
    fct_pack_hot(model->pack, &hot, &hot_bytes);
    return (fct_model_info){
        .architecture = model->config.family,
        .weights = weights ? weights : "unknown",
        .source = source ? source : "unknown",
        .checksum = fct_pack_metadata(model->pack, FCT_KEY_CHECKSUM),
        .kernels = model->kernels->name,
        .memory = fct_placement_name(model->placement),
        .vocab_size = model->config.vocab_size,
        .hidden_size = model->config.hidden_size,
        .n_layers = model->config.n_layers,
        .max_context = model->config.max_positions,
        .sliding_window = model->config.sliding_window,
        .has_tokenizer = model->vocabulary != NULL,
        .has_expected = fct_pack_metadata(model->pack, "expected") != NULL,
        .file_bytes = fct_pack_size(model->pack),
        .bytes_per_token = model->weights.bytes_per_token,
        .hot_bytes = hot_bytes,
        .hot_bytes_read = fct_placement_n_read(model->placement),
        .load_seconds = model->load_seconds,
        .huge_page_share = fct_placement_huge_share(model->placement),
    };
}

fct_sampling fct_model_sampling(const fct_model *model) { return model->sampling; }
int fct_bos_id(const fct_model *model) { return model->bos_id; }

bool fct_is_end_id(const fct_model *model, int id) {
    for (int i = 0; i < model->n_ends; i++)
        if (model->ends[i] == id) return true;
    return false;
}

bool fct_is_control_id(const fct_model *model, int id) {
    return model->vocabulary && fct_vocabulary_is_control(model->vocabulary, id);
}

void fct_model_settle(const fct_model *model) { fct_placement_settle(model->placement); }

const char *const *fct_kernel_names(void) { return fct_kernels_names(); }
