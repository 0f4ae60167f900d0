/*
 * A site in one file: examples/assets/ becomes part of the program when it is built.
 *
 *     examples/assets [ADDRESS]     then: curl http://127.0.0.1:8080/
 *
 * In CMakeLists.txt: rivulet_embed(example_assets examples/assets)
 */
#include "assets_assets.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    const char *address = argc > 1 ? argv[1] : "127.0.0.1:8080";
    rv_server *server = rv_server_new(&(rv_server_options){.listen = address});
    if (server == NULL)
        return 1;
    rv_assets(rv_default_app(server), "/", assets_assets, assets_assets_count);
    rv_error error = rv_server_run(server);
    if (error != 0)
        fprintf(stderr, "%s\n", rv_server_error_text(server));
    rv_server_free(server);
    return error == 0 ? 0 : 1;
}
