/*
 * Visitors (application.h): a session counts their visits from the first one on; whoever logs in keeps it
 * under another name, so that a name that somebody else has planted or seen is worth nothing.
 */
#include "application.h"

#include <inttypes.h>

static const struct {
    const char *name, *password;
} users[] = {{"Ada", "lovelace & co. = 1+1"}, {"Bob", "builder"}};

rv_bytes user_of(rv_talk *talk)
{
    rv_bytes user = {NULL, 0};
    rv_session *session = rv_session_found(talk);
    if (session != NULL)
        rv_session_get_string(talk, session, "user", &user);
    return user;
}

/* Counts in the session under `key`, which begins one if there is none. */
static rv_error count(rv_talk *talk, const char *key, int64_t *sum)
{
    rv_session *session;
    rv_error error = rv_session_of(talk, &session);
    return error == 0 ? rv_session_add_int(session, key, 1, sum) : error;
}

static int home(rv_talk *talk, void *ctx)
{
    int64_t visits;
    rv_error error = count(talk, "visits", &visits);
    (void)ctx;
    if (error != 0)
        return error;
    rv_bytes user = user_of(talk);
    return page(talk, 200, "Home",
                "<p id=\"visits\">Visit %" PRId64 "</p>\n<p id=\"user\">%s</p>\n", visits,
                user.len > 0 ? escaped(talk, user) : "nobody");
}

static int counter(rv_talk *talk, void *ctx)
{
    int64_t counted;
    rv_error error = count(talk, "counted", &counted);
    (void)ctx;
    if (error != 0)
        return error;
    return page(talk, 200, "Counter",
                "<p id=\"count\">%s counts %" PRId64 "</p>\n<a href=\"%s\">Again</a>\n"
                "<form method=\"post\" action=\"%s\"><button>Log out</button></form>\n",
                escaped(talk, user_of(talk)), counted, link_to(talk, "/counter"),
                link_to(talk, "/logout"));
}

static int ask(rv_talk *talk, int status, const char *complaint)
{
    return page(talk, status, "Log in",
                "<form method=\"post\" action=\"%s\">\n<label>Name <input name=\"name\"></label>\n"
                "<label>Password <input name=\"password\" type=\"password\"></label>\n"
                "<button>Log in</button>\n</form>\n<p id=\"complaint\">%s</p>\n",
                link_to(talk, "/login"), complaint);
}

static int show_login(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return ask(talk, 200, "");
}

static int welcome(rv_talk *talk, const char *name)
{
    rv_session *session;
    rv_error error = rv_session_of(talk, &session);
    if (error == 0)
        error = rv_session_renew(talk);
    if (error == 0)
        error = rv_session_set_string(session, "user", rv_str(name));
    return error == 0 ? go_to(talk, "/counter") : error;
}

static int login(rv_talk *talk, void *ctx)
{
    rv_error error = rv_form_check(talk);
    (void)ctx;
    if (error != 0)
        return error;
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        if (rv_equals(rv_param(talk, "name"), users[i].name) &&
            rv_equals(rv_param(talk, "password"), users[i].password))
            return welcome(talk, users[i].name);
    }
    return ask(talk, 403, "There is no such name, or it has another password.");
}

static int logout(rv_talk *talk, void *ctx)
{
    (void)ctx;
    rv_session_end(talk); /* RV_ESTATE: there was none, which is as good */
    return go_to(talk, "/");
}

/* The before-handler of what is for those who have logged in. */
static int need_login(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return user_of(talk).len > 0 ? RV_OK : go_to(talk, "/login");
}

rv_error visitors_add(rv_app *app)
{
    static const rv_route_entry pages[] = {{"GET /", home, NULL, NULL, NULL},
                                           {"GET /counter", counter, NULL, NULL, NULL},
                                           {"GET /login", show_login, NULL, NULL, NULL},
                                           {"POST /login", login, NULL, NULL, NULL},
                                           {"POST /logout", logout, NULL, NULL, NULL},
                                           {0}};
    static const char *const closed[] = {"/counter", "/upload", "/uploads", "/chat", NULL};
    rv_error error = rv_routes(app, NULL, pages);
    for (size_t i = 0; closed[i] != NULL && error == 0; i++)
        error = rv_before(app, closed[i], need_login, NULL);
    return error;
}
