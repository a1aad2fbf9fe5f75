/* unit.h: a Check program in one line: UNIT_MAIN("name", test, test, …). Exit 0 when all passed. */
#ifndef SBX_TESTS_UNIT_H
#define SBX_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#define UNIT_MAIN(name, ...)                                                                       \
	int main(void)                                                                             \
	{                                                                                          \
		const TTest *tests[] = { __VA_ARGS__ };                                            \
		Suite *suite = suite_create(name);                                                 \
		TCase *cases = tcase_create(name);                                                 \
		tcase_set_timeout(cases, 60);                                                      \
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)                      \
			tcase_add_test(cases, tests[i]);                                           \
		suite_add_tcase(suite, cases);                                                     \
		SRunner *runner = srunner_create(suite);                                           \
		srunner_run_all(runner, CK_ENV);                                                   \
		int failed = srunner_ntests_failed(runner);                                        \
		srunner_free(runner);                                                              \
		return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                       \
	}

#endif
