/* demo_children.h - a capability with all that a parent needs: children, a finalizer, a claim, a condition.
 *
 * A Market has a Stall for each of its goods, in its namespace, and no others. It holds the one Square of the cluster
 * while it is there: of several Markets one has it. When a Market goes, its stalls go first, then the square is free,
 * then its finalizer.
 */
#pragma once
#include "plan/facts.h"
#include "run/loop.h"

#define FL_MARKET_SPEC(X) X(STRS, goods, "goods", .help = "What is sold.")
FL_STRUCT(fl_market_spec, FL_MARKET_SPEC);
#define FL_MARKET_STATUS(X) FL_CONDITIONS(X)
FL_STRUCT(fl_market_status, FL_MARKET_STATUS);
#define FL_MARKET(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_market_spec), spec, "spec", .help = "What a person wants.") \
	X(OBJ(fl_market_status), status, "status", .help = "What is so.")
FL_STRUCT(fl_market, FL_MARKET);
extern const struct fl_kind fl_market_kind;

#define FL_STALL_SPEC(X) X(STR, sells, "sells", .help = "What is sold there.")
FL_STRUCT(fl_stall_spec, FL_STALL_SPEC);
#define FL_STALL(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_stall_spec), spec, "spec", .help = "What kind of stall it is.")
FL_STRUCT(fl_stall, FL_STALL);
extern const struct fl_kind fl_stall_kind;

#define FL_SQUARE_SPEC(X) X(STR, market, "market", .help = "Who has it; empty: nobody.")
FL_STRUCT(fl_square_spec, FL_SQUARE_SPEC);
#define FL_SQUARE(X) \
	FL_OBJECT(X) \
	X(OBJ(fl_square_spec), spec, "spec", .help = "Whose it is.")
FL_STRUCT(fl_square, FL_SQUARE);
extern const struct fl_kind fl_square_kind;

#define MARKET_FACTS(X) \
	X(SELF, fl_market, market) \
	X(CHILDREN, fl_stall, stalls, stall_len, fl_market) \
	X(ONLY, fl_square, square)
FL_FACTS(market_facts, MARKET_FACTS, struct fl_str taken;);   /* taken: the stall that is somebody else's, and whose */
void market_plan(const void *facts, struct fl_plan *plan);
extern const struct fl_capability markets;
extern const struct fl_source market_sources[];
