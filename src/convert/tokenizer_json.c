/* tokenizer_json.c - reads a Hugging Face tokenizer.json: pieces, merges, added tokens, and refuses
 * what it cannot follow. */
#include "convert/tokenizer_json.h"

#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "pack/stand_in.h"
#include "text/vocabulary.h"

#define MAX_FILE_BYTES ((size_t)1 << 28)
#define MAX_PIECES (1 << 22) /* far above any vocabulary; ids beyond it would only claim memory */
#define SPACE_PIECE "\xE2\x96\x81"

struct reader {
    const char *path;
    json_t *root;
    int n_pieces;
    const char **pieces; /* [n_pieces]; strings of root */
    bool *control, *matched;
    int (*merges)[2];
    size_t n_merges;
    int n_control, n_matched;
    fct_error *err;
};

static fct_status wrong(struct reader *r, const char *what) {
    return fct_fail(r->err, FCT_ERR_FORMAT, "%s: %s", r->path, what);
}
static fct_status unsupported(struct reader *r, const char *what, const char *name) {
    return fct_fail(r->err, FCT_ERR_UNSUPPORTED, "%s: %s %s is not supported", r->path, what, name);
}

/* The type of a normalizer and the like, for a message. */
static const char *type_of(const json_t *part) {
    if (!part || json_is_null(part)) return "null";
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : "without a type";
}
static bool is_type(const json_t *part, const char *type) {
    return strcmp(type_of(part), type) == 0;
}
static bool is_text(const json_t *value, const char *text) {
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}
static bool is_absent(const json_t *value) { return !value || json_is_null(value); }

static bool is_replace(const json_t *part, const char *from, const char *to) {
    return is_type(part, "Replace") &&
           is_text(json_object_get(json_object_get(part, "pattern"), "String"), from) &&
           is_text(json_object_get(part, "content"), to);
}

/* A list of one stands for what it holds. */
static const json_t *unwrap(const json_t *part, const char *list_key) {
    const json_t *list = json_object_get(part, list_key);
    return is_type(part, "Sequence") && json_array_size(list) == 1 ? json_array_get(list, 0) : part;
}

static fct_status check_normalizer(struct reader *r) {
    const json_t *part = unwrap(json_object_get(r->root, "normalizer"), "normalizers");
    if (is_replace(part, " ", SPACE_PIECE)) return FCT_OK;
    if (!is_type(part, "Sequence")) return unsupported(r, "normalizer", type_of(part));
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(part, "normalizers"), i, step) {
        if (!is_replace(step, " ", SPACE_PIECE)) return unsupported(r, "normalizer", type_of(step));
    }
    return unsupported(r, "normalizer", "Sequence");
}

/* Splitting at spaces does nothing: the normalizer has left none. */
static fct_status check_pre_tokenizer(struct reader *r) {
    const json_t *part = unwrap(json_object_get(r->root, "pre_tokenizer"), "pretokenizers");
    if (is_absent(part)) return FCT_OK;
    if (is_type(part, "Split") &&
        is_text(json_object_get(json_object_get(part, "pattern"), "String"), " "))
        return FCT_OK;
    return unsupported(r, "pre_tokenizer", type_of(part));
}

static fct_status check_decoder(struct reader *r) {
    const json_t *part = json_object_get(r->root, "decoder"),
                 *steps = json_object_get(part, "decoders");
    if (!is_type(part, "Sequence")) return unsupported(r, "decoder", type_of(part));
    bool replaced = false, bytes = false;
    size_t i;
    json_t *step;
    json_array_foreach(steps, i, step) {
        bool replace = is_replace(step, SPACE_PIECE, " "), fallback = is_type(step, "ByteFallback");
        if (!replace && !fallback && !is_type(step, "Fuse"))
            return unsupported(r, "decoder", type_of(step));
        replaced |= replace;
        bytes |= fallback;
    }
    return replaced && bytes ? FCT_OK : wrong(r, "decoder: lacks Replace or ByteFallback");
}

static fct_status check_model(struct reader *r, const json_t *model) {
    if (!json_is_object(model)) return wrong(r, "model: missing or not an object");
    if (!is_type(model, "BPE")) return unsupported(r, "model type", type_of(model));
    if (!json_is_true(json_object_get(model, "byte_fallback")))
        return unsupported(r, "model", "without byte_fallback");
    if (json_is_true(json_object_get(model, "ignore_merges")))
        return unsupported(r, "model: ignore_merges", "true");
    const json_t *dropout = json_object_get(model, "dropout");
    if (!is_absent(dropout) && json_number_value(dropout) != 0.0)
        return unsupported(r, "model:", "dropout");
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (int i = 0; i < 2; i++) {
        const json_t *affix = json_object_get(model, affixes[i]);
        if (!is_absent(affix) && !is_text(affix, "")) return unsupported(r, "model:", affixes[i]);
    }
    return FCT_OK;
}

