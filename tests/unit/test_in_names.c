/* test_in_names.c: which names stay local until their saver renames them. */
#include "in_file.h"
#include "unit.h"

START_TEST(knows_the_temporary_names_of_savers)
{
	static const char *const temporary[] = { ".data.csv.Xy12aZ", "sedAb12Cd", "big.iso.part",
		"a.crdownload", ".goutputstream-ABC", "lu1234abc.tmp", ".~lock.doc.odt#",
		".a.txt.swp", ".a.txt.swo", "4913", "index.lock", "packed-refs.lock", "tmp_obj_x1",
		".DS_Store", "._.DS_Store", ".directory", "Thumbs.db", "desktop.ini" };
	static const char *const final[] = { "data.csv", ".bashrc", "sed", "sedan.txt", "a.swpx",
		"lock", "4914", "a~", ".a.b", "part", "tmp_object", ".app.config", "x.swp",
		"directory", "._notes", "Cargo.lock", "poetry.lock", "yarn.lock", ".lock",
		"DS_Store", "thumbs.dbx", "my.desktop.ini" };
	for (size_t i = 0; i < sizeof(temporary) / sizeof(temporary[0]); i++)
		ck_assert_msg(sbx_in_name_temporary(NULL, temporary[i]), "%s", temporary[i]);
	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++)
		ck_assert_msg(!sbx_in_name_temporary(NULL, final[i]), "%s", final[i]);
}
END_TEST

START_TEST(takes_patterns_of_its_user)
{
	ck_assert(sbx_in_name_temporary("*.tmp:x", "a.tmp"));
	ck_assert(sbx_in_name_temporary("*.tmp:x", "x"));
	ck_assert(!sbx_in_name_temporary("*.tmp:x", "4913"));
	ck_assert(!sbx_in_name_temporary(":", ""));
}
END_TEST

UNIT_MAIN("in_names", knows_the_temporary_names_of_savers, takes_patterns_of_its_user)
