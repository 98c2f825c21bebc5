/* gguf_vocabulary.c - a GGUF file's tokenizer, made into the tokenizer block of a packed file.
 *
 * The files come from many hands, and the types that they give to tokens differ from the published
 * tokenizer's: control tokens are called ordinary, unused slots control tokens. So names decide
 * where the published tokenizers are known, and types for the rest. */
#include "convert/gguf_vocabulary.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "convert/gguf_marks.h"
#include "convert/gguf_merges.h"
#include "text/vocabulary.h"

#define SPACE_PIECE "\xE2\x96\x81"
#define TOKENS "tokenizer.ggml.tokens"
enum { MAX_PIECES = 1 << 22 };
enum token_type { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

struct reader {
    const struct fct_gguf *gguf;
    const char *path;
    bool gemma4; /* else Gemma 3's */
    int n_pieces;
    char *text;          /* of all pieces */
    char *restored_text; /* of the n_restored that had lost a byte order mark */
    int n_restored;
    const char **pieces;
    bool *control, *matched, *mergeable;
    float *scores;
    int (*merges)[2];
    size_t n_merges;
    fct_error *err;
};

static fct_status wrong(const struct reader *r, const char *what) {
    return fct_fail(r->err, FCT_ERR_FORMAT, "%s: %s", r->path, what);
}

int fct_gguf_find_token(const struct fct_gguf *gguf, const char *name) {
    const struct fct_gguf_value *tokens = fct_gguf_find(gguf, TOKENS);
    const uint8_t *at = NULL;
    const char *text;
    size_t n;
    for (int id = 0; id < MAX_PIECES && fct_gguf_next_text(tokens, &at, &text, &n); id++)
        if (n == strlen(name) && memcmp(text, name, n) == 0) return id;
    return -1;
}

/* ---- pieces ---- */

/* Bytes that all pieces take, spaces written as U+2581, each with a NUL. */
static fct_status measure_text(const struct reader *r, const struct fct_gguf_value *tokens,
                               size_t *n_bytes) {
    const uint8_t *at = NULL;
    const char *text;
    size_t n;
    *n_bytes = 0;
    while (fct_gguf_next_text(tokens, &at, &text, &n)) {
        if (memchr(text, 0, n)) return wrong(r, TOKENS " has a piece with a NUL in it");
        *n_bytes += n + 1;
        for (size_t i = 0; i < n; i++)
            if (text[i] == ' ') *n_bytes += strlen(SPACE_PIECE) - 1;
    }
    return FCT_OK;
}

static void copy_pieces(struct reader *r, const struct fct_gguf_value *tokens) {
    const uint8_t *at = NULL;
    const char *text;
    char *to = r->text;
    size_t n;
    for (int id = 0; id < r->n_pieces && fct_gguf_next_text(tokens, &at, &text, &n); id++) {
        r->pieces[id] = to;
        for (size_t i = 0; i < n; i++)
            if (text[i] == ' ')
                to = stpcpy(to, SPACE_PIECE);
            else
                *to++ = text[i];
        *to++ = 0;
    }
}

static fct_status read_pieces(struct reader *r, const struct fct_gguf_value *tokens) {
    size_t n_text;
    if (!tokens->is_array || tokens->kind != FCT_GGUF_STRING || tokens->n == 0 ||
        tokens->n > MAX_PIECES)
        return wrong(r, TOKENS " is no list of up to 4194304 pieces");
    fct_status status = measure_text(r, tokens, &n_text);
    if (status != FCT_OK) return status;
    size_t n = (size_t)tokens->n;
    r->n_pieces = (int)n;
    r->text = fct_new(n_text, r->err);
    r->pieces = fct_new_array(n, sizeof *r->pieces, r->err);
    r->control = fct_new_array(n, sizeof *r->control, r->err);
    r->matched = fct_new_array(n, sizeof *r->matched, r->err);
    r->mergeable = fct_new_array(n, sizeof *r->mergeable, r->err);
    r->scores = fct_new_array(n, sizeof *r->scores, r->err);
    if (!r->text || !r->pieces || !r->control || !r->matched || !r->mergeable || !r->scores)
        return FCT_ERR_MEMORY;
    copy_pieces(r, tokens);
    return fct_gguf_restore_marks(r->pieces, r->n_pieces, &r->restored_text, &r->n_restored,
                                  r->err);
}

/* ---- what each piece is ---- */

/* Control tokens of the published tokenizers. Gemma 4's own all look like <|this>, <this|>, or
 * both. */
static bool is_control_name(const struct reader *r, const char *piece) {
    static const char *const shared[] = {"<pad>", "<eos>", "<bos>", "<unk>"};
    static const char *const gemma3[] = {"<start_of_turn>", "<end_of_turn>", "<start_of_image>",
                                         "<end_of_image>", "<image_soft_token>"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (strcmp(piece, shared[i]) == 0) return true;
    for (size_t i = 0; i < sizeof gemma3 / sizeof *gemma3 && !r->gemma4; i++)
        if (strcmp(piece, gemma3[i]) == 0) return true;
    return r->gemma4 && strcmp(piece, "<mask>") == 0;
}

/* A control token to the converter that wrote the file; in Gemma 3's tokenizer an ordinary piece
 * that is always matched. */
static bool is_idle_slot(const struct reader *r, const char *piece) {
    return !r->gemma4 &&
           (strcmp(piece, "<mask>") == 0 || strncmp(piece, "<unused", strlen("<unused")) == 0);
}

/* <|turn>, <turn|>, <|image|>, <|"|>. */
static bool is_marker(const struct reader *r, const char *piece) {
    size_t n = strlen(piece);
    return r->gemma4 && n > 3 && piece[0] == '<' && piece[n - 1] == '>' &&
           (piece[1] == '|' || piece[n - 2] == '|');
}

static void sort_piece(struct reader *r, int id, int64_t type) {
    const char *piece = r->pieces[id];
    bool special = type == CONTROL || type == UNKNOWN;
    r->control[id] = is_control_name(r, piece) || (special && !is_idle_slot(r, piece)) ||
                     (type == USER_DEFINED && is_marker(r, piece));
    r->matched[id] = !r->control[id] && (special || type == USER_DEFINED);
    r->mergeable[id] = !r->control[id] && !special && type != BYTE && type != UNUSED;
    if (type == USER_DEFINED) r->scores[id] = 0; /* that of the published model, not the file's */
}

static fct_status sort_pieces(struct reader *r) {
    const struct fct_gguf_value *types = fct_gguf_find(r->gguf, "tokenizer.ggml.token_type"),
                                *scores = fct_gguf_find(r->gguf, "tokenizer.ggml.scores");
    for (int id = 0; id < r->n_pieces; id++) {
        int64_t type = NORMAL;
        double score = 0;
        if (types && !fct_gguf_int(types, (uint64_t)id, &type))
            return wrong(r, "tokenizer.ggml.token_type has no number for each piece");
        if (scores && (!fct_gguf_number(scores, (uint64_t)id, &score) || isnan(score)))
            return wrong(r, "tokenizer.ggml.scores has no number for each piece");
        r->scores[id] = (float)score;
        sort_piece(r, id, type);
    }
    return FCT_OK;
}

/* ---- merges ---- */

static bool find_merge(const struct reader *r, const fct_piece_index *index, const char *text,
                       int ids[2]) {
    return fct_piece_index_split(index, text, ids) &&
           (!r->n_restored ||
            fct_piece_index_join(index, r->pieces[ids[0]], r->pieces[ids[1]]) >= 0);
}

/* What makes no piece as it stands may have lost a byte order mark, as pieces have. */
static fct_status read_merge(const struct reader *r, const fct_piece_index *index, const char *text,
                             size_t n, int ids[2]) {
    char merge[2048] = FCT_BYTE_ORDER_MARK, *plain = merge + strlen(FCT_BYTE_ORDER_MARK);
    if (n < sizeof merge - strlen(FCT_BYTE_ORDER_MARK) && !memchr(text, 0, n)) {
        memcpy(plain, text, n);
        plain[n] = 0;
        if (find_merge(r, index, plain, ids) || (r->n_restored && find_merge(r, index, merge, ids)))
            return FCT_OK;
    }
    return fct_fail(r->err, FCT_ERR_FORMAT,
                    "%s: tokenizer.ggml.merges[%zu] is not two pieces of the vocabulary", r->path,
                    r->n_merges);
}

static fct_status read_merges(struct reader *r, const struct fct_gguf_value *merges) {
    fct_error why = {.code = FCT_ERR_MEMORY};
    const uint8_t *at = NULL;
    const char *text;
    size_t n;
    if (!merges->is_array || merges->kind != FCT_GGUF_STRING)
        return wrong(r, "tokenizer.ggml.merges is no list of texts");
    fct_piece_index *index = fct_piece_index_new(r->pieces, r->n_pieces, &why);
    if (!index) return fct_fail(r->err, why.code, "%s: %s", r->path, why.message);
    r->merges = fct_new_array((size_t)merges->n + 1, sizeof *r->merges, r->err);
    fct_status status = r->merges ? FCT_OK : FCT_ERR_MEMORY;
    while (status == FCT_OK && fct_gguf_next_text(merges, &at, &text, &n)) {
        status = read_merge(r, index, text, n, r->merges[r->n_merges]);
        r->n_merges++;
    }
    fct_piece_index_free(index);
    return status;
}

static fct_status find_merges(struct reader *r) {
    const struct fct_gguf_value *merges = fct_gguf_find(r->gguf, "tokenizer.ggml.merges");
    if (merges && merges->n) return read_merges(r, merges);
    if (!fct_gguf_find(r->gguf, "tokenizer.ggml.scores"))
        return wrong(r, "the tokenizer has neither merges nor scores");
    struct fct_scored_pieces scored = {r->n_pieces, r->pieces, r->mergeable, r->scores};
    fct_error why;
    fct_status status = fct_merges_from_scores(&scored, &r->merges, &r->n_merges, &why);
    return status == FCT_OK ? FCT_OK : fct_fail(r->err, status, "%s: %s", r->path, why.message);
}

/* ---- the whole ---- */

static bool is_text(const struct fct_gguf_value *value, const char *wanted) {
    size_t n;
    const char *text = fct_gguf_text(value, &n);
    return text && n == strlen(wanted) && memcmp(text, wanted, n) == 0;
}

static fct_status check_model(struct reader *r) {
    const struct fct_gguf_value *model = fct_gguf_find(r->gguf, "tokenizer.ggml.model");
    size_t n = 0;
    const char *name = fct_gguf_text(model, &n);
    r->gemma4 = is_text(model, "gemma4");
    if (!r->gemma4 && !is_text(model, "llama"))
        return fct_fail(r->err, FCT_ERR_UNSUPPORTED,
                        "%s: tokenizer.ggml.model is %.*s; facet knows gemma4 and llama", r->path,
                        n < 64 ? (int)n : 64, name ? name : "");
    int64_t prefix = 0;
    if (fct_gguf_int(fct_gguf_find(r->gguf, "tokenizer.ggml.add_space_prefix"), 0, &prefix) &&
        prefix)
        return fct_fail(r->err, FCT_ERR_UNSUPPORTED,
                        "%s: the tokenizer puts a space in front of a text, which Gemma's does not",
                        r->path);
    return FCT_OK;
}

static fct_status build(const struct reader *r, uint8_t **block, size_t *n_bytes) {
    struct fct_vocabulary_source source = {r->n_pieces, r->pieces,   r->control,
                                           r->matched,  r->n_merges, (const int(*)[2])r->merges};
    fct_error why;
    fct_status status = fct_vocabulary_build(&source, block, n_bytes, &why);
    return status == FCT_OK ? FCT_OK : fct_fail(r->err, status, "%s: %s", r->path, why.message);
}

fct_status fct_gguf_vocabulary_read(const struct fct_gguf *gguf, const char *path, uint8_t **block,
                                    size_t *n_bytes, int *n_restored, fct_error *err) {
    struct reader r = {.gguf = gguf, .path = path, .err = err};
    const struct fct_gguf_value *tokens = fct_gguf_find(gguf, TOKENS);
    *block = NULL;
    *n_bytes = 0;
    *n_restored = 0;
    if (!tokens) return FCT_OK;
    fct_status status = check_model(&r);
    if (status == FCT_OK) status = read_pieces(&r, tokens);
    if (status == FCT_OK) status = sort_pieces(&r);
    if (status == FCT_OK) status = find_merges(&r);
    if (status == FCT_OK) status = build(&r, block, n_bytes);
    *n_restored = r.n_restored;
    fct_free(r.text);
    fct_free(r.restored_text);
    fct_free(r.pieces);
    fct_free(r.control);
    fct_free(r.matched);
    fct_free(r.mergeable);
    fct_free(r.scores);
    fct_free(r.merges);
    return status;
}
