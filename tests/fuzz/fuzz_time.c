/* Times and durations: what is read prints as what reads the same. */
#include "base/buf.h"
#include "base/units.h"
#include "fuzz.h"
#include "json/time.h"
#include <stdlib.h>

static void must(bool so)
{
	if (!so)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FL_AUTO(fl_buf) struct fl_buf buf = FL_BUF(1 * FL_KIB);
	struct fl_str text = { (const char *)data, (uint32_t)size };
	char printed[FL_TIME_TEXT];
	int64_t us, micro, ns, back;
	uint32_t len;

	(void)fl_time_is_yaml(text);
	if (fl_time_parse(text, &us, NULL) == 0 && us != FL_TIME_NONE) {
		len = fl_time_print_micro(us, printed);
		must(fl_time_parse_micro((struct fl_str){ printed, len }, &back, NULL) == 0 && back == us);
		len = fl_time_print(us, printed);
		must(fl_time_parse((struct fl_str){ printed, len }, &back, NULL) == 0);
		must(back == FL_TIME_NONE || (back <= us && us - back < 1000000));
	}
	if (fl_time_parse_micro(text, &micro, NULL) == 0)
		must(fl_time_parse(text, &us, NULL) == 0 && us == micro);
	if (fl_duration(text, &ns)) {
		fl_buf_duration(&buf, ns);
		must(!buf.failed && fl_duration(fl_buf_view(&buf), &back) && back == ns);
	}
	return 0;
}
