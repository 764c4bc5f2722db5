/* owner.h - which field manager writes which fields of a kind, for plans (src/plan).
 *
 * The rules and the walkers are json/bind_owner.h.
 */
#pragma once
#include "json/bind_owner.h"
