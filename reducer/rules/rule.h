/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of rules share. Private to this folder.
 *
 * Rule: helpers over facts; no rule here.
 */
#ifndef REDUCER_RULES_RULE_H
#define REDUCER_RULES_RULE_H

#include "reducer/rules/rules.h"

#define RULE_NO_STEPS "no step with work of a framework or a device in it was recorded, so the time of a step cannot be split"
#define RULE_NO_TIME "the length of the run is not known"
#define RULE_NO_COPIES "no copies of a GPU were recorded"
#define RULE_NO_KERNELS "fewer than 100 kernels ran: too few to say anything"
#define RULE_KERNELS_LEAST 100
#define RULE_NO_GPU "the program used no GPU"
#define RULE_UNSEEN "of too many launches nothing was recorded of what the device did, so when it waited is not known"
#define RULE_ONE_DEVICE "only one device was used"
#define RULE_PRIVATE_THREADS " TF_GPU_THREAD_MODE=gpu_private gives launches threads of their own." /* a remedy's further sentence */

#define RULE(name, area, threshold, unit, help) void rule_##name(const struct rule_facts *facts, struct finding *finding);
#define LIMIT(rule, name, value, unit, help)
#include "reducer/tables/rules.def"
#undef RULE
#undef LIMIT

/* Devices that worked, at least 1: of all processes; of a process on average. */
double rule_devices(const struct rule_facts *facts);
double rule_devices_each(const struct rule_facts *facts);
/* The whole time, of all devices: what device times are shares of. */
double rule_device_time(const struct rule_facts *facts);
/* Steps, at least 1. */
double rule_steps(const struct rule_facts *facts);

/* Is it known when devices worked, and so when they waited? */
bool rule_knows_waiting(const struct rule_facts *facts);
/* Did enough kernels run for shares of their time to mean something? */
bool rule_has_kernels(const struct rule_facts *facts);
/* What the time is of: "step", "request", "call". */
const char *rule_unit_word(const struct rule_facts *facts);
/* ns of the whole time that go to kernels which make up `percent` of the kernels' time: what could be won there. */
double rule_compute_part(const struct rule_facts *facts, double percent);

/* A rule that only asks whether one part of the step is too large. Returns that part's percent; -1 = it is blind. */
double rule_part(const struct rule_facts *facts, struct finding *finding, enum fact_id part, const char *assumption);

#endif
