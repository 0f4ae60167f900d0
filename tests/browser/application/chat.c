/*
 * The chat (application.h): what was said is kept, and numbered from 0 on. A page asks for the next line that
 * it has not got; when nobody has said it yet, its talk is suspended until somebody does, on whatever worker
 * that is, or until it is time to ask again (204). So no line is lost between two questions.
 */
#include "application.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 1000
#define WAITING_MAX 100
#define WAIT_MS 300

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all of these */
static char *lines[LINES_MAX];
static size_t line_count;
static rv_handle waiting[WAITING_MAX];
static size_t waiting_count;

static int show(rv_talk *talk, void *ctx)
{
    (void)ctx;
    return page(talk, 200, "Chat",
                "<ol id=\"lines\"></ol>\n<form id=\"say\" action=\"%s\" data-next=\"%s\">\n"
                "<label>Say <input name=\"text\" autocomplete=\"off\"></label>\n"
                "<button>Send</button>\n</form>\n<script src=\"/site/chat.js\"></script>\n",
                link_to(talk, "/chat/say"), link_to(talk, "/chat/next"));
}

/* Lines are never taken away, so that a number is all that a waiting talk needs. */
static int answer(rv_talk *talk, void *number)
{
    pthread_mutex_lock(&mutex);
    const char *line = lines[(size_t)number];
    pthread_mutex_unlock(&mutex);
    return rv_text(talk, 200, line);
}

static void forget(void *id)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < waiting_count; i++) {
        if (waiting[i].id == (uintptr_t)id)
            waiting[i--] = waiting[--waiting_count];
    }
    pthread_mutex_unlock(&mutex);
}

static int give_up(rv_talk *talk, void *id)
{
    forget(id);
    return rv_reply(talk, 204, NULL, (rv_bytes){NULL, 0});
}

/* The mutex is held. */
static rv_error wait_for_line(rv_talk *talk)
{
    if (waiting_count == WAITING_MAX)
        return RV_EBUSY;
    rv_handle handle = rv_suspend(talk);
    rv_error error = rv_on_gone(talk, forget, (void *)handle.id);
    if (error == 0)
        error = rv_after_ms(talk, WAIT_MS, give_up, (void *)handle.id);
    if (error == 0)
        waiting[waiting_count++] = handle;
    return error;
}

static int next(rv_talk *talk, void *ctx)
{
    int64_t number;
    rv_error error = rv_param_int(talk, "number", 0, LINES_MAX, &number);
    (void)ctx;
    if (error != 0)
        return rv_problem(talk, 400, "number is that of the line to tell");
    pthread_mutex_lock(&mutex);
    bool is_there = (size_t)number < line_count;
    if (!is_there)
        error = (size_t)number == line_count ? wait_for_line(talk) : RV_ENOTFOUND;
    pthread_mutex_unlock(&mutex);
    if (error == RV_ENOTFOUND)
        return rv_problem(talk, 404, "there are lines to come before that one");
    if (error != 0)
        return error;
    return is_there ? answer(talk, (void *)(size_t)number) : RV_PENDING;
}

static int say(rv_talk *talk, void *ctx)
{
    rv_bytes user = user_of(talk), text = rv_param(talk, "text");
    char line[500];
    (void)ctx;
    int length = snprintf(line, sizeof line, "%.*s: %.*s", (int)user.len, user.ptr, (int)text.len,
                          text.ptr == NULL ? "" : text.ptr);
    char *copy = length < (int)sizeof line ? strdup(line) : NULL;
    if (copy == NULL)
        return rv_problem(talk, 413, "that is too long");
    pthread_mutex_lock(&mutex);
    bool room = line_count < LINES_MAX;
    if (room) {
        size_t number = line_count++;
        lines[number] = copy;
        while (waiting_count > 0) /* who has left meanwhile, or given up, is not found */
            rv_resume(rv_server_of(talk), waiting[--waiting_count], answer, (void *)number);
    }
    pthread_mutex_unlock(&mutex);
    if (room)
        return rv_reply(talk, 204, NULL, (rv_bytes){NULL, 0});
    free(copy);
    return rv_problem(talk, 503, "everything has been said");
}

rv_error chat_add(rv_app *app)
{
    static const rv_route_entry routes[] = {{"GET /", show, NULL, NULL, NULL},
                                            {"GET /next", next, NULL, NULL, NULL},
                                            {"POST /say", say, NULL, NULL, NULL},
                                            {0}};
    return rv_routes(app, "/chat", routes);
}

void chat_forget(void)
{
    while (line_count > 0)
        free(lines[--line_count]);
}
