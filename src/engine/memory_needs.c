/* memory_needs.c - what a model and a session take, held against what this machine has to give. */
#include "base/error.h"
#include "base/machine.h"
#include "engine/session.h"

enum { ROW_BYTES = 64 << 10 }; /* mapped around a row of a table, at most */

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void needs_of(const fct_session *s, fct_memory_needs *out) {
    const fct_pack *pack = s->model->pack;
    const uint8_t *hot;
    size_t n_hot;
    fct_pack_hot(pack, &hot, &n_hot);
    const struct fct_safetensors *header = fct_pack_header(pack);
    uint64_t data = header->data_end - header->data_start;
    *out = (fct_memory_needs){.weights = n_hot,
                              .tables = data > n_hot ? data - n_hot : 0,
                              .kv = s->cache.n_bytes + s->mark_bytes,
                              .scratch = s->scratch.n_bytes,
                              .context = s->context,
                              .available = fct_memory_available()};
    out->rows = smaller(out->tables, (uint64_t)FCT_ROWS_AT_MOST * ROW_BYTES);
    out->together = out->weights + out->rows + out->kv + out->scratch;
}

fct_status fct_model_needs(const fct_model *model, const fct_session_options *options,
                           fct_memory_needs *out, fct_error *err) {
    fct_session *session = fct_session_reserve(model, options, err);
    if (!session) return err ? err->code : FCT_ERR_MEMORY;
    needs_of(session, out);
    fct_session_free(session);
    return FCT_OK;
}

static const char *what_bounds(void) {
    struct fct_memory_state memory;
    fct_memory_read("", &memory);
    return memory.bound_by_group ? " in its control group" : "";
}

static fct_status refuse(const fct_memory_needs *needs, bool weights, fct_error *err) {
    if (!weights)
        return fct_fail(err, FCT_ERR_MEMORY,
                        "keys and values of %d positions need %.2f GB and computing %.2f GB, but "
                        "only %.2f GB of memory are available%s: make the context smaller with -c, "
                        "or the cache with --kv q8",
                        needs->context, (double)needs->kv / 1e9,
                        (double)(needs->rows + needs->scratch) / 1e9,
                        (double)needs->available / 1e9, what_bounds());
    bool smaller_helps = needs->together - needs->kv <= needs->available;
    return fct_fail(err, FCT_ERR_MEMORY,
                    "%.2f GB of weights + %.2f GB for keys and values of %d positions + %.2f GB to "
                    "compute in = %.2f GB, but only %.2f GB of memory are available%s: %s--memory "
                    "map runs it all the same, and reads from the file again, for every token, "
                    "what does not fit",
                    (double)needs->weights / 1e9, (double)needs->kv / 1e9, needs->context,
                    (double)(needs->rows + needs->scratch) / 1e9, (double)needs->together / 1e9,
                    (double)needs->available / 1e9, what_bounds(),
                    smaller_helps ? "make the context smaller with -c, or the cache with --kv q8; "
                                  : "");
}

/* Weights that have moved into memory of our own are no longer available; those in the map are,
 * as the kernel can drop them. Who asks for the map (--memory map) has been told that weights
 * which do not fit are read again for every token. */
fct_status fct_session_fits(const fct_session *s, fct_error *err) {
    fct_memory_needs needs;
    needs_of(s, &needs);
    bool weights = fct_placement_wants_memory(s->model->placement);
    uint64_t moved = fct_placement_moved(s->model->placement);
    uint64_t needed = needs.together - moved - (weights ? 0 : needs.weights - moved);
    if (!needs.available || needed <= needs.available) return FCT_OK;
    return refuse(&needs, weights, err);
}
