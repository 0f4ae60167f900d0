/*
 * Handlers of the wire app that take forms and remember their clients.
 */
#ifndef WIRE_STATE_H
#define WIRE_STATE_H

#include <rivulet.h>

/* Gives the app sessions, and adds the routes. */
rv_error wire_state_add(rv_app *app);

#endif
