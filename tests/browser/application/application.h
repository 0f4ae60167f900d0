/*
 * The application that a browser is driven through: what people do with sites, made with rivulet.h alone.
 *
 *     application.c   the command line, and which app has which pages
 *     page.c          pages, links that keep the session, text in HTML
 *     visitors.c      visits, logging in and out, who is let in
 *     upload.c        files that go straight to a folder, and how far they are
 *     chat.c          talks that wait for what others say
 *
 * All pages are there twice: at "/", where a cookie holds the session, and at "/linked", where every link
 * carries it.
 */
#ifndef BROWSER_APPLICATION_H
#define BROWSER_APPLICATION_H

#include <rivulet.h>

/* Answers with a page around `format`, which is HTML. RV_EGONE when the talk is NULL. */
__attribute__((format(printf, 4, 5))) int page(rv_talk *talk, int status, const char *title,
                                               const char *format, ...);

/* The text as HTML text or as an attribute's value; lives as long as the talk. "" without memory. */
const char *escaped(rv_talk *talk, rv_bytes text);

/* Where "/upload" is for this talk: below the app's mount, and with the session if links carry it. */
const char *link_to(rv_talk *talk, const char *path);

/* Goes on with another page (303), whose path is as of link_to. */
int go_to(rv_talk *talk, const char *path);

/* The name that the visitor has logged in with; absent: none. */
rv_bytes user_of(rv_talk *talk);

rv_error visitors_add(rv_app *app);
rv_error upload_add(rv_app *app, const char *folder);
rv_error chat_add(rv_app *app);

/* Frees what was said. When the server has ended. */
void chat_forget(void);

#endif
