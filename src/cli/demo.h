/*
 * The demo application: pages that show, and let one measure, what the library does.
 */
#ifndef RV_CLI_DEMO_H
#define RV_CLI_DEMO_H

#include <rivulet.h>

/* Adds the routes. False, with errno set, when its static file could not be made. */
bool rv_demo_add_routes(rv_app *app);

#endif
