/*
 * The folder that the wire app serves at "/", in a temporary directory: made of tests/wire/folder.json,
 * and removed again.
 */
#ifndef WIRE_FOLDER_H
#define WIRE_FOLDER_H

/* Makes it and returns the path of what is served; ends the program when that fails. */
const char *wire_folder_make(void);

/* Removes all of it. */
void wire_folder_remove(void);

#endif
