/* absent.c - stands for the downloader in a facet that was built without it. */
#include "base/error.h"
#include "fetch/fetch.h"

fct_fetch *fct_fetch_open(const struct fct_fetch_options *options, fct_error *err) {
    return fct_fail_null(
        err, FCT_ERR_UNSUPPORTED,
        "%s: this facet was built without the downloader (FACET_PULL is off, as in static builds): "
        "build it where libcurl4-openssl-dev and libssl-dev are installed, or download on another "
        "machine and copy the folder or the packed model here",
        options->source);
}

/* There is never anything to call these with. */
void fct_fetch_free(fct_fetch *fetch) { (void)fetch; }
size_t fct_fetch_n_files(const fct_fetch *fetch) { return (void)fetch, 0; }
uint64_t fct_fetch_bytes(const fct_fetch *fetch) { return (void)fetch, 0; }
uint64_t fct_fetch_missing(const fct_fetch *fetch) { return (void)fetch, 0; }
const char *fct_fetch_model(const fct_fetch *fetch) { return (void)fetch, ""; }
fct_status fct_fetch_run(fct_fetch *fetch, fct_error *err) {
    (void)fetch;
    return fct_fail(err, FCT_ERR_UNSUPPORTED, "built without the downloader");
}
fct_status fct_fetch_remove(fct_fetch *fetch, fct_error *err) {
    (void)fetch;
    return fct_fail(err, FCT_ERR_UNSUPPORTED, "built without the downloader");
}