static bool is_id(const json_t *value) {
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < MAX_PIECES;
}

/* One more than the highest id of the vocabulary and of the added tokens. */
static fct_status count_pieces(struct reader *r, json_t *vocabulary, const json_t *added) {
    const char *piece;
    json_t *value;
    size_t i;
    json_int_t highest = -1;
    json_object_foreach(vocabulary, piece, value) {
        if (!is_id(value))
            return fct_fail(r->err, FCT_ERR_FORMAT, "%s: vocab: the id of \"%s\" is out of range",
                            r->path, piece);
        if (json_integer_value(value) > highest) highest = json_integer_value(value);
    }
    json_array_foreach(added, i, value) {
        const json_t *id = json_object_get(value, "id");
        if (!is_id(id))
            return fct_fail(r->err, FCT_ERR_FORMAT, "%s: added_tokens[%zu]: id out of range",
                            r->path, i);
        if (json_integer_value(id) > highest) highest = json_integer_value(id);
    }
    if (highest < 0) return wrong(r, "vocab: empty");
    /* Slots without a piece are allowed, but not a file of a few pieces that makes room for
     * millions. */
    if ((size_t)highest >= 2 * (json_object_size(vocabulary) + json_array_size(added)))
        return fct_fail(r->err, FCT_ERR_FORMAT, "%s: vocab: id %lld for %zu pieces", r->path,
                        (long long)highest, json_object_size(vocabulary));
    r->n_pieces = (int)highest + 1;
    return FCT_OK;
}

static fct_status make_room(struct reader *r, const json_t *merges) {
    size_t n = (size_t)r->n_pieces;
    r->n_merges = json_array_size(merges);
    r->pieces = fct_new_array(n, sizeof *r->pieces, r->err);
    r->control = fct_new_array(n, sizeof *r->control, r->err);
    r->matched = fct_new_array(n, sizeof *r->matched, r->err);
    r->merges = fct_new_array(r->n_merges + 1, sizeof *r->merges, r->err);
    return r->pieces && r->control && r->matched && r->merges ? FCT_OK : FCT_ERR_MEMORY;
}

static fct_status read_pieces(struct reader *r, json_t *vocabulary) {
    const char *piece;
    json_t *value;
    json_object_foreach(vocabulary, piece, value) {
        int id = (int)json_integer_value(value);
        if (r->pieces[id])
            return fct_fail(r->err, FCT_ERR_FORMAT,
                            "%s: vocab: \"%s\" and \"%s\" have the same id %d", r->path,
                            r->pieces[id], piece, id);
        r->pieces[id] = piece;
    }
    return FCT_OK;
}

/* Names are matched as they stand in the text; whatever asks for more is refused. */
static fct_status read_added_token(struct reader *r, const json_t *token, size_t i) {
    static const char *const switches[] = {"single_word", "lstrip", "rstrip", "normalized"};
    const char *name = json_string_value(json_object_get(token, "content"));
    if (!name || !*name)
        return fct_fail(r->err, FCT_ERR_FORMAT,
                        "%s: added_tokens[%zu]: content is missing or empty", r->path, i);
    for (int k = 0; k < 4; k++)
        if (json_is_true(json_object_get(token, switches[k])))
            return fct_fail(r->err, FCT_ERR_UNSUPPORTED,
                            "%s: added token \"%s\": %s is not supported", r->path, name,
                            switches[k]);
    int id = (int)json_integer_value(json_object_get(token, "id"));
    if (r->control[id] || r->matched[id])
        return fct_fail(r->err, FCT_ERR_FORMAT, "%s: added_tokens: two have the id %d", r->path,
                        id);
    if (r->pieces[id] && strcmp(r->pieces[id], name) != 0)
        return fct_fail(r->err, FCT_ERR_FORMAT,
                        "%s: id %d is \"%s\" in vocab and \"%s\" in added_tokens", r->path, id,
                        r->pieces[id], name);
    r->pieces[id] = name;
    bool special = json_is_true(json_object_get(token, "special"));
    *(special ? &r->control[id] : &r->matched[id]) = true;
    r->n_control += special;
    r->n_matched += !special;
    return FCT_OK;
}

