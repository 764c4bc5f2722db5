/* models.h - the cards that the fake driver can be: what each says of itself, and its MIG profiles with places. */
#pragma once
#include "fake/nvml/state.h"

extern const struct fake_model fake_models[];
extern const size_t fake_models_n;
