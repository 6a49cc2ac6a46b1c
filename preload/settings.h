/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as this process got them. Rule: read once from the environment, at start-up; bad ones become facts. */
#ifndef TFP_PRELOAD_SETTINGS_H
#define TFP_PRELOAD_SETTINGS_H

#include "preload/settings_parse.h"

/* Written by tfp_settings_load; kept across fork. */
extern struct tfp_settings tfp_settings __attribute__((visibility("hidden")));

/* Defaults, then every TFPROF_ variable. Start-up only, once per program. */
void tfp_settings_load(void);

/* OUT as it was meant when the program started, whatever its folder is by now; relative only where no path could be had. */
const char *tfp_settings_out(void);

/* A relative OUT is made whole in what this program hands on. Constructor only, of a program that keeps a log. */
void tfp_settings_hand_on(void);

/* One setting fact a row, one setting_error fact a variable that was refused. Once the log is there. */
void tfp_settings_note(void);

#endif