static fct_status read_added_tokens(struct reader *r, const json_t *added) {
    size_t i;
    json_t *token;
    json_array_foreach(added, i, token) {
        fct_status status = read_added_token(r, token, i);
        if (status != FCT_OK) return status;
    }
    return FCT_OK;
}

/* A merge is ["a", "b"], or "a b" in older files. */
static bool read_merge(const fct_piece_index *index, const json_t *merge, int ids[2]) {
    if (json_is_string(merge)) return fct_piece_index_split(index, json_string_value(merge), ids);
    if (json_array_size(merge) != 2) return false;
    for (size_t side = 0; side < 2; side++) {
        const json_t *part = json_array_get(merge, side);
        if (!json_is_string(part)) return false;
        ids[side] = fct_piece_index_find(index, json_string_value(part), json_string_length(part));
        if (ids[side] < 0) return false;
    }
    return true;
}

static fct_status read_merges(struct reader *r, const json_t *merges) {
    fct_error why;
    fct_piece_index *index = fct_piece_index_new(r->pieces, r->n_pieces, &why);
    if (!index) return fct_fail(r->err, why.code, "%s: %s", r->path, why.message);
    fct_status status = FCT_OK;
    size_t i;
    json_t *merge;
    json_array_foreach(merges, i, merge) {
        if (read_merge(index, merge, r->merges[i])) continue;
        status = fct_fail(r->err, FCT_ERR_FORMAT, "%s: merges[%zu] is not two pieces of vocab",
                          r->path, i);
        break;
    }
    fct_piece_index_free(index);
    return status;
}

static fct_status read_all(struct reader *r) {
    json_t *model = json_object_get(r->root, "model"),
           *vocabulary = json_object_get(model, "vocab");
    json_t *merges = json_object_get(model, "merges"),
           *added = json_object_get(r->root, "added_tokens");
    fct_status status = check_model(r, model);
    if (status == FCT_OK) status = check_normalizer(r);
    if (status == FCT_OK) status = check_pre_tokenizer(r);
    if (status == FCT_OK) status = check_decoder(r);
    if (status != FCT_OK) return status;
    if (!json_is_object(vocabulary)) return wrong(r, "model: vocab is missing or not an object");
    if (!json_is_array(merges)) return wrong(r, "model: merges is missing or not an array");
    if (!is_absent(added) && !json_is_array(added)) return wrong(r, "added_tokens is not an array");
    status = count_pieces(r, vocabulary, added);
    if (status == FCT_OK) status = make_room(r, merges);
    if (status == FCT_OK) status = read_pieces(r, vocabulary);
    if (status == FCT_OK) status = read_added_tokens(r, added);
    if (status == FCT_OK) status = read_merges(r, merges);
    return status;
}

static fct_status parse(struct reader *r) {
    size_t n_bytes;
    char *text = fct_file_read(r->path, MAX_FILE_BYTES, &n_bytes, r->err);
    if (!text) return r->err->code;
    json_error_t error;
    r->root = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &error);
    fct_status status = r->root ? FCT_OK : fct_stand_in_check(r->path, text, n_bytes, r->err);
    fct_free(text);
    if (status != FCT_OK) return status;
    if (!r->root)
        return fct_fail(r->err, FCT_ERR_FORMAT, "%s: line %d, column %d: %s", r->path, error.line,
                        error.column, error.text);
    return json_is_object(r->root) ? FCT_OK : wrong(r, "not a JSON object");
}

static fct_status build(const struct reader *r, uint8_t **block, size_t *n_bytes) {
    struct fct_vocabulary_source source = {r->n_pieces, r->pieces,   r->control,
                                           r->matched,  r->n_merges, (const int(*)[2])r->merges};
    fct_error why;
    fct_status status = fct_vocabulary_build(&source, block, n_bytes, &why);
    return status == FCT_OK ? FCT_OK : fct_fail(r->err, status, "%s: %s", r->path, why.message);
}

fct_status fct_tokenizer_json_read(const char *path, uint8_t **block, size_t *n_bytes,
                                   struct fct_tokenizer_summary *summary, fct_error *err) {
    fct_error unwanted;
    struct reader r = {.path = path, .err = err ? err : &unwanted};
    fct_status status = parse(&r);
    if (status == FCT_OK) status = read_all(&r);
    if (status == FCT_OK) status = build(&r, block, n_bytes);
    if (status == FCT_OK && summary)
        *summary = (struct fct_tokenizer_summary){r.n_pieces, r.n_merges, r.n_control, r.n_matched};
    fct_free(r.pieces);
    fct_free(r.control);
    fct_free(r.matched);
    fct_free(r.merges);
    json_decref(r.root);
    return status;
}
