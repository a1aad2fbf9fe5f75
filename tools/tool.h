/*
 * tool.h: what the subcommands share: their table, the options they take, the engine they open, and
 * how they end.
 *
 * A subcommand is one file with one struct sbx_tool_command. Options are declared as a table; a
 * wrong one is one sentence and exit 2 before anything is asked of an engine.
 */
#ifndef SBX_TOOLS_TOOL_H
#define SBX_TOOLS_TOOL_H

#include <sbx/engine.h>
#include <sbx/sandbox.h>
#include <sbx/spec.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SBX_EXIT_USAGE = 2,
	SBX_EXIT_ABSENT = 3,
	SBX_EXIT_PARTIAL = 13,
	SBX_EXIT_INTERRUPTED = 130,
	SBX_EXIT_OURS = 125, /* exec and run: our or the engine's failure, not the guest's */
};

struct sbx_list { /* of borrowed strings, NULL-terminated once it has one */
	const char **items;
	size_t count;
};
void sbx_list_add(struct sbx_list *list, const char *item);
void sbx_list_finish(struct sbx_list *list);

struct sbx_tool {
	const struct sbx_tool_command *command;
	const char *engine_choice; /* --engine, SBXFS_ENGINE or the config file's */
	const char *config_path;   /* --config or NULL for the usual place */
	bool json;
	bool verbose;
	bool help;
	bool no_notice;
	bool quiet;		  /* --quiet: no progress, no courtesies, no notice */
	bool insecure;		  /* --insecure, or the config file's */
	int64_t timeout_ms;	  /* --timeout where it bounds the whole command; 0: its default */
	int64_t idle_ms;	  /* --idle-timeout; 0: the transport's default */
	struct sbx_list operands; /* words before "--" that are no options */
	const char *const *rest;  /* words after "--", NULL-terminated; NULL without "--" */
	struct sbx_rules *rules;
	struct sbx_pair *mount_keys; /* the config file's [mount] section */
	size_t mount_key_count;
	char *config_engine;
	struct sbx_limits limits;	    /* the config file's [limits]; 0 where it sets none */
	enum sbx_isolation isolation_floor; /* the config file's [policy] */
	struct sbx_engine *engine;
	struct sbx_cancel
		*cancel; /* fired by SIGINT, SIGTERM, SIGHUP and SIGQUIT once they are caught */
};

enum sbx_option_type {
	SBX_OPTION_FLAG,  /* bool */
	SBX_OPTION_TEXT,  /* const char * */
	SBX_OPTION_LIST,  /* struct sbx_list */
	SBX_OPTION_LINES, /* int64_t, a whole number >= 0 */
	/* The rest are above zero. */
	SBX_OPTION_COUNT,   /* int64_t, a whole number */
	SBX_OPTION_BYTES,   /* int64_t: 512m */
	SBX_OPTION_SECONDS, /* int64_t: 90, 15m, 24h */
	SBX_OPTION_MS,	    /* int64_t milliseconds, given in seconds; fractions round up */
	SBX_OPTION_CPUS,    /* int64_t nano CPUs: 0.5 */
};
struct sbx_option {
	const char *name; /* without the dashes */
	char letter;	  /* or 0 */
	enum sbx_option_type type;
	void *target;
};

struct sbx_tool_command {
	const char *name;
	const char *usage;   /* after "sbxfs NAME " */
	const char *summary; /* one line */
	const char *help;    /* the rest of `sbxfs help NAME` */
	int (*run)(struct sbx_tool *tool, int argc, char **argv);
	const char *shared_help; /* after it, or NULL: options that several commands take */
};
extern const struct sbx_tool_command *const sbx_tool_commands[]; /* NULL-terminated */
const struct sbx_tool_command *sbx_tool_find(const char *name);
void sbx_tool_print_help(const struct sbx_tool_command *command);

/* Parses argv (without the command's name) by the table and the common options (--engine, --config,
 * --json, --verbose, --help). Reads the config file. Returns 0, or -errno with err; *done is set
 * when help was printed and the command is over. */
int sbx_tool_parse(struct sbx_tool *tool, int argc, char **argv, const struct sbx_option *options,
	bool *done, struct sbx_error *err);
/* The words alone, without the config file or help; sbx_tool_parse calls it. */
int sbx_tool_parse_words(struct sbx_tool *tool, int argc, char **argv,
	const struct sbx_option *options, struct sbx_error *err);
int sbx_tool_operands(
	const struct sbx_tool *tool, size_t least, size_t most, struct sbx_error *err);

/* Reads the config file ($XDG_CONFIG_HOME/sbxfs/config.ini unless tool->config_path): rules,
 * [engine] and [mount]. A missing default file is fine; a wrong line is EINVAL with file and line.
 */
int sbx_tool_read_config(struct sbx_tool *tool, struct sbx_error *err);

/* Flag, then source (of a mount, or NULL), environment, config file; NULL: as the docker client
 * finds it. Borrowed. */
const char *sbx_tool_engine_choice(const struct sbx_tool *tool, const char *source);

/* Opens the engine. With planes the guardian is started too, before any thread; then signals fire
 * tool->cancel. */
int sbx_tool_open(struct sbx_tool *tool, bool planes, struct sbx_error *err);
struct sbx_call sbx_tool_call(const struct sbx_tool *tool, int64_t default_ms);
void sbx_tool_close(struct sbx_tool *tool); /* everything, NULL-safe */

/* Prints the sentence on stderr, with --json an object on stdout as well. Returns the kind's exit
 * code. */
int sbx_tool_fail(const struct sbx_tool *tool, const struct sbx_error *err);
/* One line on stderr: that a file was not sent because of its name. */
void sbx_tool_say_local(const char *sandbox, const char *path);
/* A time in UTC, to the second, or "?" where it is none. Returns text. */
const char *sbx_tool_utc(int64_t seconds, char text[64]);
/* Prints and frees; what could repaint a terminal is \uXXXX. */
void sbx_tool_print_json(cJSON *json);
/* printf to stderr, unless --quiet, of what the exit code and stdout do not depend on; guest text
 * escaped by the caller. */
void sbx_tool_note(const struct sbx_tool *tool, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* printf to stdout with every guest text already escaped by the caller. Write errors are noticed by
 * main at the end. */
void sbx_tool_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The opening of a command on the sandbox that its first operand names: parses, opens the engine,
 * finds it. True: the caller finishes the sandbox; false: the command is over with *code. */
bool sbx_tool_begin(struct sbx_tool *tool, int argc, char **argv, const struct sbx_option *options,
	size_t least, size_t most, bool planes, struct sbx_sandbox *out, int *code);
/* Its two halves, for a command that looks at its words in between. */
bool sbx_tool_words(struct sbx_tool *tool, int argc, char **argv, const struct sbx_option *options,
	size_t least, size_t most, int *code);
bool sbx_tool_enter(struct sbx_tool *tool, bool planes, struct sbx_sandbox *out, int *code);
int sbx_tool_find_sandbox(
	struct sbx_tool *tool, const char *name, struct sbx_sandbox *out, struct sbx_error *err);
/* Labels, declaration and state as one object, for ls --json, info --json and create --json. */
cJSON *sbx_tool_sandbox_json(const struct sbx_sandbox *sandbox);
/* To stderr, escaped; data is the tool. */
void sbx_tool_progress_line(void *data, const char *line);

#endif
