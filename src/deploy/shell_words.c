/* shell_words.c - names that a shell reads as they are. */
#include "deploy/shell_words.h"

#include <string.h>

#include "base/error.h"

/* Between single quotes everything stands for itself but the quote, which is put between two
 * quoted parts. */
void fct_shell_word_add(struct fct_text *script, const char *text) {
    fct_text_puts(script, "'");
    for (const char *quote; (quote = strchr(text, '\'')); text = quote + 1) {
        fct_text_add(script, text, (size_t)(quote - text));
        fct_text_puts(script, "'\\''");
    }
    fct_text_puts(script, text);
    fct_text_puts(script, "'");
}

void fct_shell_path_add(struct fct_text *script, const char *path) {
    if (path[0] == '~' && (path[1] == '/' || !path[1])) {
        fct_text_puts(script, "\"$HOME\"");
        path++;
        if (!*path) return;
    }
    fct_shell_word_add(script, path);
}

fct_status fct_shell_name_check(const char *what, const char *name, fct_error *err) {
    if (!*name) return fct_fail(err, FCT_ERR_ARGUMENT, "%s: the name is empty", what);
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return fct_fail(err, FCT_ERR_ARGUMENT, "%s: the name \"%s\" has control characters",
                            what, name);
    return FCT_OK;
}

/* ssh takes what begins with '-' for an option; white space and quotes are in no name of a host,
 * but may reach a shell by a ProxyCommand. */
fct_status fct_destination_check(const char *destination, fct_error *err) {
    static const char unwanted[] = " \t\"'`$\\;&|<>(){}*?!#~";
    fct_status status = fct_shell_name_check("USER@HOST", destination, err);
    if (status) return status;
    const char *at = strrchr(destination, '@');
    if (destination[0] == '-' || strpbrk(destination, unwanted) || at == destination ||
        (at && (!at[1] || at[1] == '-')))
        return fct_fail(err, FCT_ERR_ARGUMENT,
                        "\"%s\" is no machine's name: give USER@HOST, as pi@raspberrypi.local",
                        destination);
    return FCT_OK;
}
