/* command_budget.h: how much a command may still write, stdout and stderr together (MAF-136). */
#ifndef SBX_SANDBOX_COMMAND_BUDGET_H
#define SBX_SANDBOX_COMMAND_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_budget {
	int64_t left; /* bytes; never negative */
	bool over;    /* more was written than fits; final */
};

/* How many of size bytes still fit. All of the budget is output, the first byte past it is over. */
static inline size_t sbx_budget_take(struct sbx_budget *budget, size_t size)
{
	if (budget->over)
		return 0;
	if (size > (uint64_t)budget->left) {
		budget->over = true;
		size = (size_t)budget->left;
	}
	budget->left -= (int64_t)size;
	return size;
}

#endif
