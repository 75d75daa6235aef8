#include "core/sdr/arrival_table.h"
#include "tests/catch.h"
